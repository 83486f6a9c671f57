"""Around an episode: the places it needs, and what it leaves in the folder of its attempt."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Self

from rubrics_gym.harness.artifacts import write_artifacts
from rubrics_gym.harness.episode import Asks, Attempt, run_episode, start_event
from rubrics_gym.harness.execution import Judge
from rubrics_gym.harness.recorder import Recorder, read_trajectory
from rubrics_gym.harness.sandbox import Sandbox
from rubrics_gym.harness.scratch import scratch_folder
from rubrics_gym.harness.snapshots import Snapshots
from rubrics_gym.models.prompts import Prompt
from rubrics_gym.records.archives import write_archive
from rubrics_gym.records.files import append_json_line, iter_json_lines, write_json_lines
from rubrics_gym.records.tasks import Task
from rubrics_gym.records.trajectory import CommandEvent, EndEvent, Event, FileEvent, MessageEvent, Route, SnapshotEvent
from rubrics_gym.settings.places import wheel_folder
from rubrics_gym.settings.study import SandboxPhase
from rubrics_gym.store.serving import Closed
from rubrics_gym.tasks.unpacking import unpack_public

SNAPSHOTS = "snapshots.tar.gz"
PLAN = "plan.jsonl"  # what a simulated agent planted; empty for a live one
FILES = {"trajectory.jsonl": "trajectory", "artifacts.tar.gz": "artifacts", PLAN: "plan"}  # of an attempt -> the rule's name for it


def agent_seed(seed: int, *parts: str) -> int:
    """The agent's seed of one attempt: a function of the study's seed and the attempt's place, in [0, 2^31)."""
    return int.from_bytes(hashlib.sha256("/".join([str(seed), *parts]).encode()).digest()[:4]) >> 1


def open_plan(folder: Path) -> Callable[[dict[str, Any]], None]:
    """Begin the plan of an attempt; what comes back writes a line of it."""
    (folder / PLAN).touch()
    return partial(append_json_line, folder / PLAN)


class WorkPlace:
    """Temporary folders of one attempt: the unpacked public bundle, the agent's work folder, the full outputs. Gone afterwards."""

    def __init__(self, public: str | Path):
        self._public = public

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            top = stack.enter_context(scratch_folder("rubrics-gym-"))
            self._fill(top)
            self._removal = stack.pop_all()
        return self

    def _fill(self, top: Path) -> None:
        self.task: Task = unpack_public(self._public, top)
        self.data, self.work, self.outputs, self.snapshots = top / "data", top / "work", top / "outputs", top / "snapshots"
        self.work.mkdir()
        self.outputs.mkdir()

    def __exit__(self, *_: object) -> None:
        self._removal.close()


def complete_plan(folder: Path, earlier: Iterable[Path]) -> None:
    """Take over, from the folders of earlier attempts of the unit, the plan's lines about programs that this attempt wrote as well.

    An answer that the store serves is not made again, so a simulated agent does not say again what it planted; without its earlier words
    the plan of an attempt that was cut off and made again would lack these programs. Lines are told apart by turn and program, never read.
    """
    plan = folder / PLAN
    written = {event.sha256 for event in read_trajectory(folder / "trajectory.jsonl") if isinstance(event, FileEvent)}
    lines = {(line["turn"], line["sha256"]): line for line in iter_json_lines(plan)}
    for path in (other / PLAN for other in earlier if (other / PLAN).exists()):
        for line in iter_json_lines(path):
            if line["sha256"] in written:
                lines.setdefault((line["turn"], line["sha256"]), line)
    write_json_lines(plan, [lines[key] for key in sorted(lines)])


def record_attempt(
    attempt: Attempt,
    client: Asks,
    judge: Judge | None,
    settings: SandboxPhase,
    place: WorkPlace,
    folder: Path,
    agent_prompt: Prompt,
    feedback: Prompt,
    snapshots: bool = False,
) -> EndEvent:
    """Run an episode in a sandbox and leave trajectory.jsonl and artifacts.tar.gz in `folder`, and snapshots.tar.gz when asked for."""
    kept = Snapshots(place.work, place.snapshots) if snapshots else None
    with (
        Sandbox(settings, attempt.limits, place.work, place.data, wheel_folder()) as sandbox,
        Recorder(folder / "trajectory.jsonl") as recorder,
    ):
        end = run_episode(attempt, client, judge, sandbox, recorder, agent_prompt, feedback, place.outputs, kept)
    write_artifacts(folder / "artifacts.tar.gz", place.work, place.outputs)
    if kept is not None:
        kept.write(folder / SNAPSHOTS)
    return end


def record_closed(attempt: Attempt, closed: Closed, folder: Path, earlier: Iterable[Path]) -> EndEvent:
    """Leave in `folder` the files of a slot in which nothing is attempted (any more): what its lost attempt had recorded, and an end that says so.

    Nothing is measured and the same slot gives the same bytes. Snapshots are packed when an attempt ends, so a lost one has none. `earlier` are
    the folders of the unit's attempts (see `complete_plan`).
    """
    events = _recorded(closed.lost.folder / "trajectory.jsonl") if closed.lost is not None else []
    events = events or [start_event(attempt, closed.at)]
    commands = [event for event in events if isinstance(event, CommandEvent)]
    turns = [event for event in events if isinstance(event, MessageEvent) and event.role == "assistant"]
    end = EndEvent(
        at=closed.at,
        reason=f"{'not_run' if closed.lost is None else 'no_end'}: {closed.why}",
        outcome=closed.outcome,
        steps=len(turns),
        commands=sum(event.route is Route.EXECUTED for event in commands),
        requests=len(turns),
        cost_microdollars=sum(event.cost_microdollars for event in turns),
        wall_s=None,
        working_s=None,
    )
    write_json_lines(folder / "trajectory.jsonl", [*events, end])
    write_archive(folder / "artifacts.tar.gz", {})
    write_archive(folder / SNAPSHOTS, {})
    (folder / PLAN).touch()
    complete_plan(folder, earlier)
    return end


def _recorded(path: Path) -> list[Event]:
    """What a lost attempt had recorded; nothing when it did not come to it, or its files died with their machine."""
    if not path.exists():
        return []
    return [event for event in read_trajectory(path) if not isinstance(event, (EndEvent, SnapshotEvent))]
