"""The simulated miner, classifier and reviewer: from the rendered request alone, right nearly always, wrong as often as they are told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rubrics_gym.failures.categories import Classifier
from rubrics_gym.failures.causes import Reviewer, evidence
from rubrics_gym.failures.detection import detect
from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.failures.types import load_rules
from rubrics_gym.libraries.mining import PLAIN_SCHEMA, Miner, ask_for_rubrics
from rubrics_gym.libraries.traces import at_end, at_step, trace_of
from rubrics_gym.models.client import Answer
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.models.request import Message, Provider, Request, Response
from rubrics_gym.providers.simulated import classifier as simulated_classifier
from rubrics_gym.providers.simulated import miner as simulated_miner
from rubrics_gym.providers.simulated import reviewer as simulated_reviewer
from rubrics_gym.records.failures import FailureEvent
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.records.rubrics import Rubric, RubricKind
from rubrics_gym.records.trajectory import CommandEvent, CommandKind, FileEvent, FinalEvent, Route, StartEvent
from rubrics_gym.settings.study import MinerName, ModelSettings, TextSimulation

RESOURCES = Path(__file__).parents[2] / "resources"
TAXONOMY = load_taxonomy(RESOURCES / "taxonomy.yaml")
RULES = load_rules(RESOURCES / "failure_types.yaml")
MODEL = ModelSettings(model="simulated")
EXACT = TextSimulation(error=0.0)

PREDICTION = (
    "Submissions are evaluated by **area under the ROC curve (ROC AUC)** between the predicted and the true `y`; higher is better.\n"
    "write one line to `submission.csv`. Each prediction is a probability between 0 and 1."
)
QUESTION = "Compute the mean of `a`, over the rows where `b` is at least 3, rounded to 2 decimal places. Write it to `answer.txt`."
SOUND = "from sklearn.model_selection import cross_val_score\nprint(cross_val_score(model, X, y, scoring='roc_auc'))\nout['y'] = model.predict_proba(T)[:, 1]\nout.to_csv('submission.csv', index=False)\n"


class Asking:
    """A client without store or prices: hands the request to the provider."""

    def __init__(self, provider: Provider):
        self.provider = provider
        self.requests: list[Request] = []
        self.responses: list[Response] = []

    def ask(self, request: Request, occurrence: int = 0) -> Answer:
        self.requests.append(request)
        self.responses.append(self.provider.answer(request))
        return Answer(self.responses[-1], "key", 0, "live")


def sort(item: Rubric | FailureEvent, settings: TextSimulation = EXACT, seed: int = 1) -> Any:
    reader = Classifier(MODEL, load_prompt(str(RESOURCES / "prompts/classifier.yaml")), TAXONOMY, seed)
    client = Asking(simulated_classifier.Classifier(settings))
    return reader.rubric(item, client) if isinstance(item, Rubric) else reader.event(item, client)


def note(title: str, pattern: str, consequence: str = "The result is wrong.") -> Rubric:
    return Rubric(
        title=title,
        applies_when="Always.",
        pattern=pattern,
        detect="Read the code.",
        not_a_violation="n",
        consequence=consequence,
        kind=RubricKind.CRASH,
    )


# Worded here, not by the miner.
NOTES = [
    (note("Imports seaborn, which is not installed", "An import of a package that the environment lacks."), "runtime:missing_package"),
    (note("Uses DataFrame.append, which has been removed", "A method that the installed version no longer has."), "runtime:api_changed"),
    (note("Opens train.csv in the wrong folder", "A wrong path is given to read_csv.", "FileNotFoundError."), "runtime:file_not_found"),
    (
        note("A grid of ten thousand fits", "The search takes longer than the time limit allows.", "The run is stopped."),
        "runtime:time_limit",
    ),
    (note("A distance matrix of all pairs", "All pairs are held in memory at once.", "The process is killed."), "runtime:out_of_memory"),
    (
        note("KeyError on a column that was dropped before", "The code refers to a column under a wrong name.", "An exception."),
        "runtime:own_logic",
    ),
    (note("Missing values are left in the features", "No imputation of NaN before the fit."), "missing_values_unchecked"),
    (note("The submission file is never written", "The saving step is missing."), "output_missing_or_overwritten"),
    (note("Output format: header differs from the sample", "The submission does not have the required columns."), "output_format"),
    (note("Model handed in without validation", "There is no held-out part and no baseline."), "not_validated_against_baseline"),
    (note("Optimises accuracy although AUC is the graded metric", "Model selection serves another metric."), "wrong_metric"),
    (note("Mean over all rows instead of those of 1990", "The condition on the rows is left out: wrong scope."), "statistic_wrong_scope"),
    (note("Oversampling before the split", "Rows are resampled before they are separated."), "altered_before_split"),
    (note("Predictions are out of order", "Rows are sorted and joined by position."), "misaligned_order"),
    (note("Maximum and minimum mixed up", "The extremum is taken from the wrong end."), "derived_quantity_unchecked"),
    (note("Hyperparameters fixed by hand", "Parameter values are never compared."), "parameter_without_validation"),
    (note("Only a linear model is tried", "A weak model where boosted trees would do better."), "modelling_choice"),
    (note("Population formula for the standard deviation", "Another definition of the statistic."), "method_substituted"),
    (note("Only the first rows are read", "A sample of the rows stands in for all."), "fabricated_or_partial_data"),
    (note("A broad handler swallows errors", "Success is concluded from what is printed."), "script_output_success"),
]


def test_notes_are_sorted_by_their_meaning() -> None:
    found = [sort(item) for item, _ in NOTES]
    bins = [f"runtime:{one.runtime_type}" if one.category == "runtime" else one.category for one in found]
    right = [got == expected for got, (_, expected) in zip(bins, NOTES, strict=True)]
    assert sum(right) / len(right) >= 0.95, [
        (got, item.title) for got, (item, expected) in zip(bins, NOTES, strict=True) if got != expected
    ]


def test_a_note_that_says_nothing_is_an_abstention() -> None:
    assert sort(note("zebra quilt", "lamp of seven", "cloud")).abstained == "undecided"


def test_errors_come_as_often_as_they_are_set() -> None:
    item, expected = NOTES[7]
    wrong = sum(sort(item, TextSimulation(error=0.3), seed).category != expected for seed in range(300)) / 300
    assert 0.2 < wrong < 0.4


def failure(output: str, **changes: Any) -> FailureEvent:
    start = StartEvent(
        at="2026-01-01T00:00:00Z",
        unit="rollouts/p/packaged/t/0",
        attempt=1,
        benchmark="packaged",
        task="t",
        statement="s",
        deliverable="d",
        seed=1,
        model="m",
        arm="a",
        limits={},
        protocol="1",
        code="c",
    )
    command = CommandEvent(
        step=1,
        index=0,
        text="python a.py",
        kind=CommandKind.CODE_RUN,
        route=Route.EXECUTED,
        output_tail=output,
        **({"exit_code": 1} | changes),
    )
    return detect([start, command], RULES).events[0]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (
            failure("Traceback (most recent call last):\n  File \"a.py\", line 1\nModuleNotFoundError: No module named 'x'"),
            ("runtime", "missing_package"),
        ),
        (
            failure('Traceback (most recent call last):\n  File "a.py", line 1\nValueError: Input X contains NaN.'),
            ("missing_values_unchecked", None),
        ),
        (failure("", exit_code=None, timed_out=True), ("runtime", "time_limit")),
        (failure("Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'a'"), ("runtime", "own_logic")),
    ],
)
def test_failed_commands_are_sorted(event: FailureEvent, expected: tuple[str, str | None]) -> None:
    found = sort(event)
    assert (found.category, found.runtime_type) == expected


# ---------------------------------------------------------------- the miner


def rollout(
    statement: str, deliverable: str, program: str, handed_in: str, runs: list[dict[str, Any]], **graded: Any
) -> tuple[list[Any], Grade]:
    start = StartEvent(
        at="2026-01-01T00:00:00Z",
        unit="rollouts/pool/packaged/t/0",
        attempt=1,
        benchmark="packaged",
        task="t",
        statement=statement,
        deliverable=deliverable,
        seed=1,
        model="m",
        arm="execute",
        limits={},
        protocol="1",
        code="c",
    )
    fields: dict[str, Any] = dict(index=0, text="python final.py", kind=CommandKind.CODE_RUN, route=Route.EXECUTED, exit_code=0)
    commands = [CommandEvent(**(fields | dict(step=step) | run)) for step, run in enumerate(runs, 1)]
    files = [FileEvent(step=1, path="final.py", sha256="0", bytes=1, text=program)] if program else []
    grade = Grade(
        **(dict(benchmark="packaged", task="t", outcome=Outcome.VALID, metric="roc_auc", greater_is_better=True, ended_wrong=True) | graded)
    )
    return [start, *commands, *files], grade


def mined(events: list[Any], grade: Grade, handed_in: str, settings: TextSimulation = EXACT, seed: int = 1) -> Any:
    trace = trace_of("pool", events, grade, handed_in, RULES, 100_000)
    client = Asking(simulated_miner.Miner(settings))
    miner = Miner(MinerName.WEIGHTED, MODEL, load_prompt(str(RESOURCES / "prompts/miners/weighted.yaml")), seed)
    return miner.mine(trace, client), client


CRASHED = dict(
    exit_code=1,
    output_tail="Traceback (most recent call last):\n  File \"final.py\", line 1, in <module>\nModuleNotFoundError: No module named 'lightgbm'\n",
)
UNCHECKED = "from sklearn.linear_model import LogisticRegression\nmodel = LogisticRegression().fit(X, y)\nout['y'] = model.predict(T)\nout.to_csv('submission.csv')\n"


def test_what_went_wrong_becomes_rubrics_whose_citations_hold() -> None:
    events, grade = rollout(PREDICTION, "submission.csv", UNCHECKED, "id,y", [CRASHED, dict(timed_out=True, exit_code=None), dict()])
    mining, _ = mined(events, grade, "id,y\n1,0\n")
    assert mining.rejected == {} and 3 <= len(mining.rubrics) <= 6
    bins = [sort(rubric) for rubric in mining.rubrics]
    assert {(one.category, one.runtime_type) for one in bins} >= {
        ("runtime", "missing_package"),
        ("runtime", "time_limit"),
        ("not_validated_against_baseline", None),
    }
    assert [rubric.error_weight for rubric in mining.rubrics][:2] == [1, 1]
    assert any(rubric.outcome_weight for rubric in mining.rubrics)


@pytest.mark.parametrize(
    ("program", "handed_in", "graded", "category"),
    [
        (SOUND, "", dict(outcome=Outcome.NO_SUBMISSION), "output_missing_or_overwritten"),
        (SOUND, "y\n0.2\n", dict(outcome=Outcome.INVALID, reason="columns"), "output_format"),
        (UNCHECKED, "id,y\n1,0\n", dict(), "not_validated_against_baseline"),
    ],
)
def test_wrong_ends_of_predictions(program: str, handed_in: str, graded: dict[str, Any], category: str) -> None:
    mining, _ = mined(*rollout(PREDICTION, "submission.csv", program, handed_in, [dict()], **graded), handed_in)
    assert category in {sort(rubric).category for rubric in mining.rubrics}


@pytest.mark.parametrize(
    ("program", "category"),
    [
        ("print(frame['a'].mean())\nopen('answer.txt', 'w').write('@m[3.14]')", "statistic_wrong_scope"),
        ("x = frame.query('b >= 3')['a'].fillna(0).mean()", "missing_values_unchecked"),
    ],
)
def test_wrong_figures_of_questions(program: str, category: str) -> None:
    mining, _ = mined(*rollout(QUESTION, "answer.txt", program, "@m[3.14]", [dict()]), "@m[3.14]")
    assert category in {sort(rubric).category for rubric in mining.rubrics}


def test_crashes_collapse_into_few_rubrics_while_modelling_lessons_multiply() -> None:
    events, grade = rollout(
        PREDICTION,
        "submission.csv",
        SOUND + "model = LogisticRegression(max_iter=100).fit(X, y)\n",
        "id,y",
        [CRASHED, CRASHED, CRASHED, dict()],
        ended_wrong=False,
    )
    titles: dict[str, set[str]] = {"crash": set(), "wrong_result": set()}
    for seed in range(12):
        mining, _ = mined(events, grade, "id,y\n1,0\n", seed=seed)
        for rubric in mining.rubrics:
            titles[rubric.kind.value].add(rubric.title)
    assert 1 <= len(titles["crash"]) <= 3 < len(titles["wrong_result"])


def test_a_wrong_citation_comes_as_often_as_it_is_set_and_is_rejected() -> None:
    events, grade = rollout(PREDICTION, "submission.csv", SOUND, "id,y", [CRASHED, dict(output_tail="fine")], ended_wrong=False)
    rejected = [
        sum(mined(events, grade, "id,y", TextSimulation(error=error), seed)[0].rejected.values())
        for error in (0.0, 1.0)
        for seed in range(5)
    ]
    assert rejected == [0] * 5 + [1] * 5


def test_nothing_ran_and_nothing_was_left() -> None:
    mining, _ = mined(*rollout(QUESTION, "answer.txt", "", "", [], outcome=Outcome.NO_SUBMISSION), "")
    assert mining.abstained is None and mining.rubrics == ()


# ---------------------------------------------------------------- the reviewer


def cause(events: list[Any], grade: Grade, handed_in: str) -> Any:
    reviewer = Reviewer(MODEL, load_prompt(str(RESOURCES / "prompts/reviewer.yaml")), TAXONOMY, seed=1)
    return reviewer.cause(evidence(events, grade, handed_in, detect(events, RULES).events), Asking(simulated_reviewer.Reviewer(EXACT)))


def final(**changes: Any) -> FinalEvent:
    return FinalEvent(**(dict(exit_code=0, timed_out=False, cap_s=9, duration_s=1, deliverable_present=False) | changes))


@pytest.mark.parametrize(
    ("statement", "program", "handed_in", "run", "graded", "expected"),
    [
        (PREDICTION, SOUND, "", final(), dict(outcome=Outcome.NO_SUBMISSION), ("output_missing_or_overwritten", None)),
        (PREDICTION, SOUND, "", final(timed_out=True, exit_code=None), dict(outcome=Outcome.NO_SUBMISSION), ("runtime", "time_limit")),
        (
            PREDICTION,
            SOUND,
            "",
            final(exit_code=1, output_tail=CRASHED["output_tail"]),
            dict(outcome=Outcome.NO_SUBMISSION),
            ("runtime", "missing_package"),
        ),
        (PREDICTION, SOUND, "y\n1\n", final(), dict(outcome=Outcome.INVALID), ("output_format", None)),
        (PREDICTION, UNCHECKED.replace("predict(", "predict_proba("), "id,y\n", final(), {}, ("not_validated_against_baseline", None)),
        (
            PREDICTION,
            SOUND.replace("predict_proba(T)[:, 1]", "predict(T)").replace("roc_auc", "accuracy"),
            "id,y\n",
            final(),
            {},
            ("wrong_metric", None),
        ),
        (QUESTION, "x = round(frame['a'].mean(), 2)", "@m[1]", final(), {}, ("statistic_wrong_scope", None)),
        (QUESTION, "x = round(frame[frame['b'] >= 3]['a'].fillna(0).mean(), 2)", "@m[1]", final(), {}, ("missing_values_unchecked", None)),
        (QUESTION, "x = frame[frame['b'] >= 3]['a'].mean()", "@m[1.23456]", final(), {}, ("output_format", None)),
    ],
)
def test_causes_of_wrong_results(
    statement: str, program: str, handed_in: str, run: FinalEvent, graded: dict[str, Any], expected: tuple[str, str | None]
) -> None:
    deliverable = "submission.csv" if "submission.csv" in statement else "answer.txt"
    events, grade = rollout(statement, deliverable, program, handed_in, [dict()], **graded)
    named = cause([*events, run], grade, handed_in)
    assert (named.category, named.runtime_type) == expected and named.reason


# ---------------------------------------------------------------- the rules that keep the simulation from being circular


def test_the_same_request_gets_the_same_answer_and_another_seed_another_reading() -> None:
    events, grade = rollout(PREDICTION, "submission.csv", UNCHECKED, "id,y", [CRASHED, dict()])
    answers = [[rubric.title for rubric in mined(events, grade, "id,y", seed=seed)[0].rubrics] for seed in (1, 1, 2, 3, 4)]
    assert answers[0] == answers[1] and len({tuple(titles) for titles in answers}) > 1


@pytest.mark.isolation
def test_readers_know_only_what_the_request_says() -> None:
    """Without the rendered trace there is nothing to notice; without the list of categories no category can be named."""
    events, grade = rollout(PREDICTION, "submission.csv", UNCHECKED, "id,y", [CRASHED, dict()])
    _, client = mined(events, grade, "id,y")
    (request,) = client.requests
    empty = request.model_copy(update={"messages": (request.messages[0].model_copy(update={"text": ""}),)})
    assert json.loads(simulated_miner.Miner(EXACT).answer(empty).text) == {"rubrics": []}
    blind = request.model_copy(update={"system": "You sort mistakes.", "purpose": "classify"})
    with pytest.raises((IndexError, ValueError)):
        simulated_classifier.Classifier(EXACT).answer(blind)


@pytest.mark.isolation
def test_readers_do_not_know_the_ids_of_the_taxonomy() -> None:
    """With every id renamed the same definitions are found."""
    item, _ = NOTES[10]
    client = Asking(simulated_classifier.Classifier(EXACT))
    Classifier(MODEL, load_prompt(str(RESOURCES / "prompts/classifier.yaml")), TAXONOMY, 1).rubric(item, client)
    (request,) = client.requests
    named = {category.id: f"k{number}" for number, category in enumerate(TAXONOMY.categories)}
    system = re.sub(r"^- (\w+):", lambda match: f"- {named.get(match[1], match[1])}:", request.system, flags=re.MULTILINE)
    renamed = json.loads(simulated_classifier.Classifier(EXACT).answer(request.model_copy(update={"system": system})).text)
    assert renamed["category"] == named[json.loads(client.responses[0].text)["category"]]


@pytest.mark.isolation
def test_simulated_readers_share_nothing() -> None:
    folder = Path(simulated_classifier.__file__).parent
    files = [folder / "classifier.py", *sorted((folder / "reviewer").glob("*.py")), *sorted((folder / "miner").glob("*.py"))]
    for path in files:
        imported = set(re.findall(r"^from (rubrics_gym\.[\w.]+) import", path.read_text(), re.MULTILINE))
        own = {
            name for name in imported if path.parent != folder and name.startswith(f"rubrics_gym.providers.simulated.{path.parent.name}.")
        }
        assert imported - own <= {"rubrics_gym.models.request", "rubrics_gym.settings.study"}, path


# ---------------------------------------------------------------- the other miners


def read_by(name: MinerName, events: list[Any], grade: Grade, handed_in: str) -> list[Any]:
    miner = Miner(name, MODEL, load_prompt(str(RESOURCES / f"prompts/miners/{name}.yaml")), 1)
    client = Asking(simulated_miner.Miner(EXACT))
    trace = trace_of("pool", events, grade, handed_in, RULES, 100_000)
    return [miner.mine(reading, client) for reading in miner.readings(trace, 100_000)]


def test_each_miner_gets_rubrics_about_what_it_reads() -> None:
    events, grade = rollout(PREDICTION, "submission.csv", UNCHECKED, "id,y", [CRASHED, dict()])
    (wrong,) = read_by(MinerName.WRONG_ANSWER, events, grade, "id,y\n1,0\n")
    assert [sort(rubric).category for rubric in wrong.rubrics] == ["not_validated_against_baseline"]
    (crash,) = read_by(MinerName.CRASHED_COMMAND, events, grade, "id,y\n1,0\n")
    assert [sort(rubric).runtime_type for rubric in crash.rubrics] == ["missing_package"]
    (whole,) = read_by(MinerName.WHOLE_ROLLOUT, events, grade, "id,y\n1,0\n")
    assert 3 <= len(whole.rubrics) <= 6 and not any(one.weight for one in whole.rubrics)
    assert wrong.rejected == crash.rejected == whole.rejected == {}


def quota_titles(failure: Any, category: str, rounds: int) -> list[list[str]]:
    """What a quota request gives, round by round, each time shown all titles so far."""
    prompt = load_prompt(str(RESOURCES / "prompts/miners/quota.yaml"))
    title, definition = TAXONOMY.describe(category)
    client, titles, given = Asking(simulated_miner.Miner(EXACT)), [], []
    for _ in range(rounds):
        request = Request(
            purpose="mine",
            model="m",
            system=prompt.render("system", most=3, title=title, definition=definition),
            messages=(Message(role="user", text=prompt.render("user", trace=failure, titles=titles)),),
            output_schema=PLAIN_SCHEMA,
        )
        given.append([rubric["title"] for rubric in ask_for_rubrics(request, client).candidates])
        titles += given[-1]
    return given


def test_a_quota_request_is_answered_with_what_is_not_there_until_nothing_is_left() -> None:
    events, grade = rollout(PREDICTION, "submission.csv", UNCHECKED, "id,y", [CRASHED, dict()])
    failure = at_step(trace_of("pool", events, grade, "", RULES, 100_000), 1, 100_000)
    rounds = quota_titles(failure, "runtime:missing_package", 12)
    fresh = [title for titles in rounds for title in titles]
    first = rounds[0]
    assert len(first) == 3 and all("lightgbm" in title for title in first)
    assert len(set(fresh)) < len(fresh)  # in the end it repeats itself, as a miner does
    assert len(rounds[-1]) == 1 and rounds[-1][0] in {title for titles in rounds[:-1] for title in titles}


def test_causes_are_written_about_by_the_words_of_their_category() -> None:
    events, grade = rollout(PREDICTION, "submission.csv", UNCHECKED, "id,y", [dict()])
    end = at_end(trace_of("pool", events, grade, "id,y\n1,0\n", RULES, 100_000), 100_000)
    (titles,) = quota_titles(end, "not_validated_against_baseline", 1)
    (other,) = quota_titles(end, "wrong_metric", 1)
    assert titles and other and not set(titles) & set(other)
