"""What a user changes reruns what depends on it, and nothing else. Every leaf of the configuration is flipped."""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rubrics_gym.settings import loading, slices
from tests.workflow.conftest import SMALL, TOP, Workflow

CONFIG = ("--configfile", "config/small.yaml")

PAGE = {"build_dashboard"}
FIGURES = {"draw_figures"} | PAGE
COSTS = {"account_costs"} | FIGURES
TABLES = {"build_tables"} | FIGURES
PAGES = {"build_pages"} | PAGE
FEEDBACK = {"measure_feedback"} | FIGURES
EPISODE = {"run_episode", "run_final", "grade_episode"} | TABLES | FEEDBACK | COSTS | PAGES
MEASURED = {"measure_judge"} | FIGURES
AUDIT = {"audit_exposure"} | FIGURES
REPLAY = {"replay_judge"} | MEASURED | AUDIT | COSTS | PAGES
TRUTH = {"build_truth_table"} | FIGURES
MIX = {"failure_distribution", "compare_mixes"} | TABLES | AUDIT | MEASURED
READ = {"compare_readers"} | FIGURES
FAILURES = {"detect_failures", "categorize_failures", "attribute_causes", "recategorize_failures"} | MIX | READ | TRUTH | COSTS
EXECUTED = EPISODE | FAILURES | REPLAY  # the execute arm's episodes are the held-out failures and the judge's truth
JUDGED = EPISODE | REPLAY
MATCHED = {"match_library", "verify_match", "scramble_library", "sample_library", "embed_library"} | JUDGED
SORTED = {"categorize_rubrics"} | MATCHED
MERGED = {"merge_library"} | SORTED
MINED = {"mine_candidates"} | MERGED
ROLLOUTS = {"collect_rollout", "grade_rollout"} | FAILURES | MINED | PAGES

# rules that follow from the others in every line of the table where they occur: which of them read a leaf themselves makes no difference
LATE = TABLES | MEASURED | FEEDBACK | TRUTH | COSTS | READ | {"failure_distribution", "compare_mixes"}

