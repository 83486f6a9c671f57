"""A final run that was lost is made once more, never twice, and every attempt is kept."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rubrics_gym.harness.final import FINAL, obtain_final
from rubrics_gym.records.files import write_json
from rubrics_gym.records.trajectory import FinalEvent
from rubrics_gym.store.attempts import Attempt, AttemptStore

UNIT, KEY = "finals/execute/0/packaged/a-task", "fedcba9876543210"


def making(codes: Sequence[int | None]) -> Callable[[Attempt], None]:
    """A run for each exit code in turn; None is a run that was lost."""
    left = iter(codes)

    def make(attempt: Attempt) -> None:
        event = FinalEvent(exit_code=next(left), timed_out=False, cap_s=1, duration_s=1, deliverable_present=False)
        write_json(attempt.folder / FINAL, event)

    return make


@pytest.mark.parametrize(
    ("codes", "kept"),
    [
        ((0,), 1),
        ((1,), 1),  # a program that failed is not lost
        ((None, 0), 2),
        ((None, None), 2),
    ],
)
def test_a_lost_final_is_made_once_more(tmp_path: Path, codes: tuple[int | None, ...], kept: int) -> None:
    store = AttemptStore(tmp_path)
    attempt, made = obtain_final(store, UNIT, KEY, "c", making(codes))
    assert (attempt.number, made) == (kept, True)
    again, made = obtain_final(store, UNIT, KEY, "c", making(()))  # making anything more would fail
    assert (again.number, made) == (kept, False)
    assert len(store.of_unit(UNIT)) == kept


def test_a_lost_final_stays_lost_where_nothing_is_attempted_again(tmp_path: Path) -> None:
    attempt, made = obtain_final(AttemptStore(tmp_path), UNIT, KEY, "c", making((None,)), again=False)
    assert (attempt.number, made) == (1, True)


def test_a_capped_run_is_not_lost(tmp_path: Path) -> None:
    def make(attempt: Attempt) -> None:
        event = FinalEvent(exit_code=None, timed_out=True, cap_s=1, duration_s=1, deliverable_present=False)
        write_json(attempt.folder / FINAL, event)

    assert obtain_final(AttemptStore(tmp_path), UNIT, KEY, "c", make)[0].number == 1
