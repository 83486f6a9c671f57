"""Prediction tasks: train.csv, test.csv and sample_submission.csv, as in a Kaggle competition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rubrics_gym.tasks.metrics import METRICS
from rubrics_gym.tasks.specs import PredictionSpec, TableSpec
from rubrics_gym.tasks.tables import as_written, field_lines, hash_order

if TYPE_CHECKING:
    import pandas as pd

EXAMPLE = {"number": "0", "non_negative": "0", "probability": "0.5"}
RULES = {
    "number": "Each prediction is a number.",
    "non_negative": "Each prediction is a number that is not negative.",
    "label": "Each prediction is one of the labels {labels}.",
    "rating": "Each prediction is one of the whole numbers {labels}.",
    "probability": "Each prediction is a probability between 0 and 1.",
}


@dataclass(frozen=True)
class Split:
    """`train` has id, features and target; `test` id and features; `answers` id and target. Cells are as the files write them."""

    train: pd.DataFrame
    test: pd.DataFrame
    answers: pd.DataFrame
    labels: tuple[str, ...]  # of classes and ratings, in order; empty otherwise


def split(task: str, spec: PredictionSpec, table: TableSpec, frame: pd.DataFrame) -> Split:
    """Cut a prepared table into train and test. The cut depends on the task's id alone; classes keep their shares in both parts.

    Ids are 1..n in an order that says nothing about the rows.
    """
    kept = frame[frame[spec.target].notna()].reset_index(drop=True)
    order = hash_order(len(kept), f"split/{task}")
    prediction = METRICS[spec.metric].prediction
    classes = kept[spec.target] if prediction in ("label", "rating", "probability") else kept[spec.target] * 0
    test_rows: set[int] = set()
    for value in sorted(classes.unique()):
        members = [row for row in order if classes[row] == value]
        test_rows.update(members[: round(spec.test_share * len(members))])
    shuffled = as_written(kept, table).iloc[hash_order(len(kept), f"ids/{task}")]
    features = [column for column in kept.columns if column != spec.target]
    numbered = shuffled[[*features, spec.target]].assign(**{spec.id: range(1, len(kept) + 1)})
    numbered = numbered[[spec.id, *features, spec.target]]
    in_test = numbered.index.isin(list(test_rows))
    test = numbered[in_test].reset_index(drop=True)
    labels = tuple(str(value) for value in sorted(classes.unique())) if prediction in ("label", "rating") else ()
    return Split(
        train=numbered[~in_test].reset_index(drop=True),
        test=test[[spec.id, *features]],
        answers=test[[spec.id, spec.target]],
        labels=labels,
    )


def sample_submission(spec: PredictionSpec, parts: Split) -> pd.DataFrame:
    """A valid submission that predicts the same value everywhere."""
    example = parts.labels[0] if parts.labels else EXAMPLE[METRICS[spec.metric].prediction]
    return parts.test[[spec.id]].assign(**{spec.target: example})


COMPETITION = "This is a competition: gold, silver and bronze medals are won by the score."


def statement(title: str, spec: PredictionSpec, table: TableSpec, parts: Split, competition: bool) -> str:
    """The words that the agent sees. Those of a competition say that there are medals."""
    words, greater, prediction = METRICS[spec.metric]
    rule = RULES[prediction].format(labels=", ".join(f'"{label}"' if prediction == "label" else label for label in parts.labels))
    if prediction == "probability":
        rule += f" It is the probability that `{spec.target}` is 1: that {spec.positive}."
    first = sample_submission(spec, parts).head(3)
    features = [column for column in parts.test.columns if column != spec.id]
    return "\n".join(
        [
            f"# {title}",
            "",
            "## Description",
            f"{table.about} {spec.goal}",
            f"For each row of `data/test.csv`, predict `{spec.target}`.",
            "",
            "## Evaluation",
            f"Submissions are evaluated by **{words}** between the predicted and the true `{spec.target}`; "
            f"{'higher' if greater else 'lower'} is better.",
            *([COMPETITION] if competition else []),
            "",
            "## Submission format",
            f"For each `{spec.id}` in `data/test.csv`, write one line to `submission.csv`. The file has a header line and exactly the columns",
            f"of `data/sample_submission.csv`. {rule} For example:",
            "```",
            f"{spec.id},{spec.target}",
            *(f"{row[0]},{row[1]}" for row in first.itertuples(index=False)),
            "```",
            "",
            "## Files",
            f"- `data/train.csv`: {len(parts.train):,} rows with the target",
            f"- `data/test.csv`: {len(parts.test):,} rows without the target",
            "- `data/sample_submission.csv`: a submission in the right format",
            "",
            "## Data fields",
            f"- `{spec.id}`: number of the row",
            *field_lines(table, features),
            f"- `{spec.target}`: the target: {table.fields[spec.target]}",
            "",
        ]
    )