# pattern of a leaf -> rules that its change plans. The first pattern that matches counts.
EXPECTED: list[tuple[str, set[str]]] = [
    (r"name", TABLES | MEASURED | FEEDBACK | TRUTH | COSTS | READ | {"compare_mixes"}),
    (r"seed", ROLLOUTS | EXECUTED),
    (r"models\.agent\.(model|max_tokens|effort)", ROLLOUTS | EXECUTED),
    (r"models\.judge\.(model|max_tokens|effort)", JUDGED),
    (r"models\.miner\.(model|max_tokens|effort)", MINED | READ),
    (r"models\.second_classifier\.(model|max_tokens|effort)", {"recategorize_failures"} | READ | COSTS),
    (r"models\.classifier\.(model|max_tokens|effort)", {"categorize_failures", "build_truth_table"} | MIX | READ | SORTED),
    (r"models\.reviewer\.(model|max_tokens|effort)", {"attribute_causes"} | MIX | READ | TRUTH | MATCHED),
    (r"simulation\.agent\..*", ROLLOUTS | EXECUTED),
    (r"simulation\.judge\..*", JUDGED),
    (r"simulation\.miner\..*", MINED),
    (r"simulation\.classifier\..*", {"categorize_failures", "build_truth_table"} | MIX | READ | SORTED),
    (r"simulation\.second_classifier\..*", {"recategorize_failures"} | READ | COSTS),
    (r"simulation\.reviewer\..*", {"attribute_causes"} | MIX | READ | TRUTH | MATCHED),
    (
        r"sandbox\.final_network|evaluation\.final_start",
        {"run_final", "grade_episode", "attribute_causes"} | TABLES | MEASURED | FEEDBACK | COSTS | MIX | READ | TRUTH | PAGES,
    ),
    (r"sandbox\.network", ROLLOUTS | EXECUTED),  # the final run has its own
    (r"sandbox\..*", ROLLOUTS | EXECUTED),
    (r"collections\.pool\.tasks\.limit", {"prepare_task"} | ROLLOUTS),
    (r"collections\.pool\.tasks\.prepared", set()),  # no packaged task asks for work by hand
    (r"collections\.pool\.attempts", ROLLOUTS),
    (r"collections\.pool\.limits\..*", ROLLOUTS),
    (r"distributions\.pool_complete\.(target|min_confidence)", MIX | MATCHED),
    (r"distributions\.heldout_complete\.(target|min_confidence)", MIX),
    (r"libraries\.mined\.(miner|per_request|trace_chars|weights)", MINED),
    (r"libraries\.mined\.merge\..*", MERGED),
    (r"libraries\.matched\.target", MATCHED),
    (r"libraries\.matched\.(order|total)", MATCHED),
    (r"libraries\.scrambled\.source", {"scramble_library", "embed_library"} | JUDGED),
    (r"libraries\.random\.source|libraries\.random\.size_of", {"sample_library", "embed_library"} | JUDGED),
    (r"arms\.execute\..*", EXECUTED),
    (r"arms\.(notice|checks_only)\..*", EPISODE),
    (r"arms\.(matched|random|scrambled)\.((submit|escalate)\..*|preamble|installs|limits_factor)", EPISODE | AUDIT),
    (r"arms\.\w+\.((submit|escalate)\..*|preamble|installs|limits_factor)", EPISODE),  # the replayed judge knows no policy
    (r"arms\.task_only\.judge\.library", JUDGED),
    (r"arms\.\w+\..*", JUDGED),
    (r"evaluation\.split", {"prepare_task"} | EXECUTED),
    (r"evaluation\.repeats", EXECUTED),
    (r"evaluation\.limits\..*", EXECUTED),
    (r"statistics\..*", TABLES | MEASURED | FEEDBACK | TRUTH | COSTS | READ | {"compare_mixes"}),
    (r"labelling\.per_question", set()),  # nobody has labelled: no sheet is part of the study,
    (r"(budget|requests)\..*", set()),  # how is asked, and what it may cost, is no reason to ask again
    (r"holdouts", {"list_pool"} | PAGE),  # of this pool, the variants differ in its last tasks only
    (r"accepted_terms", set()),
    (r"evaluation\.(unreachable|subsets)", TABLES),
    (r"evaluation\.contrasts", TABLES | MEASURED | COSTS),
    (r"evaluation\.rejudged", REPLAY),
    (r"evaluation\.repeated_finals", {"repeat_final", "grade_repeated_final"} | TABLES),
    (r"evaluation\.inference\..*", TABLES),
    (r"evaluation\.suppress_below", MEASURED),
    (r"report\.title", PAGE),
    (r"encoder\.source", {"export_encoder"} | MERGED),
]

# of the default study; other rules are asked for by name, or by a setting that the default study leaves at nothing
PART = set().union(*(rules for _, rules in EXPECTED)) - {"repeat_final", "grade_repeated_final"}

