"""Run a command from a snapshot of the work folder, in a new sandbox under the limits of its episode."""

from __future__ import annotations

from pathlib import Path

from rubrics_gym.harness.execution import command_event, silently
from rubrics_gym.harness.sandbox import DiskReserve, Sandbox, SandboxDied
from rubrics_gym.harness.scratch import scratch_folder
from rubrics_gym.harness.snapshots import restore
from rubrics_gym.records.trajectory import CommandEvent, SnapshotEvent
from rubrics_gym.settings.study import Limits, SandboxPhase


def run_shadow(
    snapshot: SnapshotEvent,
    contents: dict[str, bytes],
    source: str,
    data: Path,
    settings: SandboxPhase,
    limits: Limits,
    wheels: Path | None = None,
) -> CommandEvent | None:
    """What comes of the command in the state of its snapshot, as the record of an executed command; None when the sandbox dies.

    `contents` is the archive of snapshots, `source` its name for messages, `data` the unpacked public bundle. The work folder is made for
    this run and removed after it: nothing flows back.
    """
    with scratch_folder("rubrics-gym-shadow-") as folder:
        work = folder / "work"
        work.mkdir()
        restore(contents, snapshot.sha256, work, source)
        try:
            with Sandbox(settings, limits, work, data, wheels) as sandbox:
                result = sandbox.run("\n".join([*map(silently, snapshot.state), snapshot.text]), limits.command_s, None)
        except (SandboxDied, DiskReserve):
            return None
    return command_event(snapshot.step, snapshot.index, snapshot.text, result, snapshot.hides_failure)
