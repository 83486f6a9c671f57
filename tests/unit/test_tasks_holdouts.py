"""Pool and held-out share no table: by name, and by content under other names."""

import pandas as pd
import pytest

from rubrics_gym.records.tasks import Role, TaskKind
from rubrics_gym.tasks.catalog import Benchmark, Entry, load_benchmark
from rubrics_gym.tasks.disjoint import check_disjoint, compare, fingerprint
from rubrics_gym.tasks.holdouts import HoldoutRule, NoTasks, decide, list_tasks, load_rule

RULE = HoldoutRule(min_letters=6, common=("weather",), aliases={"cars": ("auto",)})


def entry(task, role=Role.TRAIN, tables=("table",)):
    return Entry(id=task, kind=TaskKind.QUESTION, role=role, title=task, tables=tables)


def decided(*pool):
    held_out = entry("cars-mileage", Role.HELD_OUT, ("cars", "seattle_weather"))
    decisions = decide(Benchmark(name="b", entries=(*pool, held_out), splits={}), RULE)
    assert decisions[-1].kept
    return {decision.task: (decision.rule, decision.word) for decision in decisions[:-1]}


def test_each_rule_removes_and_names_its_word():
    assert decided(
        entry("same-table", tables=("cars",)),
        entry("underscored", tables=("seattle-weather",)),
        entry("auto-prices"),
        entry("gas-mileage"),
        entry("rain-in-seattle"),
        entry("cars-and-trains"),
        entry("weather-in-rome"),
    ) == {
        "same-table": ("same_name", "cars"),
        "underscored": ("same_name", "seattle-weather"),
        "auto-prices": ("alias", "auto"),
        "gas-mileage": ("distinctive_word", "mileage"),
        "rain-in-seattle": ("distinctive_word", "seattle"),
        "cars-and-trains": ("", ""),  # four letters are not distinctive
        "weather-in-rome": ("", ""),  # a common word
    }


def test_the_packaged_pool_loses_exactly_the_candidates_that_touch_a_held_out_name():
    removed = {item.task: item.word for item in decide(load_benchmark("packaged"), load_rule("packaged")) if not item.kept}
    assert removed == {"penguins-raw-bills": "penguins", "seattle-temps-hot-hours": "seattle", "close-college-wages": "college"}


def test_tasks_are_listed_in_order_and_cut():
    assert list_tasks("packaged", Role.TRAIN, 2) == list_tasks("packaged", Role.TRAIN)[:2]
    with pytest.raises(NoTasks, match="role validation"):
        list_tasks("packaged", Role.VALIDATION)


def test_the_kept_pool_and_the_held_out_tables_are_disjoint_by_content():
    assert check_disjoint("packaged") == []


def test_content_finds_the_table_that_the_name_filter_removed():
    found = check_disjoint("packaged", ["penguins-raw-bills", "close-college-wages"])
    assert {(overlap.pool_table, overlap.held_out_table) for overlap in found} == {("penguins_raw", "penguins")}
    assert any(overlap.detail == "body_mass = body_mass_g" for overlap in found)


FRAME = pd.DataFrame(
    {"a": range(40), "b": [i / 7 for i in range(40)], "c": [f"name {i}" for i in range(40)], "d": [i % 3 for i in range(40)]}
)


def found(other):
    return [overlap.what for overlap in compare("one", fingerprint(FRAME), "other", fingerprint(other))]


def test_the_same_table_is_known_under_other_names_orders_and_spellings():
    disguised = (
        FRAME.iloc[::-1][["d", "c", "b", "a"]].rename(columns={"a": "x"}).assign(c=FRAME["c"].str.upper(), d=FRAME["d"].astype(float))
    )
    assert found(disguised) == ["table"]


def test_shared_rows_and_shared_columns_are_found():
    rows = pd.concat([FRAME.head(5), FRAME.tail(10).assign(a=1000, b=0.5)])
    assert found(rows) == ["rows"]
    column = pd.DataFrame({"renamed": list(FRAME["b"])[::-1], "new": range(500, 540)})
    assert found(column) == ["column"]


def test_small_codes_in_common_are_no_overlap():
    assert found(pd.DataFrame({"d": [i % 3 for i in range(40)], "e": [1] * 40})) == []
