"""Shadow runs in the graph of jobs."""

from __future__ import annotations

from typing import Any

import yaml

from tests.workflow.conftest import Workflow, finish


def study(**shadows: Any) -> dict[str, Any]:
    evaluation = {"split": "development", "arms": ["execute", "notice", "task_only"], "shadows": shadows}
    return {"extends": "config/config.yaml", "collections": {"pool": {"tasks": {"limit": 2}}}, "evaluation": evaluation}


def test_other_chances_plan_shadow_runs_and_no_episode(tree: Workflow) -> None:
    config = tree.folder / "config" / "shadows.yaml"
    config.write_text(yaml.safe_dump(study(clean=0.5)))
    plan = tree.planned("--configfile", "config/shadows.yaml")
    assert plan["run_shadows"] == plan["run_episode"] / 3  # of the one arm in which predictions stand in for runs
    finish(tree, "--configfile", "config/shadows.yaml")
    config.write_text(yaml.safe_dump(study(clean=0.6)))
    assert set(tree.planned("--configfile", "config/shadows.yaml")) == {
        "run_shadows",
        "measure_feedback",
        "measure_judge",
        "draw_figures",
        "build_pages",
        "build_dashboard",
    }
