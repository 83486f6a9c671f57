"""What really came of a command that a judge had stood in for, run after the episode."""

from __future__ import annotations

from enum import StrEnum

from rubrics_gym.records.base import Record
from rubrics_gym.records.verdicts import Verdict


class ShadowState(StrEnum):
    RAN = "ran"
    NOT_SAMPLED = "not_sampled"
    UNKNOWN = "unknown"  # it cannot be known; `reason` says why


class ShadowRun(Record):
    """One judged command that did not run in its episode. Outcome fields are None unless it `ran`.

    `probability` is the chance with which it was to be run: estimates weigh a run by its inverse. `unexecuted_before` counts the
    code commands of the attempt that had not run by then: their files were never written, and the outcome is that of this state.
    """

    unit: str
    benchmark: str
    task: str
    arm: str
    step: int
    index: int
    command: str
    verdict: Verdict
    probability: float
    draw: float
    state: ShadowState
    reason: str = ""
    unexecuted_before: int
    repeat: int = 0  # 1: the same command once more, to measure the noise of outcomes
    exit_code: int | None = None
    timed_out: bool | None = None
    out_of_memory: bool | None = None
    masked_pipe: bool | None = None
    failed: bool | None = None
    failure_type: str | None = None
    duration_s: float | None = None
    cap_s: float
    output_head: str = ""
    output_tail: str = ""
    output_bytes: int = 0
