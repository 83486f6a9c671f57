"""How an attempt ended, from its record alone; None where only a grader can tell."""

from __future__ import annotations

from collections.abc import Sequence

from rubrics_gym.records.outcomes import POLICY, Outcome
from rubrics_gym.records.trajectory import EndEvent, Event, FileEvent, FinalEvent, StartEvent


def attempt_outcome(events: Sequence[Event]) -> Outcome | None:
    """The outcome of a rollout, which is graded on what the agent left. A record without an end is a lost attempt (unknown).

    An attempt that a limit ended is graded like any other when it left its deliverable.
    """
    end = next((event for event in reversed(events) if isinstance(event, EndEvent)), None)
    if end is None:
        return Outcome.UNKNOWN
    if end.outcome is Outcome.LIMIT_REACHED and _wrote_deliverable(events):
        return None
    return end.outcome


def was_run(events: Sequence[Event]) -> bool:
    """Whether a slot was attempted at all, with whatever end."""
    return not any(isinstance(event, EndEvent) and event.outcome is Outcome.NOT_RUN for event in events)


def final_outcome(events: Sequence[Event], final: FinalEvent) -> Outcome | None:
    """The outcome of an episode, which is graded on what the run of final.py wrote.

    A loss during the episode stays a loss. A final run without an exit line is lost; one that was stopped at its cap reached a limit;
    one that failed for want of memory is a real failure of the agent. The grader grades a deliverable that exists all the same.
    """
    end = next((event for event in reversed(events) if isinstance(event, EndEvent)), None)
    if end is None:
        return Outcome.UNKNOWN
    if end.outcome is not None and not POLICY[end.outcome].agents_doing:
        return end.outcome
    if final.timed_out:
        return Outcome.LIMIT_REACHED
    if final.exit_code is None:
        return Outcome.LOST_FINAL
    if final.deliverable_present:
        return None
    return Outcome.AGENT_OUT_OF_MEMORY if final.out_of_memory else Outcome.NO_SUBMISSION


def _wrote_deliverable(events: Sequence[Event]) -> bool:
    deliverable = next((event.deliverable for event in events if isinstance(event, StartEvent)), None)
    return any(isinstance(event, FileEvent) and event.path == deliverable for event in events)
