"""What comes before a command: its control group, its limits and the bond to the harness, or no command at all."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rubrics_gym.harness.sandbox import Sandbox, SandboxDied, SandboxRefused
from rubrics_gym.harness.sandbox.cgroup import ControlGroup, end_abandoned, make_control_group
from rubrics_gym.harness.sandbox.entry import ENTERED, entry_words
from rubrics_gym.harness.sandbox.processes import end_all, started
from rubrics_gym.harness.scratch import scratch_folder
from rubrics_gym.settings.study import Limits, SandboxKind
from rubrics_gym.settings.study import Sandbox as Settings

LIMITS = Limits(memory_mb=2000, processes=48, file_mb=5)
NAMESPACE = Path("/proc/self/ns/pid").readlink().name.strip("pid:[]")


@contextlib.contextmanager
def opened(folder: Path, kind: SandboxKind) -> Iterator[Sandbox]:
    folder.mkdir()
    (folder / "data").mkdir()
    try:
        with Sandbox(Settings(kind=kind), LIMITS, folder / "work", folder / "data") as sandbox:
            yield sandbox
    except SandboxRefused as refused:
        pytest.skip(str(refused))


def enter(words: list[str], command: list[str]) -> tuple[str, str]:
    """What the steps reported, and what was printed."""
    reading, writing = os.pipe()
    done = subprocess.run([*words, *command], stdin=writing, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    os.close(writing)
    with os.fdopen(reading) as report:
        return report.read(), done.stdout


def test_all_steps_are_taken_before_the_command(tmp_path: Path) -> None:
    (tmp_path / "a group").mkdir()
    entrance = tmp_path / "a group" / "tasks"
    report, printed = enter(
        entry_words(os.getpid(), [entrance], LIMITS, None), ["bash", "-c", "cat; ulimit -v; ulimit -u; ulimit -n; ulimit -c"]
    )
    assert f'"{ENTERED}"' in report
    assert printed.split() == [str(2000 * 1024), "48", str(LIMITS.open_files), "0"]  # and nothing to read on its standard input
    assert entrance.read_text() == "0\n"


@pytest.mark.parametrize("missing", ["parent", "group"])
def test_a_step_that_fails_ends_it_all(tmp_path: Path, missing: str) -> None:
    parent = 1 if missing == "parent" else os.getpid()
    entrances = [tmp_path / "gone" / "cgroup.procs"] if missing == "group" else []
    report, _ = enter(entry_words(parent, entrances, None, None), ["touch", str(tmp_path / "ran")])
    assert report == ""
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("kind", [SandboxKind.BUBBLEWRAP, SandboxKind.UNSAFE])
def test_a_command_that_cannot_enter_its_group_is_a_loss_and_does_not_run(tmp_path: Path, kind: SandboxKind) -> None:
    with opened(tmp_path / "sandbox", kind) as sandbox:
        group, sandbox._group = sandbox._group, ControlGroup({"memory": tmp_path / "removed"})
        with pytest.raises(SandboxDied, match=r"not started, because its limits do not hold.*removed"):
            sandbox.run("touch ran", 20)
        sandbox._group = group
        assert not (sandbox.work / "ran").exists()


def test_a_work_folder_that_is_gone_is_a_loss(tmp_path: Path) -> None:
    with opened(tmp_path / "sandbox", SandboxKind.UNSAFE) as sandbox:
        (sandbox.work / "data").unlink()
        sandbox.work.rmdir()
        with pytest.raises(SandboxDied, match="not started"):
            sandbox.run("true", 20)


# ---------------------------------------------------------------- whose a control group is


def test_only_groups_of_dead_owners_are_removed(tmp_path: Path) -> None:
    me, since = os.getpid(), started(os.getpid())
    kept = {f"rubrics-gym-{NAMESPACE}-{me}-{since}-0", f"rubrics-gym-1{NAMESPACE}-{me}-1-0", "rubrics-gym-of-somebody"}
    for name in [*kept, f"rubrics-gym-{NAMESPACE}-{me}-1-0"]:  # the last by an earlier process of the same id
        (tmp_path / name).mkdir()
    end_abandoned(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == kept


def group() -> ControlGroup:
    made = make_control_group(LIMITS)
    if made is None:
        pytest.skip("no control group can be made here")
    return made


IN_A_PROCESS_OF_ITS_OWN = """
import os, subprocess
from rubrics_gym.harness.sandbox.cgroup import make_control_group
from rubrics_gym.settings.study import Limits
group = make_control_group(Limits())
"""


def other_process(program: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS_OF_ITS_OWN + program], env=environment, capture_output=True, text=True, timeout=120
    )
    assert not done.stderr
    return done.stdout


def test_a_group_between_two_commands_is_safe_from_other_sandboxes(tmp_path: Path) -> None:
    group().remove()
    with opened(tmp_path / "sandbox", SandboxKind.UNSAFE) as sandbox:
        assert sandbox.run("true", 20).exit_code == 0
        other_process("group.remove()")
        result = sandbox.run("cat /proc/self/cgroup", 20)
    assert result.output.text.count(f"rubrics-gym-{NAMESPACE}-{os.getpid()}-") >= 1


def test_what_a_killed_harness_left_in_its_group_is_ended_by_the_next() -> None:
    group().remove()
    program = """
