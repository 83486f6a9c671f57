"""Pool and held-out share no task: by id, alias and word; and no table, by content under other names."""

import pandas as pd
import pytest

from rubrics_gym.records.tasks import HoldoutVariant, Role, TaskKind
from rubrics_gym.tasks import holdouts
from rubrics_gym.tasks.catalog import Benchmark, CatalogError, Entry, load_benchmark
from rubrics_gym.tasks.disjoint import check_disjoint, compare, fingerprint
from rubrics_gym.tasks.holdouts import HoldoutRule, NoTasks, decide, list_tasks, load_rule, rules_for, words_of

VARIANTS = {
    "published": ("same_name", "distinctive_word"),
    "strict": ("same_name", "alias", "distinctive_word"),
    "exact": ("same_name", "alias"),
}
RULE = HoldoutRule(
    held_out="rallies", min_letters=6, common=("weather",), aliases={"cars": ("auto", "shop/four-wheels")}, variants=VARIANTS
)


def entry(task, role=Role.TRAIN, tables=(), **more):
    return Entry(id=task, kind=TaskKind.QUESTION, role=role, title=more.pop("title", task), tables=tables, **more)


@pytest.fixture
def decided(monkeypatch):
    held_out = entry("cars-mileage", Role.HELD_OUT, ("cars", "seattle_weather"))
    rallies = Benchmark(name="rallies", entries=(held_out,), splits={})
    monkeypatch.setattr(holdouts, "load_benchmark", {"rallies": rallies}.__getitem__)

    def decide_on(*pool, variant=HoldoutVariant.STRICT, **more):
        decisions = decide(Benchmark(name="shop", entries=pool, splits={}, **more), (RULE,), variant)
        return {one.entry.id: (one.conflict.rule, one.conflict.match) if one.conflict else None for one in decisions}

    return decide_on


POOL = (
    entry("same-table", tables=("cars",)),
    entry("underscored", tables=("seattle-weather",)),
    entry("auto-prices"),
    entry("four-wheels"),
    entry("gas-mileage"),
    entry("rain-in-seattle"),
    entry("cars-and-trains"),  # four letters are not distinctive
    entry("weather-in-rome"),  # a common word
)


def test_each_rule_removes_and_names_what_hit(decided):
    assert decided(*POOL) == {
        "same-table": ("same_name", "cars"),
        "underscored": ("same_name", "seattle-weather"),
        "auto-prices": ("alias", "auto"),
        "four-wheels": ("alias", "shop/four-wheels"),
        "gas-mileage": ("distinctive_word", "mileage"),
        "rain-in-seattle": ("distinctive_word", "seattle"),
        "cars-and-trains": None,
        "weather-in-rome": None,
    }


@pytest.mark.parametrize(
    ("variant", "kept"),
    [("published", {"auto-prices", "four-wheels"}), ("strict", set()), ("exact", {"gas-mileage", "rain-in-seattle"})],
)
def test_the_variants_differ_in_aliases_and_words(decided, variant, kept):
    found = {task for task, why in decided(*POOL, variant=HoldoutVariant(variant)).items() if why is None}
    assert found - {"cars-and-trains", "weather-in-rome"} == kept


def test_words_are_looked_for_where_the_table_says(decided):
    pool = (entry("1", title="Rain in Seattle.csv"), entry("2", title="x", words=("mileage",)), entry("mileage", title="x"))
    assert decided(*pool, filter_on="title") == {"1": ("distinctive_word", "seattle"), "2": None, "mileage": None}
    assert decided(*pool, filter_on="words") == {"1": None, "2": ("distinctive_word", "mileage"), "mileage": None}
    assert decided(*pool) == {"1": None, "2": None, "mileage": ("distinctive_word", "mileage")}


def test_words_fall_apart_at_capitals_digits_and_signs():
    assert words_of("regressionKaggleHousePrice") >= {"regression", "kaggle", "house", "price"}
    assert words_of("titanic_train2.csv") == {"titanic", "train", "csv"}
    assert words_of("CLRS") == {"clrs"}


def test_what_is_held_out_is_not_removed(decided):
    assert decided(entry("cars", Role.HELD_OUT)) == {"cars": None}


def test_the_packaged_pool_loses_exactly_the_candidates_that_touch_a_held_out_name():
    table = load_benchmark("packaged")
    removed = {one.entry.id: one.conflict.rule for one in decide(table, rules_for(table)) if not one.kept}
    assert removed == {
        "penguins-raw-bills": "alias",
        "seattle-temps-hot-hours": "distinctive_word",
        "close-college-wages": "distinctive_word",
    }


