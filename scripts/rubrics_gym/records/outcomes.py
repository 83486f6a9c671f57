"""The closed vocabulary of how an attempt can end, and one table that decides what each end means.

Modelled on the error-policy table of Harbor: grading, aggregation and mining read this table and nothing else.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Outcome(StrEnum):
    # the agent's own ends
    VALID = "valid"
    INVALID = "invalid"
    NO_SUBMISSION = "no_submission"
    LIMIT_REACHED = "limit_reached"
    AGENT_OUT_OF_MEMORY = "agent_out_of_memory"
    UNGRADED = "ungraded"  # an imported attempt whose log says nothing about its result
    # infrastructure: never the agent's failure, never zero
    LOST_FINAL = "lost_final"
    SANDBOX_DIED = "sandbox_died"
    NODE_LOST = "node_lost"
    PREEMPTED = "preempted"
    DISK_RESERVE = "disk_reserve"
    PROVIDER_ERROR = "provider_error"
    GRADER_ERROR = "grader_error"
    UNKNOWN = "unknown"
    NOT_RUN = "not_run"  # planned, and never begun: the study was stopped before, or attempts nothing again


class OutcomePolicy(NamedTuple):
    """What one outcome means: is there a score, is it the agent's doing, may the unit be asked for again, may it be mined."""

    scored: bool
    agents_doing: bool
    may_retry: bool
    may_mine: bool


POLICY: dict[Outcome, OutcomePolicy] = {
    Outcome.VALID: OutcomePolicy(scored=True, agents_doing=True, may_retry=False, may_mine=True),
    Outcome.INVALID: OutcomePolicy(scored=False, agents_doing=True, may_retry=False, may_mine=True),
    Outcome.NO_SUBMISSION: OutcomePolicy(scored=False, agents_doing=True, may_retry=False, may_mine=True),
    Outcome.LIMIT_REACHED: OutcomePolicy(scored=False, agents_doing=True, may_retry=False, may_mine=True),
    Outcome.AGENT_OUT_OF_MEMORY: OutcomePolicy(scored=False, agents_doing=True, may_retry=False, may_mine=True),
    Outcome.UNGRADED: OutcomePolicy(scored=False, agents_doing=False, may_retry=False, may_mine=True),
    Outcome.LOST_FINAL: OutcomePolicy(scored=False, agents_doing=False, may_retry=True, may_mine=False),
    Outcome.SANDBOX_DIED: OutcomePolicy(scored=False, agents_doing=False, may_retry=True, may_mine=False),
    Outcome.NODE_LOST: OutcomePolicy(scored=False, agents_doing=False, may_retry=True, may_mine=False),
    Outcome.PREEMPTED: OutcomePolicy(scored=False, agents_doing=False, may_retry=True, may_mine=False),
    Outcome.DISK_RESERVE: OutcomePolicy(scored=False, agents_doing=False, may_retry=True, may_mine=False),
    Outcome.PROVIDER_ERROR: OutcomePolicy(scored=False, agents_doing=False, may_retry=True, may_mine=False),
    Outcome.GRADER_ERROR: OutcomePolicy(scored=False, agents_doing=False, may_retry=True, may_mine=False),
    Outcome.UNKNOWN: OutcomePolicy(scored=False, agents_doing=False, may_retry=False, may_mine=False),
    Outcome.NOT_RUN: OutcomePolicy(scored=False, agents_doing=False, may_retry=True, may_mine=False),
}
