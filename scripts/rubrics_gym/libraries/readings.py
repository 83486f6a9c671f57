"""The failures of collections as readings for the quota miner, sorted into the bins of a distribution."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rubrics_gym.failures.distributions import bin_of
from rubrics_gym.failures.types import Rules
from rubrics_gym.libraries.rollouts import Rollout
from rubrics_gym.libraries.traces import Trace, at_end, at_step, trace_of
from rubrics_gym.records.failures import Categorized, Cause, FailureEvent


def failures_by_bin(
    rollouts: Iterable[Rollout],
    events: Sequence[FailureEvent],
    categories: Iterable[Categorized],
    causes: Iterable[Cause],
    rules: Rules,
    limit: int,
) -> dict[str, list[Trace]]:
    """bin -> one reading per failed step and per cause of a wrong end, in the order of the rollouts. What was not classified has no bin.

    A failed step is read with the programs as they were then, a cause with what the rollout left; each within `limit` characters.
    """
    bin_of_event = {answer.item_id: bin_of(answer.category, answer.runtime_type) for answer in categories}
    steps: dict[str, dict[tuple[str, int], None]] = {}  # unit -> (bin, step), each once
    for event in events:
        name = bin_of_event.get(event.event_id)
        if name is not None:
            steps.setdefault(event.unit, {})[name, event.step] = None
    ends = {cause.unit: bin_of(cause.category, cause.runtime_type) for cause in causes}
    found: dict[str, list[Trace]] = {}
    for rollout in rollouts:
        end = ends.get(rollout.unit)
        if not rollout.may_be_mined or not (rollout.unit in steps or end):
            continue
        trace = trace_of(rollout.collection, rollout.events, rollout.grade, rollout.deliverable, rules, limit)
        for name, step in steps.get(rollout.unit, {}):
            found.setdefault(name, []).append(at_step(trace, step, limit))
        if end is not None:
            found.setdefault(end, []).append(at_end(trace, limit))
    return found
