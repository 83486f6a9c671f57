"""An imported collection in the graph of jobs."""

from __future__ import annotations

import json

import yaml

from tests.workflow.conftest import Workflow

STUDY = {
    "extends": "config/config.yaml",
    "collections": {"pool": {"tasks": {"limit": 2}}, "mine": {"import": "logs", "format": "auto"}},
    "libraries": {"mined": {"recipe": "mine", "collections": ["pool", "mine"]}},
    "evaluation": {"split": "development"},
}


def test_an_imported_collection_feeds_failures_and_libraries(tree: Workflow) -> None:
    (tree.folder / "config" / "imports.yaml").write_text(yaml.safe_dump(STUDY))
    missing = tree.dry_run("--configfile", "config/imports.yaml")
    assert missing.returncode != 0
    assert "`collections.mine.import`: there is no file or folder logs" in missing.stdout + missing.stderr
    (tree.folder / "logs").mkdir()
    (tree.folder / "logs" / "a.traj").write_text(json.dumps({"trajectory": []}))
    plan = tree.planned("--configfile", "config/imports.yaml")
    assert plan["import_collection"] == 1
    assert plan["collect_rollout"] == 2
    assert plan["detect_failures"] == 3  # pool, heldout, mine
