"""Units of paid work: on whose behalf a role asks. They are named by what the work is, never by a job, so that another study finds it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rubrics_gym.settings.study import RoleName, Study

Units = dict[RoleName, str]


def _rollout(study: Study, w: Mapping[str, Any]) -> Units:
    return {"agent": f"rollouts/{w['collection']}/{w['benchmark']}/{w['task']}/{w['attempt']}"}


def _episode(study: Study, w: Mapping[str, Any]) -> Units:
    unit = f"episodes/{w['arm']}/{w['repeat']}/{w['benchmark']}/{w['task']}"
    return {"agent": unit, "judge": f"judge/{unit}"} if study.arms[w["arm"]].judge else {"agent": unit}


# rule -> role -> the unit (or, of a replayed judge, the first segments of its units) that a job of it asks for
UNITS: dict[str, Callable[[Study, Mapping[str, Any]], Units]] = {
    "collect_rollout": _rollout,
    "run_episode": _episode,
    "categorize_failures": lambda study, w: {"classifier": f"classify/{w['collection']}"},
    "attribute_causes": lambda study, w: {"reviewer": f"attribute/{w['collection']}"},
    "mine_candidates": lambda study, w: {"miner": f"mine/{w['library']}"},
    "categorize_rubrics": lambda study, w: {"classifier": f"classify/{w['library']}"},
    "replay_judge": lambda study, w: {"judge": f"judge/replay/{w['judge']}"},
}


def units_of(rule: str, study: Study, wildcards: Mapping[str, Any]) -> Units:
    """Role -> unit, for every role that a job asks; none for a rule that asks nobody."""
    return UNITS[rule](study, wildcards) if rule in UNITS else {}
