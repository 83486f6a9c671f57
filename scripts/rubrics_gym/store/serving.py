"""Paid work is made once: a complete attempt of the same key is served, whatever the code has become."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from rubrics_gym.records.base import content_hash
from rubrics_gym.records.files import whole_file, write_json_lines
from rubrics_gym.settings.asking import read_asking
from rubrics_gym.settings.places import store_folder
from rubrics_gym.settings.study import Mode
from rubrics_gym.store.attempts import Attempt, AttemptStore
from rubrics_gym.store.ledger import ledger_name
from rubrics_gym.store.storage import open_storage


def work_key(settings: Any, inputs: Mapping[str, str], protocol: str) -> str:
    """The key of a piece of paid work: its settings, the content of its inputs (name -> path), and the version of the protocol it follows.

    Settings that are null are left out, so that one that is added later leaves what was paid for before it as it is.
    """
    contents = {name: hashlib.sha256(Path(path).read_bytes()).hexdigest() for name, path in inputs.items()}
    return content_hash({"settings": settings.model_dump(mode="json", exclude_none=True), "inputs": contents, "protocol": protocol})


def open_attempts(asking: str) -> AttemptStore:
    """The attempts of the store, as a rule's resource `asking` says they may be served."""
    how = read_asking(asking)
    return AttemptStore(store_folder(), how.study, anew=how.requests.mode is Mode.LIVE)


def obtain(store: AttemptStore, unit: str, key: str, code: str, make: Callable[[Attempt], None]) -> tuple[Attempt, bool]:
    """The complete attempt of a unit, and whether it was made now. `make` fills a new attempt's folder when the store holds none."""
    found = store.find_complete(unit, key)
    if found is not None:
        return found, False
    with store.begin(unit, key, code) as attempt:
        found = store.find_complete(unit, key)
        if found is not None:  # another process made it while this one waited for the lease
            attempt.set_aside()
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


def deliver(attempt: Attempt, outputs: Mapping[str, str]) -> None:
    """Copy files of an attempt (name -> output path) to where a rule declares them."""
    for name, output in outputs.items():
        with whole_file(output) as temporary:
            shutil.copyfile(attempt.folder / name, temporary)


def hand_over(store: AttemptStore, attempt: Attempt, files: Mapping[str, str], units: Iterable[str], output: Any) -> None:
    """Give a rule its outputs: files of an attempt (name -> name of the output, where the rule has it), the ledgers of the units that asked, and
    the list of all attempts of the unit."""
    deliver(attempt, {name: output[named] for name, named in files.items() if output.get(named)})
    copy_ledger(store_folder(), units, output.requests)
    write_attempts(store, attempt.begun.unit, output.attempts)


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
