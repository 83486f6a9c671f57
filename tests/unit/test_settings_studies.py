"""Every declared study can be read, and the sweeps change what they say they change."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
import yaml

from rubrics_gym.report.designs import changes
from rubrics_gym.settings import loading, slices
from rubrics_gym.settings.comparisons import default_pairs
from rubrics_gym.settings.study import Study

STUDIES = sorted(Path("config/studies").glob("*.yaml"))


def study(name: str) -> Study:
    return loading.load_study(loading.read_file(f"config/studies/{name}.yaml"), name)


def steps(found: Study) -> list[tuple[str, list[str]]]:
    """Each arm of the evaluation with what it changes of the one before."""
    arms = [(name, found.arms[name].model_dump(mode="json")) for name in found.evaluation.arms]
    return [(name, changes(before, arm)) for (_, before), (name, arm) in itertools.pairwise(arms)]


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_every_declared_study_can_be_read(path: Path) -> None:
    found = study(path.stem)
    tables = json.loads(slices.settings_of("build_tables", found, {}))
    assert tables["order"] == list(found.evaluation.arms) == list(dict.fromkeys(found.evaluation.arms))
    assert all(first in tables["order"] and second in tables["order"] for first, second in tables["pairs"])


@pytest.mark.parametrize(
    ("name", "first", "key"),
    [("rubric_count", "k1", "judge.k"), ("library_size", "size_50", "judge.library"), ("harness_ablation", "judge_only", None)],
)
def test_sweeps_change_one_thing_at_a_time(name: str, first: str, key: str | None) -> None:
    found = study(name)
    after = [said for arm, said in steps(found)][found.evaluation.arms.index(first) :]
    if key is not None:
        assert after and all(len(said) == 1 and said[0].startswith(f"{key}: ") for said in after)
    else:  # one block of the harness per row, until the judge is taken away again
        rows = dict(steps(found))
        single = ("judge_world_state", "judge_installs_versions", "judge_escalate_clean", "judge_data_real_run")
        assert all(rows[arm] for arm in single)


def test_the_library_grid_has_every_library_under_every_retrieval() -> None:
    found = study("library_retrieval")
    judges = [found.arms[arm].judge for arm in found.evaluation.arms]
    grid = {(judge.library, judge.retrieval.value) for judge in judges if judge is not None and judge.library is not None}
    libraries, retrievals = {library for library, _ in grid}, {retrieval for _, retrieval in grid}
    assert len(grid) == len(libraries) * len(retrievals) == 6


@pytest.mark.parametrize(
    "recipe", [{"recipe": "quota", "collections": ["pool"], "target": "pool_complete", "size": 50}, {"recipe": "import", "path": "x"}]
)
def test_a_library_that_says_something_is_compared_however_it_was_made(recipe: dict[str, object]) -> None:
    config = loading.read_file("config/config.yaml")
    config["libraries"]["written"] = recipe
    config["arms"]["written"] = {"code_runs": "judge", "judge": {"library": "written"}}
    config["evaluation"]["arms"] = ["execute", "notice", "task_only", "written"]
    assert default_pairs(loading.load_study(config, "written"))[:2] == [("written", "task_only"), ("written", "notice")]


def test_the_published_denominators_are_declared() -> None:
    """22, 20, 17 and 15 competitions of MLE-bench Lite."""
    subsets = study("mle_bench_lite").evaluation.subsets
    assert sorted(22 - len(left_out) for left_out in subsets.values()) == [15, 17, 20]


@pytest.mark.parametrize("name", ["live", "mle_bench_lite"])
def test_a_live_study_has_no_simulated_role(name: str) -> None:
    """A role that a study leaves out keeps the model of the base, and one simulated role labels every figure."""
    found = study(name)
    assert not slices.is_simulated(found) and found.models.second_classifier is not None


def test_the_disputed_competitions_are_the_same_for_the_tables_and_for_the_report() -> None:
    declared = yaml.safe_load(Path("resources/grading/mlebench_denominators.yaml").read_text())
    subsets = study("mle_bench_lite").evaluation.subsets
    assert set(subsets["obtainable"]) == set(declared["obtainable"]["without"])
    assert set(subsets["without_leaking"]) == set(declared["undisputed"]["without"])
    assert set(subsets["obtainable_without_leaking"]) == set(subsets["obtainable"]) | set(subsets["without_leaking"])
