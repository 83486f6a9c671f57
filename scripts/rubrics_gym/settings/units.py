"""Units of paid work: on whose behalf a role asks. They are named by what the work is, never by a job, so that another study finds it again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from rubrics_gym.records.base import content_hash
from rubrics_gym.settings.study import Contrasted, Mined, RoleName, Study

Units = dict[RoleName, tuple[str, ...]]


def _rollout(study: Study, w: Mapping[str, Any]) -> Units:
    return {"agent": (f"rollouts/{w['collection']}/{w['benchmark']}/{w['task']}/{w['attempt']}",)}


def _episode(study: Study, w: Mapping[str, Any]) -> Units:
    unit = f"episodes/{w['arm']}/{w['repeat']}/{w['benchmark']}/{w['task']}"
    return {"agent": (unit,), "judge": (f"judge/{unit}",)} if study.arms[w["arm"]].judge else {"agent": (unit,)}


def _mined(study: Study, w: Mapping[str, Any]) -> Units:
    recipe = study.libraries[w["library"]]
    assert isinstance(recipe, Mined)
    return {"miner": tuple(f"mine/{recipe.miner.value}/{collection}" for collection in recipe.collections)}


NOT_ASKED = {"gate", "fewest"}  # of a recipe of lessons: what changes no request


def _compared(study: Study, w: Mapping[str, Any], but: Collection[str] = ()) -> str:
    """The collections whose programs are compared, and 8 digits of what else shapes the requests. Without a library's name: one with another gate is
    served the same answers, and pays for none of those of another protocol."""
    recipe = study.libraries[w["library"]]
    assert isinstance(recipe, Contrasted)
    digits = content_hash(recipe.model_dump(mode="json", exclude={*NOT_ASKED, *but}, exclude_none=True))[:8]
    return "-".join([*recipe.collections, digits])


# rule -> names of the inputs whose content is in the key of the attempt that it asks for
KEYED_INPUTS: dict[str, tuple[str, ...]] = {
    "collect_rollout": ("public", "prompt", "feedback"),
    "run_episode": ("public", "prompt", "feedback", "judge_prompt", "rubrics", "manifest"),
}

# rule -> role -> the units (of a replayed judge, their first segments) that a job of it asks for
UNITS: dict[str, Callable[[Study, Mapping[str, Any]], Units]] = {
    "collect_rollout": _rollout,
    "run_episode": _episode,
    "categorize_failures": lambda study, w: {"classifier": (f"classify/{w['collection']}",)},
    "recategorize_failures": lambda study, w: {"second_classifier": (f"classify_again/{w['collection']}",)},
    "draft_taxonomy": lambda study, w: {"classifier": (f"draft/{w['collection']}",)},
    "attribute_causes": lambda study, w: {"reviewer": (f"attribute/{w['collection']}",)},
    "mine_candidates": _mined,
    "fill_quota": lambda study, w: {"miner": (f"mine/quota/{w['library']}",)},
    "mine_lessons": lambda study, w: {"miner": (f"mine/contrast/{_compared(study, w, but=['merge'])}",)},
    "review_lessons": lambda study, w: {"reviewer": (f"review/{_compared(study, w)}",)},
    "categorize_rubrics": lambda study, w: {"classifier": (f"classify/{w['library']}",)},
    "replay_judge": lambda study, w: {"judge": (f"judge/replay/{w['judge']}",)},
}


def units_of(rule: str, study: Study, wildcards: Mapping[str, Any]) -> Units:
    """Role -> units, for every role that a job asks; none for a rule that asks nobody."""
    return UNITS[rule](study, wildcards) if rule in UNITS else {}
