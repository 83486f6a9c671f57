"""The record of an attempt: one JSON line per event, on disk before anything else happens."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from pydantic import ValidationError

from rubrics_gym.records.base import canonical_json
from rubrics_gym.records.files import DamagedFile, iter_json_lines
from rubrics_gym.records.trajectory import EVENT, CommandEvent, Event, Route

_log = logging.getLogger(__name__)


class Recorder:
    """Appends events to a new file, each line fsynced. A file that exists already belongs to another process, and is an error."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            raise FileExistsError(f"{self.path}: this attempt is already recorded; a new attempt needs a folder of its own.") from None

    def append(self, event: Event) -> None:
        """Write one event and wait until it is on disk."""
        line = (canonical_json(event) + "\n").encode()
        while line:
            line = line[os.write(self._descriptor, line) :]
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_trajectory(path: str | Path) -> list[Event]:
    """The events of an attempt in their order. A truncated last line is left out and reported in the log; other damage is an error."""
    events: list[Event] = []
    for number, value in enumerate(iter_json_lines(path), 1):
        try:
            events.append(EVENT.validate_python(value))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise DamagedFile(
                f"{path}, event {number}: {where}: {first['msg']}. The file was written by another version, or changed."
            ) from None
    for event in events:
        _refuse_contradiction(path, event)
    if is_truncated(path):
        _log.warning("%s: the last line is cut; its writer was killed. %d events are whole.", path, len(events))
    return events


def _refuse_contradiction(path: str | Path, event: Event) -> None:
    """A command that was not executed has no outcome; a record that gives it one must not reach any reader of failures."""
    if not isinstance(event, CommandEvent) or event.route is Route.EXECUTED:
        return
    if event.exit_code is not None or event.timed_out or event.output_bytes or event.duration_s is not None:
        raise DamagedFile(
            f"{path}, step {event.step}, command {event.index}: recorded as {event.route}, but with the outcome of an execution."
        )


def is_truncated(path: str | Path) -> bool:
    """Whether the last line has no end, because its writer was killed while writing it."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"
