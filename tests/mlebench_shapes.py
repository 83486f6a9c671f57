"""Synthetic answers and sample submissions in the shape of MLE-bench's 22 Lite competitions, and what a worker says about them.

Runs in the grading environment, which has pandas and numpy and nothing of ours but what is below rubrics_gym.grading.outside. Names of classes are read from
the checkout, where it has lists of them.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROWS = 60
# competition -> id column, target column, of those with one number per row and nothing else
SIMPLE = {
    "aerial-cactus-identification": ("id", "has_cactus"),
    "histopathologic-cancer-detection": ("id", "label"),
    "dogs-vs-cats-redux-kernels-edition": ("id", "label"),
    "mlsp-2013-birds": ("Id", "Probability"),
    "random-acts-of-pizza": ("request_id", "requester_received_pizza"),
    "siim-isic-melanoma-classification": ("image_name", "target"),
    "tabular-playground-series-may-2022": ("id", "target"),
    "the-icml-2013-whale-challenge-right-whale-redux": ("clip", "probability"),
}
# competition -> id column, module and name of the list of classes
ONE_OF = {
    "dog-breed-identification": ("id", "dogs", "DOGS_LIST"),
    "leaf-classification": ("id", "classes", "CLASSES"),
    "spooky-author-identification": ("id", "classes", "CLASSES"),
}
SOME_OF = {
    "jigsaw-toxic-comment-classification-challenge": ("id", "classes", "CLASSES"),
    "ranzcr-clip-catheter-line-classification": ("StudyInstanceUID", "classes", "CLASSES"),
}


def shape(competition: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Answers and sample submission. The package `mlebench` must be on the path."""
    chances = np.random.default_rng(0)
    ids = [f"i{number:03d}" for number in chances.permutation(ROWS)]
    if competition in SIMPLE:
        key, target = SIMPLE[competition]
        answers = pd.DataFrame({key: ids, target: np.arange(ROWS) % 2})
        return answers, answers.assign(**{target: 0.5})
    if competition in ONE_OF:
        key, names = ONE_OF[competition][0], _names(competition, *ONE_OF[competition][1:])
        answers = pd.DataFrame(np.eye(len(names), dtype=int)[np.arange(ROWS) % len(names)], columns=names)
        answers.insert(0, key, ids)
        return answers, answers.assign(**dict.fromkeys(names, 1 / len(names)))
    if competition in SOME_OF:
        key, names = SOME_OF[competition][0], _names(competition, *SOME_OF[competition][1:])
        answers = pd.DataFrame((chances.random((ROWS, len(names))) < 0.5).astype(int), columns=names)
        answers.insert(0, key, ids)
        return answers, answers.assign(**dict.fromkeys(names, 0.5))
    return _others(competition, ids, chances)


def _others(competition: str, ids: list[str], chances: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    numbers: dict[str, Any] = {"id": np.arange(1, ROWS + 1)}
    if competition == "aptos2019-blindness-detection":
        columns, placeholder = {"id_code": ids, "diagnosis": np.arange(ROWS) % 5}, {"diagnosis": 0}
    elif competition == "denoising-dirty-documents":
        columns, placeholder = {"id": ids, "value": chances.random(ROWS)}, {"value": 1}
    elif competition == "detecting-insults-in-social-commentary":
        columns, placeholder = {"Insult": np.arange(ROWS) % 2, "Date": "d", "Comment": ids}, {"Insult": 0}
    elif competition == "plant-pathology-2020-fgvc7":
        names = ("healthy", "multiple_diseases", "rust", "scab")
        columns = {"image_id": ids, **{name: (np.arange(ROWS) % 4 == place).astype(int) for place, name in enumerate(names)}}
        placeholder = dict.fromkeys(names, 0.25)
    elif competition == "new-york-city-taxi-fare-prediction":
        columns, placeholder = {"key": ids, "fare_amount": 50 * chances.random(ROWS), "passenger_count": 1}, {"fare_amount": 11.35}
    elif competition == "nomad2018-predict-transparent-conductors":
        columns = {
            **numbers,
            "spacegroup": 5,
            "formation_energy_ev_natom": chances.random(ROWS),
            "bandgap_energy_ev": 5 * chances.random(ROWS),
        }
        placeholder = {"formation_energy_ev_natom": 0.18, "bandgap_energy_ev": 1.9}
    elif competition == "tabular-playground-series-dec-2021":
        columns, placeholder = {"Id": np.arange(ROWS), "Elevation": 3000, "Cover_Type": np.arange(ROWS) % 7}, {"Cover_Type": 2}
    elif competition.startswith("text-normalization-challenge"):
        words = ["" if number % 7 == 0 else f"word {number}" for number in range(ROWS)]
        columns, placeholder = {"id": [f"{number}_0" for number in range(ROWS)], "after": words}, {"after": "x"}
    else:
        raise KeyError(f"no shape is known for {competition!r}")
    answers = pd.DataFrame(columns)
    kept = [name for name in answers.columns if name not in ("spacegroup", "passenger_count", "Elevation")]
    return answers, answers[kept].assign(**placeholder)


def _names(competition: str, module: str, name: str) -> list[str]:
    return [str(one) for one in getattr(importlib.import_module(f"mlebench.competitions.{competition}.{module}"), name)]


def examine(checkout: str, folder: str) -> dict[str, Any]:
    """For every Lite competition the self-test and what both rules say about the traps: [status, score]."""
    from rubrics_gym.grading.outside import worker

    sys.path.insert(0, checkout)
    place, found = Path(folder), {}
    for competition in (Path(checkout) / "experiments" / "splits" / "low.txt").read_text().split():
        answers, sample = shape(competition)
        paths = {name: str(place / f"shape_{name}.csv") for name in ("answers", "sample", "submission")}
        answers.to_csv(paths["answers"], index=False)
        sample.to_csv(paths["sample"], index=False)
        request = {**paths, "competition": competition, "upstream": checkout, "gold": paths["answers"]}
        test = worker.main({**request, "submission": None})
        key = test["ids"][0]
        said = {}
        for name, text in traps(answers, sample, key).items():
            Path(paths["submission"]).write_text(text)
            both = worker.main(request)
            said[name] = {rule: [both[rule]["status"], both[rule]["score"]] for rule in ("official", "corrected")}
        found[competition] = {**{name: test[name]["score"] for name in ("gold", "sample", "shuffled", "shuffled_canonical")}, "traps": said}
    return found


def traps(answers: pd.DataFrame, sample: pd.DataFrame, key: str) -> dict[str, str]:
    """Name of a trap -> text of a submission. The first four say the same as the reference answers."""
    right = answers[list(sample.columns)]
    target = next(str(name) for name in sample.columns if name != key and answers[name].nunique() > 1)
    strange = right.astype({key: object})
    strange.loc[0, key] = 99_999 if pd.api.types.is_numeric_dtype(right[key]) else "nobody"
    twice = right.copy()
    twice.loc[1, key] = twice.loc[0, key]
    gap = right.astype({target: object})
    gap.loc[1, target] = None
    tables = {
        "perfect": right,
        "shuffled rows": right.sample(frac=1, random_state=1),
        "reordered columns": right[right.columns[::-1]],
        "extra column": right.assign(confidence=1),
        "wrong ids": strange,
        "duplicated id": twice,
        "missing prediction": gap,
        "no rows": right.iloc[:0],
    }
    texts = {name: table.to_csv(index=False) for name, table in tables.items()}
    return {**texts, "ragged CSV": texts["perfect"] + "1,2,3,4,5,6,7,8,9,10\n" * 2 + "x," * 300 + "\n"}
