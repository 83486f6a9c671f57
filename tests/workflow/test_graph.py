"""Properties of the whole graph of jobs."""

from __future__ import annotations

import re

import pytest

from tests.workflow.conftest import TOP, Workflow

RULES = {path.stem: path.read_text() for path in (TOP / "rules").glob("*.smk")}


def blocks() -> dict[str, str]:
    """Rule name -> text of the rule."""
    found = {}
    for text in RULES.values():
        for block in re.split(r"(?m)^rule ", text)[1:]:
            name = block.split(":", 1)[0]
            found[name] = re.split(r"(?m)^(?=def )", block)[0]
    return found


def part(block: str, directive: str) -> str:
    match = re.search(rf"(?ms)^    {directive}:\n(.*?)(?=^    [a-z_]+:|\Z)", block)
    return match.group(1) if match else ""


def test_rule_script_log_and_benchmark_share_one_name() -> None:
    for name, block in blocks().items():
        assert f'"../scripts/{name}.py"' in part(block, "script"), name
        assert f'"<logs>/{name}' in part(block, "log"), name
        assert f'"<benchmarks>/{name}' in part(block, "benchmark"), name
        assert f'settings=settings("{name}")' in part(block, "params"), name
        assert re.search(rf'code=code\(\s*"{name}"', part(block, "params")), name
        assert part(block, "message"), name
        assert (TOP / "scripts" / f"{name}.py").is_file(), name


def test_every_script_belongs_to_a_rule_or_a_make_target() -> None:
    makefile = (TOP / "Makefile").read_text()
    for script in (TOP / "scripts").glob("*.py"):
        assert script.stem in blocks() or f"scripts/{script.name}" in makefile, script


def test_no_folder_that_a_rule_makes_holds_what_another_makes() -> None:
    """Snakemake removes a folder before it makes it anew, whatever lies in it."""
    outputs = [path for block in blocks().values() for path in re.findall(r'"(<results>/[^"]+)"', part(block, "output"))]
    folders = [path for block in blocks().values() for path in re.findall(r'directory\("([^"]+)"\)', part(block, "output"))]
    assert len(folders) > 3
    assert [(folder, path) for folder in folders for path in outputs if path.startswith(f"{folder}/")] == []


GRADERS = {"grade_rollout", "grade_episode", "grade_repeated_final", "grade_self_test", "grade_acceptance"}


def test_only_graders_open_private_bundles() -> None:
    readers = {name for name, block in blocks().items() if "private" in part(block, "input")}
    assert readers == GRADERS
    for script in (TOP / "scripts").glob("*.py"):
        if script.stem not in GRADERS | {"prepare_task"}:
            assert ".private" not in script.read_text(), script


def test_no_job_but_grading_reads_a_private_bundle(finished: Workflow) -> None:
    """Over the jobs of a whole study, as Snakemake itself lists them, not over the text of the rules."""
    listed = finished.snakemake("--detailed-summary", "results/dashboard.html", "--configfile", "config/small.yaml")
    assert listed.returncode == 0, listed.stderr
    header, *rows = [line.split("\t") for line in listed.stdout.splitlines()]
    rule, inputs, output = (header.index(name) for name in ("rule", "input-file(s)", "output_file"))
    readers = {row[rule] for row in rows if "private.tar.gz" in row[inputs]}
    assert readers == {"grade_rollout", "grade_episode"}
    assert {row[rule] for row in rows if "private.tar.gz" in row[output]} == {"prepare_task"}
    assert len(rows) > 100


def test_tables_of_this_repository_that_graders_read_are_inputs() -> None:
    """An edited cut-off must grade again: a grader reads more than the private bundle."""
    for path in (TOP / "resources" / "grading").iterdir():
        assert any(f'"resources/grading/{path.name}"' in text for text in RULES.values()), path
    for name in GRADERS:
        assert re.search(r"unpack\((grader_inputs|grading_tables)\)", part(blocks()[name], "input")), name


@pytest.mark.isolation
def test_only_the_truth_table_reads_plans() -> None:
    readers = {name for name, block in blocks().items() if "plan" in part(block, "input")}
    assert readers == {"build_truth_table"}


def test_rules_that_give_types_read_the_table_of_interfaces_too() -> None:
    """`load_rules` reads both files: a rule that names one only would not notice a change of the other."""
    readers = {name: part(block, "input") for name, block in blocks().items() if "failure_types.yaml" in part(block, "input")}
    assert "detect_failures" in readers
    assert all("api_changes.tsv" in text for text in readers.values()), readers


def test_scripts_read_no_configuration_but_their_settings() -> None:
    for script in (TOP / "scripts").glob("*.py"):
        text = script.read_text()
        assert "snakemake.config" not in text, script
        if script.stem in blocks():
            assert "with job(snakemake, " in text, script


def test_profiles_repeat_what_exact_reruns_need() -> None:
    import yaml

    for profile in (TOP / "profiles").glob("*/config.yaml"):
        settings = yaml.safe_load(profile.read_text())
        assert set(settings["rerun-triggers"]) == {"mtime", "params", "input", "software-env"}, profile
        assert settings["max-checksum-file-size"] >= 10**9, profile
        assert settings["rerun-incomplete"] and settings["nolock"] and settings["keep-going"], profile
        assert "retries" not in settings and "quiet" not in settings, profile
