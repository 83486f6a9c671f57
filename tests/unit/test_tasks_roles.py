"""One role per task, for every study; terms that must be accepted; and the table of the pool."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from rubrics_gym.records.tasks import HoldoutVariant, Role
from rubrics_gym.report.specs import POOL
from rubrics_gym.report.writing import table_csv
from rubrics_gym.tasks.catalog import benchmark_names, load_benchmark
from rubrics_gym.tasks.pool import PoolRow, pool_rows
from rubrics_gym.tasks.roles import RoleConflict, check_collected, check_evaluation, check_mined, registry, same_task
from rubrics_gym.tasks.terms import TermsNotAccepted, check_accepted

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def test_the_registry_gives_every_task_of_every_benchmark_one_role() -> None:
    roles = registry()
    assert len(roles) == sum(len(load_benchmark(name).entries) for name in benchmark_names()) > 1000
    by_benchmark = {name: Counter(role for (other, _), role in roles.items() if other == name) for name in benchmark_names()}
    assert by_benchmark["openml"] == {Role.TRAIN: 12, Role.DEVELOPMENT: 4, Role.VALIDATION: 8}
    assert by_benchmark["mlebench"] == {Role.HELD_OUT: 75, Role.DEVELOPMENT: 7}
    assert by_benchmark["paperbench"] == {Role.HELD_OUT: 20, Role.DEVELOPMENT: 3}


def test_only_training_tasks_are_mined_and_no_held_out_task_is_collected() -> None:
    check_mined("probe", Role.TRAIN)
    for role in (Role.DEVELOPMENT, Role.VALIDATION):
        check_collected("probe", role)
        with pytest.raises(RoleConflict, match="only tasks with the role train"):
            check_mined("probe", role)
    with pytest.raises(RoleConflict, match="never mined"):
        check_collected("probe", Role.HELD_OUT)


def test_a_task_is_known_under_its_other_names() -> None:
    assert ("mlagentbench", "identify-contrails") in same_task("mlebench", "google-research-identify-contrails-reduce-global-warming")
    assert {("mlagentbench", "spaceship-titanic"), ("dacode", "ml-binary-004")} <= same_task("mlebench", "spaceship-titanic")


@pytest.mark.parametrize(
    ("task", "collected"),
    [
        ("google-research-identify-contrails-reduce-global-warming", ("mlagentbench", ["identify-contrails"])),
        ("tweet-sentiment-extraction", ("dsbench", ["dont-overfit-ii", "tweet-sentiment-extraction"])),
    ],
)
def test_no_task_is_collected_and_evaluated_under_any_name(task: str, collected: tuple[str, list[str]]) -> None:
    check_evaluation("mlebench", [task], {"pool": ("dabench", ["0"])})
    with pytest.raises(RoleConflict, match=f"{collected[0]}/{collected[1][-1]}` is in collection `pool`"):
        check_evaluation("mlebench", [task], {"pool": collected})


def test_pool_tasks_are_not_evaluated() -> None:
    with pytest.raises(RoleConflict, match="whose role is not held_out"):
        check_evaluation("dabench", ["0"], {})


def test_terms_are_shown_and_accepted_by_name() -> None:
    with pytest.raises(TermsNotAccepted, match=r"CC BY-NC 4\.0.*add `dabench-non-commercial` to `accepted_terms`"):
        check_accepted(load_benchmark("dabench"), ("mlgym-non-commercial",))
    check_accepted(load_benchmark("dabench"), ("dabench-non-commercial",))
    check_accepted(load_benchmark("packaged"), ())
    named = [terms.name for name in benchmark_names() for terms in load_benchmark(name).terms]
    assert len(set(named)) == len(named) >= 6


def test_traces_of_rebench_are_not_mined_without_a_word() -> None:
    rebench = load_benchmark("rebench")
    check_accepted(rebench, ["rebench-canary"])
    with pytest.raises(TermsNotAccepted, match=r"not mined for rubrics.*add `rebench-mining` to `accepted_terms`"):
        check_accepted(rebench, ["rebench-canary"], "mining")
    check_accepted(rebench, ["rebench-mining"], "mining")


# ---------------------------------------------------------------- the pool


@pytest.fixture(scope="module")
def pool() -> list[PoolRow]:
    return pool_rows(benchmark_names(), HoldoutVariant.STRICT)


def of(pool: list[PoolRow], benchmark: str) -> list[PoolRow]:
    return [row for row in pool if row.benchmark == benchmark]


def test_every_task_is_a_row_and_the_table_takes_the_rows(pool: list[PoolRow]) -> None:
    assert len(pool) == len(registry())
    text = table_csv(POOL, [row.model_dump() for row in pool])
    assert len(list(csv.reader(text.splitlines()))) == len(pool) + 1


def test_hold_out_and_cannot_run_are_two_columns(pool: list[PoolRow]) -> None:
    contrails = next(row for row in pool if row.task == "identify-contrails")
    assert (contrails.status, contrails.holdout, contrails.rule, contrails.by_hand != "") == ("removed", "removed", "alias", True)
    without_data = next(row for row in pool if row.task == "data-sa-039")
    assert (without_data.status, without_data.match, without_data.cannot_run != "") == ("removed", "random", True)
    assert next(row for row in pool if row.task == "data-sa-026").status == "cannot run"
    assert {row.status for row in of(pool, "dabstep")} == {"cannot run"}
    assert {row.status for row in of(pool, "mlebench")} == {"held out", "removed"}


def test_the_three_variants_stand_beside_each_other(pool: list[PoolRow]) -> None:
    removed = {
        variant: {f"{row.benchmark}/{row.task}" for row in pool if getattr(row, variant) == "removed"}
        for variant in ("published", "strict", "exact")
    }
    assert removed["published"] <= removed["strict"] and removed["exact"] <= removed["strict"]
    assert all(row.holdout == row.strict for row in pool)
    assert sum(task.startswith("dabench/") for task in removed["published"] - removed["exact"]) == 40


def test_listing_every_benchmark_reads_tables_and_imports_no_data_library() -> None:
    program = (
        "import sys; from rubrics_gym.tasks.catalog import benchmark_names, load_benchmark;"
        "from rubrics_gym.tasks.holdouts import decide, rules_for;"
        "[decide(load_benchmark(n), rules_for(load_benchmark(n))) for n in benchmark_names()];"
        "print([name for name in ('pandas', 'numpy', 'sklearn', 'scipy', 'arff', 'pyarrow') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(SCRIPTS)})
    assert found.stdout.strip() == "[]"
