"""What a frozen protocol holds: everything that a replay of the study will read, however much that is."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from tests.workflow.conftest import TOP

from rubrics_gym.models.live import Allowance, LiveClient
from rubrics_gym.models.prices import Price, PriceTable, Rates
from rubrics_gym.models.request import Message, Request, Response, Usage
from rubrics_gym.records.archives import UnsafeArchive
from rubrics_gym.records.files import DamagedFile
from rubrics_gym.settings.loading import load_study, read_file
from rubrics_gym.store.requests import Ledger, Records
from rubrics_gym.studies import protocols
from rubrics_gym.studies.protocols import FinishedRun, unpack_store, write_protocol

RATES = Rates.model_validate({"input": 1, "output": 5, "cache_read": 0.1, "cache_write": 1.25})
PRICES = PriceTable(version="test", models={"model": (Price(since=date(2026, 1, 1), rates=RATES),)})
REQUEST = Request(purpose="mine", model="model", system="", messages=(Message(role="user", text="Hello"),), max_tokens=100)
FIRST, SECOND = "mine/first/pool", "mine/second/pool"


class Answers:
    def answer(self, request: Request) -> Response:
        return Response(text="Hi", model="model", usage=Usage(input_tokens=10, output_tokens=4))


def ask(store: Path, unit: str, *others: str) -> None:
    with Ledger(store, unit) as ledger:
        client = LiveClient(Answers, ledger, PRICES, Allowance(1_000_000), others=[Records(store, other) for other in others])
        client.ask(REQUEST)


def frozen(tmp_path: Path, units: set[str]) -> Path:
    folder = tmp_path / "protocol"
    folder.mkdir()
    study = load_study(read_file(TOP / "config" / "config.yaml"), "config")
    write_protocol(folder, study, FinishedRun(TOP, "", [], tmp_path / "store", units, tmp_path / "results", [], {}))
    return folder


def test_an_answer_that_was_taken_from_another_unit_is_in_the_protocol(tmp_path: Path) -> None:
    ask(tmp_path / "store", FIRST)
    ask(tmp_path / "store", SECOND, FIRST)
    unpack_store(frozen(tmp_path, {SECOND}), tmp_path / "replayed")
    answer = Records(tmp_path / "replayed", SECOND).answer(REQUEST.body(), 0)
    assert answer is not None and answer.response["text"] == "Hi"


def test_a_protocol_has_its_own_limits_of_size_and_not_those_of_an_agents_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(tmp_path / "store", FIRST)
    monkeypatch.setattr(protocols, "MAX_MEMBERS", 1)
    with pytest.raises(UnsafeArchive, match="at most 1 fit"):
        frozen(tmp_path, {FIRST})


def test_a_study_whose_store_is_not_at_hand_is_not_frozen_without_it(tmp_path: Path) -> None:
    with pytest.raises(DamagedFile, match=FIRST):
        frozen(tmp_path, {FIRST})
