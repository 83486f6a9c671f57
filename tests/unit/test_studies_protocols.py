"""What a protocol packs of the store is enough to replay every unit of the study."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.unit.test_models_client import ANSWER, DOLLAR, NOW, PRICES, REQUEST, Scripted

from rubrics_gym.models.client import Client
from rubrics_gym.models.live import Allowance, LiveClient
from rubrics_gym.settings.study import Budget
from rubrics_gym.store.requests import Ledger, Records
from rubrics_gym.store.stops import StudyRecord
from rubrics_gym.studies.protocols import stored_files

FIRST, SECOND = "mine/first/pool", "mine/second/pool"


def ask(store: Path, unit: str, others: tuple[Records, ...] = ()) -> None:
    with Ledger(store, unit, study="mine") as ledger:
        LiveClient(lambda: Scripted(ANSWER), ledger, PRICES, Allowance(DOLLAR), others=others, clock=lambda: NOW).ask(REQUEST)


def freeze(store: Path, frozen: Path, *units: str) -> list[str]:
    """Copy what a protocol packs; gives the names."""
    names = [path.relative_to(store).as_posix() for path in stored_files(store, units, "mine")]
    for name in names:
        (frozen / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(store / name, frozen / name)
    return names


def test_a_unit_that_took_its_answer_from_another_is_replayed_without_the_other_one(tmp_path: Path) -> None:
    store, frozen = tmp_path / "store", tmp_path / "frozen"
    ask(store, FIRST)
    ask(store, SECOND, others=(Records(store, FIRST),))
    names = freeze(store, frozen, SECOND)
    assert f"requests/{FIRST}/ledger.jsonl" not in names
    answer = Client(Records(frozen, SECOND)).ask(REQUEST)
    assert (answer.response, answer.served, answer.cost_microdollars) == (ANSWER, "store", 30)


def test_the_starts_and_stops_of_the_study_are_packed_and_those_of_others_are_not(tmp_path: Path) -> None:
    store, frozen = tmp_path / "store", tmp_path / "frozen"
    for study in ("mine", "other"):
        StudyRecord(store, study).start(Budget(), {"rollouts/pool": 3})
        StudyRecord(store, study).stop("asked for")
    freeze(store, frozen, FIRST)
    standing = StudyRecord(frozen, "mine").standing
    assert standing is not None and standing.why == "asked for"
    assert StudyRecord(frozen, "other").events() == []
