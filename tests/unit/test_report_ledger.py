"""Requests by what they were for, and what one of each cost, by hand."""

from __future__ import annotations

import pytest

from rubrics_gym.report.ledger import Subject, request_rows, subject_of, unit_cost_rows
from rubrics_gym.store.ledger import LedgerLine, State

LIBRARY_OF = {"matched": "quota"}
LIBRARIES = {"mined": (4, ("mine/weighted/pool", "classify/mined"))}


def line(unit: str, purpose: str, cost: int, number: int = 0, state: State = State.RETURNED, replaces: str = "") -> LedgerLine:
    return LedgerLine(
        record=f"{unit}-{number}", key=f"{unit}-{number}", unit=unit, occurrence=0, purpose=purpose, model="m", state=state, at="2026-11-30T00:00:00Z",
        max_cost_microdollars=cost, cost_microdollars=cost, replaces=replaces,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("unit", "subject"),
    [
        ("rollouts/pool/packaged/t/0", Subject("collect", collection="pool")),
        ("episodes/notice/0/packaged/t", Subject("evaluate", arm="notice")),
        ("judge/episodes/matched/0/packaged/t", Subject("evaluate", arm="matched", library="quota")),
        ("judge/replay/matched/episodes/execute/0/packaged/t", Subject("replay", arm="matched", library="quota")),
        ("mine/weighted/pool", Subject("libraries", collection="pool")),
        ("mine/quota/planned", Subject("libraries", library="planned")),
        ("classify/mined", Subject("categories", library="mined")),
        ("classify/heldout", Subject("categories", collection="heldout")),
        ("attribute/pool", Subject("causes", collection="pool")),
        ("elsewhere/x", Subject("other")),
    ],
)
def test_what_a_unit_asks_for_is_read_from_its_name(unit: str, subject: Subject) -> None:
    assert subject_of(unit, LIBRARY_OF, LIBRARIES) == subject


def test_the_parts_add_up_to_the_total_and_every_record_ends_one_way() -> None:
    lines = [
        line("rollouts/pool/packaged/t/0", "agent", 5),
        line("rollouts/pool/packaged/t/0", "agent", 9, 1, State.UNRESOLVED),
        line("rollouts/pool/packaged/t/0", "agent", 5, 2, replaces="rollouts/pool/packaged/t/0-1"),
        line("classify/mined", "classify", 0, 0, State.REFUSED),
        line("judge/replay/matched/e", "judge", 3),
    ]
    rows = request_rows(lines, "s", True, LIBRARY_OF, LIBRARIES)
    for name in ("reserved", "returned", "failed", "unresolved", "refused", "replaced", "cost_microdollars"):
        assert sum(row[name] for row in rows[:-1]) == rows[-1][name]
    for row in rows:
        assert row["reserved"] == row["returned"] + row["failed"] + row["unresolved"] + row["refused"]
    assert (rows[-1]["reserved"], rows[-1]["replaced"], rows[-1]["cost_microdollars"]) == (5, 1, 22)


def test_a_request_without_an_end_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="rollouts/pool/packaged/t/0"):
        request_rows([line("rollouts/pool/packaged/t/0", "agent", 5, state=State.SENT)], "s", True)


def test_unit_costs_by_hand() -> None:
    lines = [
        line("episodes/matched/0/packaged/a", "agent", 10),
        line("judge/episodes/matched/0/packaged/a", "judge", 4),
        line("judge/episodes/matched/0/packaged/a", "judge", 6, 1),
        line("episodes/matched/0/packaged/b", "agent", 30),
        line("judge/episodes/matched/0/packaged/b", "judge", 2),
        line("mine/weighted/pool", "mine", 70),
        line("classify/mined", "classify", 30),
    ]
    rows = {(row["what"], row["of"]): row for row in unit_cost_rows(lines, LIBRARIES, "s", True)}
    episode = rows["episode", "matched"]
    assert (episode["mean_microdollars"], episode["n"], episode["total_microdollars"]) == (26.0, 2, 52)
    assert episode["low"] < 26 < episode["high"]
    verdict = rows["verdict", "matched"]
    assert (verdict["mean_microdollars"], verdict["n"], verdict["clusters"]) == (4.0, 3, 2)
    rubric = rows["rubric", "mined"]
    assert (rubric["mean_microdollars"], rubric["n"], rubric["low"]) == (25.0, 4, None)


def test_an_empty_library_has_no_cost_per_rubric() -> None:
    (row,) = unit_cost_rows([], {"mined": (0, ("mine/weighted/pool",))}, "s", True)
    assert row["mean_microdollars"] is None