# leaves that are flipped otherwise, or whose flip is another study altogether
ELSEWHERE = re.compile(
    r"extends|protocol|pathvars.*|models\.\w+\.provider|sandbox\.kind|collections\.pool\.sealed|collections\.pool\.tasks\.(benchmark|role)"
    r"|distributions\.\w+\.collections|libraries\.\w+\.(recipe|collections)|libraries\.matched\.source|arms\.\w+\.code_runs"
    r"|evaluation\.(arms|benchmark|shadows)|simulation\.agent\.mix|taxonomy|labelling\.sheets|arms\.\w+\.(checks|judge)$"
)
# leaves whose new value planning depends on names, given by hand
BY_NAME: dict[str, Any] = {
    "evaluation.split": "all",
    "evaluation.contrasts": [["matched", "notice"]],
    "evaluation.unreachable": ["orange-juice-brand"],
    "evaluation.subsets": {"without_one": ["orange-juice-brand"]},
    "evaluation.inference.also": ["bca"],
    "evaluation.inference.looks": [0.5, 1.0],
    "libraries.matched.target": "heldout_complete",
    "libraries.scrambled.source": "mined",
    "libraries.random.source": "matched",
    "libraries.random.size_of": "scrambled",
    "sandbox.packages": ["numpy", "pandas"],
    "sandbox.network": "none",
    "sandbox.final_network": "index",
    "evaluation.final_start": "as_left",
    "collections.pool.limits.tokens": 1_000_000,
    "evaluation.limits.tokens": 1_000_000,
    "arms.task_only.judge.library": "random",
    "arms.scrambled.judge.library": "matched",
    "arms.random.judge.library": "matched",
    "arms.matched.judge.library": "random",
    "collections.pool.tasks.limit": 3,
    "budget.job_requests": 100,
    "budget.pilot": True,
    "budget.study_usd": 50.0,
    "budget.study_requests": 10_000,
    "budget.deadline": "2030-01-01T00:00:00Z",
    "budget.replay_attempts": "never",
    **{f"models.{role}.effort": "low" for role in ("agent", "judge", "miner", "classifier", "second_classifier", "reviewer")},
    "requests.mode": "replay",
    "requests.cache": "1h",
    "requests.batch": ["miner"],
    "requests.reuse_from": {"mine/second": "mine/mined"},
    "requests.endpoints": {"judge": {"url": "http://127.0.0.1:8000/v1"}},
    "collections.pool.tasks.prepared": ["gapminder-africa"],
    "holdouts": "exact",
    "accepted_terms": ["dabench-non-commercial"],
    "libraries.mined.miner": "whole_rollout",
    "libraries.mined.per_request": 3,
    "libraries.mined.weights": ["error"],
    "libraries.matched.order": "weight",
    "libraries.matched.total": "largest_that_fills",
}


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted path and value of every leaf of the merged configuration."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else key)
    else:
        yield path, value


def flipped(path: str, value: Any) -> Any:
    """Another valid value."""
    if path in BY_NAME:
        return BY_NAME[path]
    others = {
        "retrieval": "similarity",
        "by": "tfidf",
        "keep": "first",
        "rounding": "carried",
        "similarity_floor": 0.2,
        "protected": {"output_format": 1},
        "floors": {"output_format": 0.1},
        "costs": {"runtime:time_limit": 2.0},
        "target": "trace",
        "sees": ["world_state"],
        "hold_on": ["crash"],
        "installs": "bare",
        "and_run": "final.py",
    }
    last = path.rsplit(".", 1)[-1]
    if last in others:
        return others[last]
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value * 0.9 if value else 0.1
        case str():
            return f"{value}_b" if last == "name" else f"{value} B"
    raise AssertionError(f"no other value is known for {path}={value!r}: add it to BY_NAME")


def merged_study() -> dict[str, Any]:
    here = Path.cwd()
    os.chdir(TOP)
    try:
        return loading.load_study(SMALL, "small").model_dump(mode="json")
    finally:
        os.chdir(here)


def overlay(path: str, value: Any) -> dict[str, Any]:
    keys = path.split(".")
    nested: Any = value
    for key in reversed(keys):
        nested = {key: nested}
    return {"extends": "config/small.yaml", **nested}


MADE_BY = {"match_library": "match", "scramble_library": "scramble", "sample_library": "sample"}


