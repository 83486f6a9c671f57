"""A frozen protocol is run as it is: what differs from what was frozen is named before the first job."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from rubrics_gym.settings.loading import load_study, read_file
from rubrics_gym.studies.protocols import MANIFEST, PAID, ProtocolChanged, check_lock, read_lock, read_manifest, unpack_store
from tests.workflow.conftest import TOP, Workflow, copy_tree

PROTOCOL = ("--configfile", "config/protocols/small/config.yaml")


@pytest.fixture
def frozen(tmp_path: Path) -> Workflow:
    workflow = copy_tree(tmp_path)
    (tmp_path / "envs").mkdir()
    for path in (TOP / "envs").glob("*.txt"):
        (tmp_path / "envs" / path.name).write_bytes(path.read_bytes())
    return workflow


def refused(workflow: Workflow, *arguments: str) -> str:
    """The one paragraph with which a dry-run of the protocol is refused."""
    run = workflow.snakemake("-n", *PROTOCOL, *arguments)
    printed = run.stdout + run.stderr
    assert run.returncode != 0, printed
    assert "Traceback" not in printed
    return printed


def test_a_fresh_clone_plans_the_frozen_jobs_and_the_verification(frozen: Workflow) -> None:
    run = frozen.snakemake("-n", *PROTOCOL)
    assert run.returncode == 0, run.stderr
    assert "verify_protocol" in run.stdout + run.stderr


def test_a_changed_prompt_is_refused_with_what_changed(frozen: Workflow) -> None:
    prompt = frozen.folder / "resources" / "prompts" / "judge.yaml"
    prompt.write_text(prompt.read_text().replace("version: judge/", "version: judge/x", 1))
    printed = refused(frozen)
    assert "resources/prompts/judge.yaml is not what was frozen" in printed
    assert "version: judge/" in printed


def test_a_changed_price_is_refused(frozen: Workflow) -> None:
    prices = frozen.folder / "resources" / "prices.yaml"
    prices.write_text(prices.read_text() + "\n# dearer\n")
    assert "resources/prices.yaml is not what was frozen" in refused(frozen)


def test_another_setting_is_refused_by_name(frozen: Workflow) -> None:
    assert "`seed` is 1 and was frozen as 20261129" in refused(frozen, "--config", "seed=1")


def test_a_part_of_a_protocol_can_be_asked_for(frozen: Workflow) -> None:
    """Then nothing is verified, and the run says nothing of it."""
    run = frozen.snakemake("results/protocols/small/tables/pool.csv", *PROTOCOL, "--cores", "1")
    printed = run.stdout + run.stderr
    assert run.returncode == 0, printed
    assert "Traceback" not in printed and "artefacts as frozen" not in printed


def test_other_code_is_reported_and_refused_only_under_strict_code(frozen: Workflow, monkeypatch: pytest.MonkeyPatch) -> None:
    module = frozen.folder / "scripts" / "rubrics_gym" / "failures" / "detection.py"
    module.write_text(module.read_text() + "\n_ANOTHER = 1\n")
    assert frozen.snakemake("-n", *PROTOCOL).returncode == 0
    printed = refused(frozen, "--config", "protocol={strict_code: true}")
    assert "the code of" in printed and "rubrics_gym.failures.detection" in printed


def test_the_shipped_configuration_is_what_was_frozen() -> None:
    folder = TOP / "config" / "protocols" / "small"
    study = load_study(read_file(folder / "config.yaml"), "config.yaml")
    check_lock(folder, study, TOP, strict_code=False)
    assert read_lock(folder).planned["run_episode"] == len(study.evaluation.arms) * 2


def test_one_changed_byte_of_a_response_is_refused_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    source = TOP / "config" / "protocols" / "small"
    (folder / MANIFEST).write_bytes((source / MANIFEST).read_bytes())
    raw = bytearray(gzip.decompress((source / PAID).read_bytes()))
    name = next(name for name in read_manifest(folder).store if name.startswith("responses/"))
    at = raw.index(f"store/{name}".encode()) + 512 + 40
    raw[at] ^= 1
    (folder / PAID).write_bytes(gzip.compress(bytes(raw), mtime=0))
    with pytest.raises(ProtocolChanged, match=name):
        unpack_store(folder, tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_unpacking_puts_back_exactly_what_was_frozen(tmp_path: Path) -> None:
    folder = TOP / "config" / "protocols" / "small"
    unpack_store(folder, tmp_path / "store")
    names = {path.relative_to(tmp_path / "store").as_posix() for path in (tmp_path / "store").rglob("*") if path.is_file()}
    assert names - {".unpacked"} == set(read_manifest(folder).store)
    unpack_store(folder, tmp_path / "store")  # nothing to do
