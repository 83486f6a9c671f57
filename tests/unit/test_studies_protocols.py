"""What a frozen protocol holds: everything that a replay of the study will read, however much that is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.test_models_client import ANSWER, DOLLAR, NOW, PRICES, REQUEST, Scripted
from tests.workflow.conftest import TOP

from rubrics_gym.models.client import Client
from rubrics_gym.models.live import Allowance, LiveClient
from rubrics_gym.records.archives import UnsafeArchive
from rubrics_gym.records.files import DamagedFile
from rubrics_gym.settings.loading import load_study, read_file
from rubrics_gym.settings.study import Budget
from rubrics_gym.store.requests import Ledger, Records
from rubrics_gym.store.stops import StudyRecord
from rubrics_gym.studies import protocols
from rubrics_gym.studies.protocols import FinishedRun, unpack_store, write_protocol

STUDY = load_study(read_file(TOP / "config" / "config.yaml"), "config")
FIRST, SECOND = "mine/first/pool", "mine/second/pool"


def ask(store: Path, unit: str, *others: str) -> None:
    with Ledger(store, unit) as ledger:
        client = LiveClient(
            lambda: Scripted(ANSWER),
            ledger,
            PRICES,
            Allowance(DOLLAR),
            others=[Records(store, other) for other in others],
            clock=lambda: NOW,
        )
        client.ask(REQUEST)


def frozen(tmp_path: Path, units: set[str]) -> Path:
    folder = tmp_path / "protocol"
    folder.mkdir()
    write_protocol(folder, STUDY, FinishedRun(TOP, "", [], tmp_path / "store", units, tmp_path / "results", [], {}))
    return folder


def test_an_answer_that_was_taken_from_another_unit_is_in_the_protocol_and_replayed_without_that_unit(tmp_path: Path) -> None:
    ask(tmp_path / "store", FIRST)
    ask(tmp_path / "store", SECOND, FIRST)
    replayed = tmp_path / "replayed"
    unpack_store(frozen(tmp_path, {SECOND}), replayed)
    assert not (replayed / "requests" / FIRST).exists()
    answer = Client(Records(replayed, SECOND)).ask(REQUEST)
    assert (answer.response, answer.served, answer.cost_microdollars) == (ANSWER, "store", 30)


def test_the_starts_and_stops_of_the_study_are_packed_and_those_of_others_are_not(tmp_path: Path) -> None:
    ask(tmp_path / "store", FIRST)
    for study in (STUDY.name, "other"):
        StudyRecord(tmp_path / "store", study).start(Budget(), {"rollouts/pool": 3})
        StudyRecord(tmp_path / "store", study).stop("asked for")
    replayed = tmp_path / "replayed"
    unpack_store(frozen(tmp_path, {FIRST}), replayed)
    standing = StudyRecord(replayed, STUDY.name).standing
    assert standing is not None and standing.why == "asked for"
    assert StudyRecord(replayed, "other").events() == []


def test_a_protocol_has_its_own_limits_of_size_and_not_those_of_an_agents_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(tmp_path / "store", FIRST)
    monkeypatch.setattr(protocols, "MAX_MEMBERS", 1)
    with pytest.raises(UnsafeArchive, match="at most 1 fit"):
        frozen(tmp_path, {FIRST})


def test_a_study_whose_store_is_not_at_hand_is_not_frozen_without_it(tmp_path: Path) -> None:
    with pytest.raises(DamagedFile, match=FIRST):
        frozen(tmp_path, {FIRST})


def test_one_changed_byte_of_an_unpacked_response_is_refused_by_name(tmp_path: Path) -> None:
    ask(tmp_path / "store", FIRST)
    folder, replayed = frozen(tmp_path, {FIRST}), tmp_path / "replayed"
    unpack_store(folder, replayed)
    unpack_store(folder, replayed)  # as it was: nothing to say
    response = next((replayed / "responses").rglob("*.json"))
    damaged = bytearray(response.read_bytes())
    damaged[-2] ^= 1
    response.write_bytes(bytes(damaged))
    with pytest.raises(protocols.ProtocolChanged, match=response.name):
        unpack_store(folder, replayed)
