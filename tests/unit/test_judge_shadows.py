"""Shadow runs: judged commands run afterwards from snapshots, with logged chances; what cannot be known stays unknown."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.attempt_records import attempt, command, verdict

from rubrics_gym.failures.types import load_rules
from rubrics_gym.harness.shadows import run_shadow
from rubrics_gym.harness.snapshots import SnapshotMissing, Snapshots, read_contents, restore
from rubrics_gym.judge.shadows import BACKGROUND, INFRASTRUCTURE, NO_SNAPSHOT, judged_commands, shadow_runs
from rubrics_gym.records.shadows import ShadowState
from rubrics_gym.records.trajectory import CommandEvent, CommandKind, Event, Route, SnapshotEvent, VerdictEvent
from rubrics_gym.settings.study import Limits, Shadows
from rubrics_gym.settings.study import Sandbox as SandboxSettings

RULES = load_rules(Path(__file__).parents[2] / "resources" / "failure_types.yaml")
ALL = Shadows(flagged=1.0, clean=1.0, repeat=0.0)


def predicted(step: int, index: int, text: str, flagged: bool, snapshot: bool = True) -> list[Event]:
    taken = [SnapshotEvent(step=step, index=index, text=text, sha256=f"{step}{index}")] if snapshot else []
    judged = VerdictEvent(step=step, index=index, command=text, verdict=verdict(flagged), shown="")
    return [judged, *taken, command(step, index, text, route=Route.PREDICTED)]


def outcome(snapshot: SnapshotEvent) -> CommandEvent:
    return command(snapshot.step, snapshot.index, snapshot.text, exit_code=1, output_tail="ModuleNotFoundError: No module named 'x'")


def many(count: int) -> list[Event]:
    events = attempt()[:1]
    for step in range(1, count + 1):
        events += predicted(step, 0, "python a.py", flagged=step % 2 == 0)
    return events


def test_every_judged_command_is_in_the_list_with_its_chance() -> None:
    settings = Shadows(flagged=1.0, clean=0.3, repeat=0.0)
    runs = shadow_runs(many(400), settings, 7, 10.0, outcome, RULES)
    assert len(runs) == 400
    flagged, clean = ([run for run in runs if run.verdict.flagged is flag] for flag in (True, False))
    assert all(run.state is ShadowState.RAN and run.probability == 1.0 for run in flagged)
    ran = [run for run in clean if run.state is ShadowState.RAN]
    assert 35 < len(ran) < 85 and {run.probability for run in clean} == {0.3}
    assert all((run.draw < 0.3) == (run.state is ShadowState.RAN) for run in clean)
    assert runs == shadow_runs(many(400), settings, 7, 10.0, outcome, RULES)  # drawn from the seed
    assert all(run.failed and run.failure_type == "missing_package" for run in ran)


def test_a_run_that_was_not_made_has_no_outcome() -> None:
    (run,) = shadow_runs(many(1), Shadows(flagged=0, clean=0, repeat=0), 1, 10.0, outcome, RULES)
    assert (run.state, run.exit_code, run.failed, run.timed_out) == (ShadowState.NOT_SAMPLED, None, None, None)


def test_what_cannot_be_known_is_unknown() -> None:
    lost = shadow_runs(many(1), ALL, 1, 10.0, lambda _: None, RULES)
    assert [(run.state, run.reason, run.failed) for run in lost] == [(ShadowState.UNKNOWN, INFRASTRUCTURE, None)]
    unkept = [*attempt()[:1], *predicted(1, 0, "python a.py", True, snapshot=False)]
    assert shadow_runs(unkept, ALL, 1, 10.0, outcome, RULES)[0].reason == NO_SNAPSHOT
    served = [
        *attempt()[:1],
        *predicted(1, 0, "python serve.py &", True),
        *predicted(1, 1, "python client.py", True),
        *predicted(2, 0, "python a.py", True),
    ]
    states = [(run.state, run.reason) for run in shadow_runs(served, ALL, 1, 10.0, outcome, RULES)]
    assert states == [(ShadowState.RAN, ""), (ShadowState.UNKNOWN, BACKGROUND), (ShadowState.RAN, "")]


def test_commands_that_did_not_run_before_are_counted() -> None:
    events = [*many(3), command(4, 0, "python c.py"), *predicted(5, 0, "python a.py", True)]
    assert [judged.unexecuted_before for judged in judged_commands(events)] == [0, 1, 2, 3]


def test_repeats_are_told_apart() -> None:
    runs = shadow_runs(many(50), Shadows(flagged=1, clean=1, repeat=0.5), 3, 10.0, outcome, RULES)
    repeats = [run for run in runs if run.repeat]
    assert 10 < len(repeats) < 40 and len(runs) == 50 + len(repeats)
    assert {(run.step, run.index) for run in repeats} <= {(run.step, run.index) for run in runs if not run.repeat}


def test_snapshots_hold_each_content_once_and_come_back_as_they_were(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "a.py").write_text("x = 1")
    (work / "sub" / "b.py").write_text("x = 1")
    (work / "data").mkdir()
    (work / "data" / "big.csv").write_text("not kept")
    (work / "link").symlink_to("/etc/passwd")
    snapshots = Snapshots(work, tmp_path / "kept")
    first = snapshots.take()
    (work / "a.py").write_text("x = 2, changed")
    second = snapshots.take()
    (work / "a.py").unlink()
    third = snapshots.take()
    assert first and second and third and len({first, second, third}) == 3
    snapshots.write(tmp_path / "snapshots.tar.gz")
    contents = read_contents(tmp_path / "snapshots.tar.gz")
    assert sum(name.startswith("blobs/") for name in contents) == 2
    for taken, expected in (
        (first, {"a.py": "x = 1", "sub/b.py": "x = 1"}),
        (second, {"a.py": "x = 2, changed", "sub/b.py": "x = 1"}),
        (third, {"sub/b.py": "x = 1"}),
    ):
        folder = tmp_path / taken[:8]
        folder.mkdir()
        restore(contents, taken, folder, "s")
        assert {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()} == expected
    with pytest.raises(SnapshotMissing, match=r"s: it does not hold the snapshot ffff"):
        restore(contents, "f" * 64, tmp_path / "none", "s")


def test_snapshots_stop_at_their_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rubrics_gym.harness.snapshots.MAX_BYTES", 10)
    work = tmp_path / "work"
    work.mkdir()
    (work / "large.bin").write_bytes(b"x" * 11)
    assert Snapshots(work, tmp_path / "kept").take() is None


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_a_shadow_runs_in_the_state_of_its_snapshot_and_leaves_nothing(tmp_path: Path) -> None:
    work, data = tmp_path / "work", tmp_path / "data"
    work.mkdir()
    data.mkdir()
    (work / "a.py").write_text("import os; print(open('b.txt').read(), os.environ['WORD']); open('made.txt', 'w').write('x')")
    (work / "b.txt").write_text("before")
    snapshots = Snapshots(work, tmp_path / "kept")
    taken = snapshots.take()
    (work / "b.txt").write_text("after")
    snapshots.write(tmp_path / "snapshots.tar.gz")
    for path in (tmp_path, data):
        path.chmod(0o755)
    event = SnapshotEvent(step=1, index=0, text="python a.py", state=("export WORD=said",), sha256=taken or "")
    given: dict[str, Any] = {"contents": read_contents(tmp_path / "snapshots.tar.gz"), "source": "s", "data": data}
    ran = run_shadow(event, **given, settings=SandboxSettings(packages=()), limits=Limits(command_s=20))
    assert ran is not None and (ran.exit_code, ran.output_tail.strip(), ran.kind) == (0, "before said", CommandKind.CODE_RUN)
    assert not (work / "made.txt").exists() and (work / "b.txt").read_text() == "after"
    slow = event.model_copy(update={"text": "sleep 60"})
    stopped = run_shadow(slow, **given, settings=SandboxSettings(packages=()), limits=Limits(command_s=1))
    assert stopped is not None and stopped.timed_out  # under the same cap as in the episode