sleep = subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
for entrance in group.entrances():
    entrance.with_name("cgroup.procs").write_text(str(sleep.pid))
print(sleep.pid, *(entrance.parent for entrance in group.entrances()), flush=True)
os._exit(0)
"""
    pid, *folders = other_process(program).split()
    assert started(int(pid)) is not None
    group().remove()
    assert not any(Path(folder).exists() for folder in folders)
    assert started(int(pid)) is None or ") Z " in Path("/proc", pid, "stat").read_text()


def test_processes_are_ended_until_there_are_none() -> None:
    with subprocess.Popen(["sleep", "600"]) as sleep:
        assert end_all(lambda: {sleep.pid} if sleep.poll() is None else set(), 20) is None


# ---------------------------------------------------------------- shared memory


@pytest.mark.skipif(os.getuid() != 0, reason="an ordinary user's programs cannot be told apart")
def test_shared_memory_of_another_sandbox_stays(tmp_path: Path) -> None:
    """Two sandboxes without namespaces at work at a time: each clears away what its own command left, and nothing else."""
    segment = Path(f"/dev/shm/test-{os.getpid()}")
    kept: list[str] = []

    def work() -> None:
        with opened(tmp_path / "first", SandboxKind.UNSAFE) as first:
            kept.append(
                first.run(
                    f"touch {tmp_path}/ready; until [ -e {tmp_path}/begun ]; do sleep 0.01; done; echo 1 > {segment}; until [ -e {tmp_path}/over ]; do sleep 0.01; done; cat {segment}",
                    60,
                ).output.text
            )

    worker = threading.Thread(target=work)
    worker.start()
    while worker.is_alive() and not (tmp_path / "ready").exists():  # or it would be taken for an orphan of the second command
        time.sleep(0.01)
    with opened(tmp_path / "second", SandboxKind.UNSAFE) as second:
        second.run(f"touch {tmp_path}/begun; until [ -e {segment} ]; do sleep 0.01; done", 60)
        (tmp_path / "over").touch()
    worker.join()
    assert kept == ["1\n"]
    assert not segment.exists()


# ---------------------------------------------------------------- folders


def test_a_folder_is_removed_however_deep_it_is_nested(tmp_path: Path) -> None:
    with scratch_folder("rubrics-gym-test-") as folder:
        (folder / "link").symlink_to(tmp_path)
        here = os.open(folder, os.O_RDONLY)
        for _ in range(1500):  # deeper than Python's recursion, and than a path can name
            os.mkdir("deep", dir_fd=here)
            below = os.open("deep", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)
    assert not folder.exists()
    assert tmp_path.exists()
