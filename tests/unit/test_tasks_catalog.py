"""The task table: what is in it, and that reading it touches no data."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from rubrics_gym.records.tasks import Role, TaskKind
from rubrics_gym.settings.study import Sandbox
from rubrics_gym.tasks import catalog
from rubrics_gym.tasks.catalog import CatalogError, load_benchmark, load_spec, load_tables, load_thresholds, task_fingerprint
from rubrics_gym.tasks.holdouts import list_tasks

BENCHMARK = load_benchmark("packaged")
SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def test_the_benchmark_has_what_was_promised():
    pool = [BENCHMARK.entry(task) for task in list_tasks("packaged", Role.TRAIN)]
    held_out = [entry for entry in BENCHMARK.entries if entry.role is Role.HELD_OUT]
    kinds = Counter(entry.kind for entry in pool)
    assert len(pool) >= 24 and len(held_out) >= 10
    assert kinds[TaskKind.QUESTION] >= 10 and kinds[TaskKind.RESULT_FILE] >= 6 and kinds[TaskKind.PREDICTION] >= 8
    assert all(entry.kind is TaskKind.PREDICTION and entry.competition for entry in held_out)
    assert any(len(entry.tables) == 2 for entry in pool)


def test_splits_hold_held_out_tasks():
    assert len(BENCHMARK.split("quick")) == 3
    assert set(BENCHMARK.split("all")) == {entry.id for entry in BENCHMARK.entries if entry.role is Role.HELD_OUT}


def test_unknown_names_are_explained():
    with pytest.raises(CatalogError, match="no split 'nightly'; known are quick"):
        BENCHMARK.split("nightly")
    with pytest.raises(CatalogError, match="no task 'nothing'"):
        BENCHMARK.entry("nothing")
    with pytest.raises(CatalogError, match=r"benchmarks are .*packaged"):
        load_benchmark("unheard_of")


def test_listing_tasks_imports_no_data_library():
    program = (
        "import sys; from rubrics_gym.tasks.holdouts import list_tasks; list_tasks('packaged', 'train');"
        "print([name for name in ('pandas', 'numpy', 'sklearn', 'scipy') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(SCRIPTS)})
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("task", [entry.id for entry in BENCHMARK.entries])
def test_every_task_has_a_spec_on_known_tables(task):
    entry = BENCHMARK.entry(task)
    assert load_spec("packaged", task)
    assert set(entry.tables) <= load_tables("packaged").keys()
    if entry.kind is TaskKind.PREDICTION:
        thresholds, _ = load_thresholds("packaged", task)
        assert (thresholds is not None) == entry.competition


def test_a_spec_on_a_table_that_the_task_table_hides_is_refused(monkeypatch):
    # the hold-out filter reads the task table alone
    specs = {"gapminder-africa": {"table": "penguins", "answers": []}}
    monkeypatch.setattr(catalog, "_specs", lambda name: specs)
    with pytest.raises(CatalogError, match="uses the tables"):
        load_spec("packaged", "gapminder-africa")


def test_every_table_names_licence_and_origin():
    assert all(table.licence and table.origin and len(table.sha256) == 64 for table in load_tables("packaged").values())


def test_no_held_out_table_ships_in_a_package_that_the_sandbox_offers():
    importable = {"sklearn" if package == "scikit-learn" else package for package in Sandbox().packages}
    tables = load_tables("packaged")
    used = {tables[table].package for entry in BENCHMARK.entries if entry.role is Role.HELD_OUT for table in entry.tables}
    assert not used & importable


def test_a_fingerprint_changes_with_what_the_task_is_made_from_and_with_nothing_else(monkeypatch):
    before = {task: task_fingerprint("packaged", task) for task in ("gapminder-africa", "barley-yields", "penguins-body-mass")}
    tables = dict(load_tables("packaged"))
    tables["barley"] = tables["barley"].model_copy(update={"about": "Something else."})
    monkeypatch.setattr(catalog, "load_tables", lambda name: tables)
    after = {task: task_fingerprint("packaged", task) for task in before}
    assert [task for task in before if before[task] != after[task]] == ["barley-yields"]
