"""Paid work is made once: a complete attempt of the same key is served, whatever the code has become. A slot (a rollout, an episode) whose work may
not be made (any more) is closed, and stays visible as what it is: cut off, or never run."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rubrics_gym.records.base import content_hash
from rubrics_gym.records.files import whole_file, write_json_lines
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.settings.asking import Asking, read_asking
from rubrics_gym.settings.places import store_folder
from rubrics_gym.settings.study import Mode, ReplayAttempts
from rubrics_gym.store.attempts import Attempt, AttemptState, AttemptStore
from rubrics_gym.store.ledger import ledger_name
from rubrics_gym.store.requests import Ledger
from rubrics_gym.store.stops import StudyEvent, StudyRecord, StudyStopped
from rubrics_gym.store.storage import open_storage


@dataclass(frozen=True)
class Closed:
    """A slot in which nothing is attempted (any more), as its record says it.

    `lost` is the attempt that was begun and has no end; without one nothing was begun.
    """

    why: str
    at: str  # when that was settled: of the lost attempt, its beginning
    lost: Attempt | None = None

    @property
    def outcome(self) -> Outcome:
        return Outcome.NOT_RUN if self.lost is None else Outcome.UNKNOWN


def work_key(settings: Any, inputs: Mapping[str, str], protocol: str) -> str:
    """The key of a piece of paid work: its settings, the content of its inputs (name -> path), and the version of the protocol it follows.

    Settings that are null are left out, so that one that is added later leaves what was paid for before it as it is.
    """
    contents = {name: hashlib.sha256(Path(path).read_bytes()).hexdigest() for name, path in inputs.items()}
    return content_hash({"settings": settings.model_dump(mode="json", exclude_none=True), "inputs": contents, "protocol": protocol})


def open_attempts(asking: str) -> AttemptStore:
    """The attempts of the store, as a rule's resource `asking` says they may be served."""
    how = read_asking(asking)
    continues = StudyRecord(store_folder(), how.study).is_continuation
    return AttemptStore(store_folder(), how.study, anew=how.requests.mode is Mode.LIVE, continuation=continues)


@contextmanager
def slot(
    store: AttemptStore,
    unit: str,
    key: str,
    code: str,
    asking: str,
    check: Callable[[], None],
    make: Callable[[Attempt], None],
    close: Callable[[Closed, Path], None],
) -> Iterator[Path]:
    """The folder of what a slot holds: its complete attempt, from the store or made now by `make`; or what `close` leaves of a slot that is closed.

    `check` raises where an attempt could not be made: before one is on record. A slot is closed while its study stands still, for good where the study attempts nothing again (`replay_attempts: never`), and when the attempt was cut off
    because the study's cap or deadline was met. A complete attempt is served in any case.
    """
    how = read_asking(asking)
    found = store.find_complete(unit, key)
    closed = None if found is not None else why_closed(how, store, unit, key)
    if found is None and closed is None:
        check()
        try:
            found, closed = _attempted(how, store, unit, key, code, make)
        except StudyStopped as stopped:
            StudyRecord(store_folder(), how.study).stop(str(stopped))  # unless its client has done so
            closed = why_closed(how, store, unit, key)
    with tempfile.TemporaryDirectory(prefix="rubrics-gym-slot-") as temporary:
        if closed is not None:
            close(closed, Path(temporary))
        yield Path(temporary) if found is None else found.folder


def _attempted(
    how: Asking, store: AttemptStore, unit: str, key: str, code: str, make: Callable[[Attempt], None]
) -> tuple[Attempt | None, Closed | None]:
    """The attempt of a slot that is open, or why it turned out to be closed: while this process waited for the lease, another may have made the
    attempt, or lost it, and the study may have been stopped."""
    with store.begin(unit, key, code) as attempt:
        found = store.find_complete(unit, key)
        closed = None if found is not None else why_closed(how, store, unit, key, but=attempt)
        if found is None and closed is None:
            return _made(attempt, make), None
        attempt.withdraw()
        return found, closed


