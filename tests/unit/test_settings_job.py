"""The frame of rule scripts: an error removes what the job left, and is told in one paragraph."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace

import pytest

from rubrics_gym.settings import job as frame
from rubrics_gym.settings.rules import Nothing


def test_an_error_removes_files_and_folders_and_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(frame, "die_with_parent", lambda: None)
    folder, file, log = tmp_path / "figures", tmp_path / "table.csv", tmp_path / "job.log"
    snakemake = SimpleNamespace(
        rule="draw_figures", wildcards={}, log=[str(log)], output=[str(folder), str(file)], params=SimpleNamespace(settings="{}")
    )
    with pytest.raises(SystemExit), frame.job(snakemake, Nothing):
        folder.mkdir()
        (folder / "half.svg").write_text("<svg")
        file.write_text("half")
        raise ValueError("no such series")
    assert not folder.exists() and not file.exists()
    assert capsys.readouterr().err == f"draw_figures: no such series (log: {log})\n"
    assert "Traceback" in log.read_text()


def test_what_the_library_says_is_in_the_rules_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "die_with_parent", lambda: None)
    path = tmp_path / "job.log"
    snakemake = SimpleNamespace(rule="mine", wildcards={}, log=[str(path)], output=[], params=SimpleNamespace(settings="{}"))
    with frame.job(snakemake, Nothing) as (_, log):
        log.info("three rollouts")
        logging.getLogger("rubrics_gym.models.live").info("trying again in 2 s")
    assert "three rollouts" in path.read_text() and "trying again in 2 s" in path.read_text()