def read_by(config: dict[str, Any]) -> dict[tuple[str, ...], str]:
    """(rule, names) -> what the rule reads of a configuration, for every collection, library, distribution, arm and judge."""
    study = loading.load_study(config, "changed")
    names = [
        {"collection": "pool", "library": library, "distribution": distribution, "arm": arm, "judge": arm}
        for library in study.libraries
        for distribution in study.distributions
        for arm in study.evaluation.arms
    ]
    read = {}
    for rule, wildcards in itertools.product(slices.SLICES, names):
        if MADE_BY.get(rule, "") not in ("", study.libraries[wildcards["library"]].recipe):
            continue
        with contextlib.suppress(AssertionError, KeyError):  # not a mined library, not a judge
            read[rule, *wildcards.values()] = slices.settings_of(rule, study, wildcards)
    return read


def expected(path: str) -> tuple[str, set[str]]:
    for pattern, rules in EXPECTED:
        if re.fullmatch(pattern, path):
            return pattern, rules
    raise AssertionError(f"{path} is not in the table of expected reruns: say which rules its change plans")


STUDY = merged_study()
LEAVES = [(path, value) for path, value in leaves(STUDY) if not ELSEWHERE.fullmatch(path)]
GROUPS = {pattern: [leaf for leaf in LEAVES if expected(leaf[0])[0] == pattern] for pattern, _ in EXPECTED}


def with_leaf(path: str, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(STUDY)
    *place, last = path.split(".")
    functools.reduce(lambda inner, key: inner[key], place, changed)[last] = value
    return changed


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in EXPECTED])
def test_a_changed_leaf_plans_exactly_what_depends_on_it(finished: Workflow, tmp_path: Path, pattern: str) -> None:
    """The first leaf of each line of the table is flipped in a dry-run; the others must change what the same rules read."""
    (first, value), *others = GROUPS[pattern]
    before = read_by(STUDY)

    def rereads(path: str, old: Any) -> set[str]:
        after = read_by(with_leaf(path, flipped(path, old)))
        return {key[0] for key in before if before[key] != after.get(key)} & PART

    for path, old in others:
        assert rereads(path, old) - LATE == rereads(first, value) - LATE, path
        assert rereads(path, old) <= expected(path)[1], path
    changed = tmp_path / "changed.yaml"
    changed.write_text(yaml.safe_dump(overlay(first, flipped(first, value))))
    assert set(finished.planned("--configfile", str(changed))) == expected(first)[1]


def test_reordered_keys_equal_overlays_and_numbers_as_text_plan_nothing(finished: Workflow, tmp_path: Path) -> None:
    study = merged_study()
    turned = {
        key: dict(reversed(list(value.items()))) if isinstance(value, dict) else value for key, value in reversed(list(study.items()))
    }
    same = tmp_path / "same.yaml"
    same.write_text(yaml.safe_dump(turned, sort_keys=False))
    assert finished.planned("--configfile", str(same)) == {}
    assert finished.planned(*CONFIG, "--config", "evaluation={repeats: 1, split: development}", "seed=20261129") == {}
    assert finished.planned(*CONFIG, "--config", 'evaluation={repeats: "1"}', 'statistics={draws: "4000"}') == {}


def test_touching_every_file_plans_nothing(finished: Workflow, copy_of: Callable[[Workflow], Workflow]) -> None:
    clone = copy_of(finished)  # a clone with results/ and .snakemake/ is itself one of the cases
    assert clone.planned(*CONFIG) == {}
    for name in ("Snakefile", "rules", "scripts", "config", "profiles", "resources"):
        place = clone.folder / name
        for path in [place, *place.rglob("*")] if place.is_dir() else [place]:
            path.touch()
    assert clone.planned(*CONFIG) == {}


MODULES = sorted((TOP / "scripts").rglob("*.py"))


def test_a_comment_or_docstring_in_any_module_plans_nothing(finished: Workflow, copy_of: Callable[[Workflow], Workflow]) -> None:
    clone = copy_of(finished)
    for module in (clone.folder / "scripts").rglob("*.py"):
        module.write_text(module.read_text() + "\n# a remark\n")
    assert clone.planned(*CONFIG) == {}