def why_closed(how: Asking, store: AttemptStore, unit: str, key: str, but: Attempt | None = None) -> Closed | None:
    """Why nothing may be attempted in a slot without a complete attempt; None when something may, or when somebody is at work (which `begin` says).
    `but` is an attempt that does not count: the one that asks."""
    stop = stop_of(how)
    own = [attempt for attempt in own_attempts(store, unit, key, how.study) if but is None or attempt.name != but.name]
    never = bool(own) and how.budget.replay_attempts is ReplayAttempts.NEVER
    if (stop is None and not never) or (but is None and any(row.state is AttemptState.RUNNING for row in store.rows(unit))):
        return None
    lost = next((attempt for attempt in reversed(store.lost(unit, key)) if but is None or attempt.name != but.name), None)
    if stop is not None:
        return Closed(f"the study stands still ({stop.why})", stop.at if lost is None else lost.begun.at, lost)
    last = own[-1] if lost is None else lost
    return Closed(f"attempt {last.name} is on record (budget.replay_attempts: never)", last.begun.at, lost)


def own_attempts(store: AttemptStore, unit: str, key: str, study: str) -> list[Attempt]:
    """Attempts by which a slot counts as attempted: those of the study, whatever their settings, and those of the key that the study would be served,
    whoever made them. One that was withdrawn before anything was done is none."""
    return [
        attempt
        for attempt in store.of_unit(unit)
        if (attempt.begun.study == study or (attempt.begun.key == key and store.serves(attempt))) and not attempt.was_withdrawn
    ]


def settle_requests(asking: str, units: Iterable[str]) -> None:
    """Close what a killed process left open in the ledgers of a slot that is not attempted again, so that its requests have an end in every table."""
    how = read_asking(asking)
    if how.requests.mode is Mode.REPLAY:
        return
    storage = open_storage(store_folder())
    for unit in units:
        if storage.read_log(ledger_name(unit)) is not None:
            Ledger(store_folder(), unit, study=how.study).close()


def stop_of(how: Asking) -> StudyEvent | None:
    """The stop that stands. A met cap or deadline is put on record as one; in a replay, which sends nothing, neither counts."""
    record = StudyRecord(store_folder(), how.study)
    standing = record.standing
    if standing is None and how.requests.mode is not Mode.REPLAY and (why := record.limit_met(how.budget)):
        standing = record.stop(why)
    return standing


def obtain(store: AttemptStore, unit: str, key: str, code: str, make: Callable[[Attempt], None]) -> tuple[Attempt, bool]:
    """The complete attempt of a unit, and whether it was made now. `make` fills a new attempt's folder when the store holds none."""
    found = store.find_complete(unit, key)
    if found is not None:
        return found, False
    with store.begin(unit, key, code) as attempt:
        found = store.find_complete(unit, key)
        if found is not None:  # another process made it while this one waited for the lease
            attempt.withdraw()
            return found, False
        return _made(attempt, make), True


def make_another(store: AttemptStore, unit: str, key: str, code: str, make: Callable[[Attempt], None]) -> Attempt:
    """A new attempt of a unit, on record before it starts."""
    with store.begin(unit, key, code) as attempt:
        return _made(attempt, make)


def _made(attempt: Attempt, make: Callable[[Attempt], None]) -> Attempt:
    make(attempt)
    attempt.complete()
    return attempt


def deliver(folder: Path, outputs: Mapping[str, str]) -> None:
    """Copy files of an attempt's folder (name -> output path) to where a rule declares them."""
    for name, output in outputs.items():
        with whole_file(output) as temporary:
            shutil.copyfile(folder / name, temporary)


def hand_over(store: AttemptStore, unit: str, folder: Path, files: Mapping[str, str], asked: Iterable[str], output: Any) -> None:
    """Give a rule its outputs: files of what a slot holds (name -> name of the output, where the rule has it), the ledgers of the units that asked,
    and the list of all attempts of the unit."""
    deliver(folder, {name: output[named] for name, named in files.items() if output.get(named)})
    copy_ledger(store_folder(), asked, output.requests)
    write_attempts(store, unit, output.attempts)


def write_attempts(store: AttemptStore, unit: str, path: str) -> None:
    """Every attempt of a unit as JSON lines, lost ones included."""
    write_json_lines(path, store.rows(unit))


def has_work(location: str, unit: str) -> bool:
    """Whether the store holds any request of a unit (or of the units below it)."""
    return next(open_storage(location).logs(f"requests/{unit}"), None) is not None


def copy_ledger(location: str, units: Iterable[str], path: str) -> None:
    """Copy the ledgers of some units' requests, one after the other, to a rule's output; a unit that never asked adds nothing."""
    storage = open_storage(location)
    with whole_file(path) as temporary, open(temporary, "w", encoding="utf-8") as copy:
        for unit in units:
            copy.write(storage.read_log(ledger_name(unit)) or "")
