"""The one run of final.py after an episode: a clean sandbox, the public data, the agent's files and installs, and an exit line."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

from rubrics_gym.harness.artifacts import HARNESS_FOLDER, unpack_work
from rubrics_gym.harness.execution import FINAL_COMMAND
from rubrics_gym.harness.sandbox import DiskReserve, Sandbox, SandboxDied
from rubrics_gym.harness.scratch import scratch_folder
from rubrics_gym.harness.world import regular_files
from rubrics_gym.records.archives import write_archive
from rubrics_gym.records.files import read_json, write_json, write_text
from rubrics_gym.records.trajectory import FinalEvent
from rubrics_gym.settings.study import FinalStart, Limits, SandboxPhase
from rubrics_gym.store.attempts import Attempt as StoredAttempt
from rubrics_gym.store.attempts import AttemptStore
from rubrics_gym.store.serving import make_another, obtain

FINAL = "final.json"  # where an attempt keeps the event of its run
_EXIT_MARK = "[exit] "
_log = logging.getLogger(__name__)


def run_final(
    deliverable: str,
    data: Path,
    artifacts: Path,
    settings: SandboxPhase,
    limits: Limits,
    start: FinalStart,
    run_log: Path,
    final_artifacts: Path,
    wheels: Path | None = None,
) -> FinalEvent:
    """Run `python final.py` once under `limits.final_s` in a new work folder made from the episode's artifacts, as `start` says.

    `data` is the unpacked public bundle. Writes `run_log`, whose last line is the exit record, and `final_artifacts` with the deliverable
    (when there is one) and the log; both whole or not at all. When the sandbox dies there is no exit line, and the event has no exit
    code: the run is lost.
    """
    with scratch_folder("rubrics-gym-final-") as folder:
        work, output = folder / "work", folder / "output.txt"
        unpack_work(artifacts, work, without=deliverable if start is FinalStart.CLEAN else None)
        event = _run(work, data, settings, limits, output, deliverable, wheels)
        text = output.read_text(encoding="utf-8", errors="replace") if output.exists() else ""
        write_text(run_log, text.rstrip("\n") + "\n" + _exit_line(event))
        members: dict[str, Path | bytes] = {f"{HARNESS_FOLDER}/final_run.log": run_log}
        if event.deliverable_present:
            members[deliverable] = work / deliverable
        write_archive(final_artifacts, members)
    return event


def _run(work: Path, data: Path, settings: SandboxPhase, limits: Limits, output: Path, deliverable: str, wheels: Path | None) -> FinalEvent:
    cap = limits.final_s
    try:
        with Sandbox(settings, limits, work, data, wheels) as sandbox:
            result = sandbox.run(FINAL_COMMAND, cap, output)
    except (SandboxDied, DiskReserve) as error:
        return FinalEvent(exit_code=None, timed_out=False, cap_s=cap, duration_s=None, output_tail=str(error), deliverable_present=False)
    return FinalEvent(
        exit_code=result.exit_code,
        timed_out=result.timed_out,
        out_of_memory=result.out_of_memory,
        cap_s=cap,
        duration_s=round(result.duration_s, 3),
        output_head=result.output.head,
        output_tail=result.output.tail,
        output_bytes=result.output.bytes,
        deliverable_present=deliverable in {path for path, _ in regular_files(work)},  # a link in its way leads anywhere
    )


def _exit_line(event: FinalEvent) -> str:
    if is_lost(event):
        return "[lost] the sandbox ended before the run\n"  # so that nothing the program printed can stand for the exit line
    record = {"exit_code": event.exit_code, "timed_out": event.timed_out, "out_of_memory": event.out_of_memory, "cap_s": event.cap_s}
    return _EXIT_MARK + json.dumps(record, sort_keys=True) + "\n"


def leave_unrun(folder: Path, cap_s: float) -> None:
    """The files of the final run of an episode that was never run: there is no program, and no exit line."""
    event = FinalEvent(exit_code=None, timed_out=False, cap_s=cap_s, duration_s=None, deliverable_present=False)
    write_json(folder / FINAL, event)
    write_text(folder / "final_run.log", "[not run]\n")
    write_archive(folder / "final_artifacts.tar.gz", {f"{HARNESS_FOLDER}/final_run.log": folder / "final_run.log"})


def obtain_final(
    store: AttemptStore, unit: str, key: str, code: str, make: Callable[[StoredAttempt], None], *, again: bool = True
) -> tuple[StoredAttempt, bool]:
    """The final run of a unit, from the store or made now, and whether it was made now. A run that was lost is made once more (unless `again` is
    false), never twice.

    `make` leaves the run's event as FINAL in the folder of the attempt. Both attempts stay in the store.
    """
    attempt, made = obtain(store, unit, key, code, make)
    if is_lost(FinalEvent.model_validate(read_json(attempt.folder / FINAL))) and attempt.number == 1 and again:
        _log.warning("%s: the final run was lost: asking once more", unit)
        return make_another(store, unit, key, code, make), True
    return attempt, made


def is_lost(event: FinalEvent) -> bool:
    """Whether a final run has no end: neither an exit code nor a stop at its cap."""
    return event.exit_code is None and not event.timed_out
