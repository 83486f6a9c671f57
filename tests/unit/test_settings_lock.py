"""One workflow at a time; a lock whose holder was killed is free at once."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rubrics_gym.settings import lock

HOLDER = "import sys, time; sys.path.insert(0, {scripts!r}); from rubrics_gym.settings import lock; h = lock.hold({folder!r}); print('held', flush=True); time.sleep(60)"
SCRIPTS = str(Path(__file__).parents[2] / "scripts")


def test_the_second_workflow_is_refused_with_the_holder_and_a_killed_holder_leaves_nothing(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER.format(scripts=SCRIPTS, folder=str(tmp_path))], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "held\n"
    with pytest.raises(lock.FolderInUse, match=f'"pid": {child.pid}'):
        lock.hold(tmp_path)
    child.send_signal(signal.SIGKILL)
    child.wait()
    for _ in range(50):
        try:
            lock.hold(tmp_path).close()
            break
        except lock.FolderInUse:
            time.sleep(0.05)
    else:
        pytest.fail("the lock of a killed process was not released")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(lock.FolderInUse, match="cannot be written"):
        lock.hold(tmp_path / "file" / "results")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