@pytest.mark.parametrize(
    ("module", "rules"),
    [
        ("grading/dacode/tables.py", set()),  # a grading job reaches no grader but its own
        ("grading/packaged.py", {"grade_rollout", "grade_episode", "attribute_causes"} | MIX | READ | TRUTH | MINED | PAGES),
        ("tasks/loaders/dabench.py", set()),  # of a benchmark that this study does not use
        ("libraries/merging.py", MERGED),
        ("libraries/vectors.py", MERGED | JUDGED),
        ("libraries/exposure.py", AUDIT | TABLES),
        ("libraries/matching.py", MATCHED | {"failure_distribution"} - {"failure_distribution"}),
        ("judge/judging.py", JUDGED),
        ("report/figures.py", FIGURES),
        ("providers/simulated/judge/__init__.py", JUDGED),
        ("providers/simulated/agent/__init__.py", ROLLOUTS | EXECUTED),
        ("providers/simulated/miner/__init__.py", MINED),
    ],
)
def test_a_line_of_logic_plans_the_rules_that_reach_it_and_what_follows(
    finished: Workflow, copy_of: Callable[[Workflow], Workflow], module: str, rules: set[str]
) -> None:
    clone = copy_of(finished)
    path = clone.folder / "scripts" / "rubrics_gym" / module
    path.write_text(path.read_text() + "\n_ANOTHER_LINE = 1\n")
    assert set(clone.planned(*CONFIG)) == rules


def test_an_edited_judge_does_not_plan_episodes_without_one(finished: Workflow, copy_of: Callable[[Workflow], Workflow]) -> None:
    clone = copy_of(finished)
    path = clone.folder / "scripts" / "rubrics_gym" / "judge" / "judging.py"
    path.write_text(path.read_text() + "\n_ANOTHER_LINE = 1\n")
    plan = clone.planned(*CONFIG)
    assert plan["run_episode"] == 4 * len(loading_split("development"))  # task_only, scrambled, random, matched


def loading_split(name: str) -> tuple[str, ...]:
    from rubrics_gym.tasks.catalog import load_benchmark

    return load_benchmark("packaged").splits[name]


@pytest.mark.parametrize(
    ("prompt", "rules"),
    [
        ("agent.yaml", ROLLOUTS | EXECUTED),
        ("feedback.yaml", ROLLOUTS | EXECUTED),
        ("judge.yaml", JUDGED),
        ("miners/weighted.yaml", MINED),
        ("classifier.yaml", {"categorize_failures", "recategorize_failures", "build_truth_table"} | MIX | READ | SORTED),
        ("reviewer.yaml", {"attribute_causes"} | MIX | READ | TRUTH | MATCHED),
    ],
)
def test_a_changed_prompt_plans_the_role_that_reads_it(
    finished: Workflow, copy_of: Callable[[Workflow], Workflow], prompt: str, rules: set[str]
) -> None:
    clone = copy_of(finished)
    path = clone.folder / "resources" / "prompts" / prompt
    path.write_text(path.read_text().replace("version: ", "version: new-", 1))
    assert set(clone.planned(*CONFIG)) == rules | COSTS


def test_a_sealed_collection_is_never_planned(finished: Workflow, copy_of: Callable[[Workflow], Workflow], tmp_path: Path) -> None:
    clone = copy_of(finished)
    sealed = clone.folder / "config" / "sealed.yaml"
    sealed.write_text(yaml.safe_dump({"extends": "config/small.yaml", "seed": 1, "collections": {"pool": {"sealed": True}}}))
    refused = clone.dry_run("--configfile", "config/sealed.yaml")
    assert refused.returncode != 0
    assert "make seal COLLECTION=pool" in refused.stdout + refused.stderr
    (clone.folder / "results" / "rollouts" / "pool" / "sealed.json").write_text("{}")
    assert "collect_rollout" not in clone.planned("--configfile", "config/sealed.yaml")
