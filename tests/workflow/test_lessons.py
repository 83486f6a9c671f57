"""A library of lessons in the graph of jobs: what its settings plan."""

from __future__ import annotations

from typing import Any

import yaml

from tests.workflow.conftest import Workflow, finish

SORTED = {"categorize_rubrics"}
SHOWN = {"build_tables", "account_costs", "draw_figures", "build_dashboard"}
ACCEPTED = {"accept_lessons"} | SORTED | SHOWN
REVIEWED = {"review_lessons"} | ACCEPTED
MINED = {"mine_lessons", "merge_library"} | REVIEWED


def study(**lessons: Any) -> dict[str, Any]:
    libraries = {"lessons": {"recipe": "contrast", "collections": ["pool"], **lessons}}
    return {
        "extends": "config/config.yaml",
        "collections": {"pool": {"tasks": {"limit": 2}}},
        "evaluation": {"split": "development"},
        "libraries": libraries,
    }


def test_a_change_plans_the_steps_that_it_concerns(tree: Workflow) -> None:
    config = tree.folder / "config" / "lessons.yaml"

    def planned(**lessons: Any) -> set[str]:
        config.write_text(yaml.safe_dump(study(**lessons)))
        return set(tree.planned("--configfile", "config/lessons.yaml"))

    assert planned() >= MINED
    finish(tree, "--configfile", "config/lessons.yaml")
    assert planned() == set()
    assert planned(gate={"other_tasks": 1}) == ACCEPTED
    assert planned(fewest=1) == SHOWN - {"account_costs"}  # no judge holds the library, so nothing is embedded; and no lesson changes
    assert planned(merge={"threshold": 0.9}) - {"merge_library"} == REVIEWED
    assert planned(citing="words") == planned(near_misses=False) == planned(per_task=1) == MINED
    assert planned(development=0.5) == MINED
    prompt = tree.folder / "resources" / "prompts" / "lesson_reviewer.yaml"
    prompt.write_text(prompt.read_text().replace("version: ", "version: new-", 1))
    assert planned() == REVIEWED