# benchmark -> (tasks that are there and not excluded, removed), as BENCHMARKS of the published study count them
PUBLISHED = {"dabench": (257, 40), "dsbench": (74, 54), "mlgym": (14, 1), "mlagentbench": (12, 2), "rebench": (2, 0)}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_variant_reproduces_the_published_counts(name):
    table = load_benchmark(name)
    decisions = [one for one in decide(table, rules_for(table), HoldoutVariant.PUBLISHED) if not one.entry.exclude]
    assert (len(decisions), sum(not one.kept for one in decisions)) == PUBLISHED[name]


def test_the_published_variant_removes_six_of_the_shipped_tasks_of_dacode():
    table = load_benchmark("dacode")
    shipped = [one for one in decide(table, rules_for(table), HoldoutVariant.PUBLISHED) if "not in the repository" not in one.entry.exclude]
    assert len(table.entries) == 500 and len(shipped) == 62
    assert {one.entry.id: one.conflict.match for one in shipped if not one.kept} == {
        "data-sa-004": "comment",
        "data-sa-039": "random",
        "dm-csv-009": "author",
        "dm-csv-015": "player",
        "ml-competition-017": "automated",
        "ml-regression-012": "vehicles",
    }


def test_every_alias_names_a_task_and_a_competition_that_exist():
    for rule in (load_rule("mle-bench"), load_rule("packaged")):
        held_out = {name for each in load_benchmark(rule.held_out).entries for name in (each.id, *each.tables)}
        assert rule.aliases.keys() <= held_out
        for alias in (alias for others in rule.aliases.values() for alias in others if "/" in alias):
            name, task = alias.split("/")
            assert load_benchmark(name).entry(task)


@pytest.mark.parametrize(
    ("task", "published", "strict", "exact"),
    [
        ("mlagentbench/identify-contrails", "distinctive_word", "alias", "alias"),
        ("mlagentbench/spaceship-titanic", "same_name", "same_name", "same_name"),
        ("dacode/ml-binary-004", "distinctive_word", "alias", "alias"),
        ("dsbench/titanic", "distinctive_word", "distinctive_word", None),  # classic Titanic is no competition of MLE-bench
        ("mlgym/titanic", "distinctive_word", "distinctive_word", None),
        ("dsbench/playground-series-s3e18", "same_name", "same_name", "same_name"),
        ("dsbench/playground-series-s3e13", "distinctive_word", "distinctive_word", None),
    ],
)
def test_overlaps_are_caught_and_namesakes_return_under_exact(task, published, strict, exact):
    name, task_id = task.split("/")
    table = load_benchmark(name)
    found = []
    for variant in (HoldoutVariant.PUBLISHED, HoldoutVariant.STRICT, HoldoutVariant.EXACT):
        [decision] = [one for one in decide(table, rules_for(table), variant) if one.entry.id == task_id]
        found.append(decision.conflict.rule if decision.conflict else None)
    assert found == [published, strict, exact]


def test_a_pool_is_also_held_against_the_benchmark_that_is_evaluated_on():
    table = load_benchmark("packaged")
    assert [rule.held_out for rule in rules_for(table, "packaged")] == ["packaged"]
    assert [rule.held_out for rule in rules_for(table, "mlebench")] == ["packaged", "mlebench"]


def test_tasks_that_need_work_by_hand_join_when_they_are_named_and_excluded_ones_never():
    assert list_tasks("mlagentbench", Role.TRAIN) == ["vectorization"]
    assert list_tasks("mlagentbench", Role.TRAIN, prepared=("house-price", "identify-contrails")) == ["house-price", "vectorization"]
    assert "llama-inference" not in list_tasks("mlagentbench", Role.TRAIN, prepared=("llama-inference",))
    with pytest.raises(CatalogError, match="no task 'houseprice'"):
        list_tasks("mlagentbench", Role.TRAIN, prepared=("houseprice",))


def test_no_held_out_benchmark_gives_pool_tasks():
    for role in (Role.TRAIN, Role.DEVELOPMENT):
        with pytest.raises(NoTasks):
            list_tasks("mlebench", role)
    with pytest.raises(NoTasks):
        list_tasks("dabstep", Role.TRAIN)


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
