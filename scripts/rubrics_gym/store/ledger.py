"""The lines of a ledger of model requests: what was asked, what came back, what it cost. Reading and adding up; store.requests writes them.

A record goes reserved -> sent -> returned | failed(kind) | unresolved, or reserved -> refused when it may not be sent. Its state is that of
its last line, never a flag beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from rubrics_gym.records.base import Record, content_hash
from rubrics_gym.records.files import DamagedFile
from rubrics_gym.store.durable import unit_name
from rubrics_gym.store.storage import open_storage


class State(StrEnum):
    RESERVED = "reserved"  # on record, with its maximum cost; nothing was sent
    SENT = "sent"  # durable before the bytes leave
    RETURNED = "returned"  # answered, stored and priced
    FAILED = "failed"  # the provider said no; costs nothing
    UNRESOLVED = "unresolved"  # sent, and nobody knows what became of it; charged at its maximum
    REFUSED = "refused"  # not sent: it could have passed an allowance, or has no price


OPEN = (State.RESERVED, State.SENT)


class LedgerLine(Record):
    """One change of state of one record. Money in micro-dollars."""

    record: str  # first 16 digits of the key and the number of the try, e.g. 3f0c…-1
    key: str  # of the request, its unit and its occurrence (64 hex digits)
    unit: str
    occurrence: int
    purpose: str
    model: str
    state: State
    at: str  # ISO 8601, UTC
    max_cost_microdollars: int
    cost_microdollars: int = 0
    usage: dict[str, int] = {}
    kind: str = ""  # why it failed, was refused or stays unresolved
    message: str = ""  # what was said about it
    waited_s: float = 0.0  # waited before it was sent, because an earlier try failed
    retry_after_s: float | None = None  # wait that the provider asked for
    body_sha256: str = ""  # of the response's canonical JSON
    account: str = ""  # on whose allowance it counts: the key of the work that it was asked for
    replaces: str = ""  # the earlier record of the same request that this one repeats
    study: str = ""  # on whose behalf it was asked
    generation: int = 0  # how often the unit had been asked for anew
    priced_on: str = ""  # the day whose prices count, YYYY-MM-DD
    in_batch: bool = False  # asked in a batch, at its price
    batch: str = ""  # the provider's id of that batch, once it is known
    request: dict[str, Any] | None = None  # of a record under way in a batch: what was asked, for whoever collects the answer
    prompt_bytes: int = 0  # what its maximum was reckoned from, with `max_tokens`
    max_tokens: int = 0


class LedgerNote(Record):
    """A line that is no record.

    cut_line: the line above was cut when its writer was killed. superseded: what stands above is not served again (to `study` alone, when it
    is named). reused: the request `key` of `unit` is answered by the stored response `source` of another unit.
    """

    note: Literal["cut_line", "superseded", "reused"]
    at: str
    study: str = ""
    unit: str = ""
    key: str = ""
    source: str = ""


Entry = LedgerLine | LedgerNote


def request_key(request: dict[str, Any], unit: str, occurrence: int, generation: int = 0) -> str:
    """sha256 of the canonical JSON of everything that is sent, what it is for, and which of several equal requests it is.

    `generation` counts how often the unit was asked for anew; the first is left out of the key.
    """
    asked: dict[str, Any] = {"request": request, "unit": unit, "occurrence": occurrence}
    if generation:
        asked["generation"] = generation
    return content_hash(asked)


def ledger_name(unit: str) -> str:
    """Where a unit's ledger lies in the store. ValueError when the unit could name a place outside it."""
    return f"requests/{unit_name(unit)}/ledger.jsonl"


def response_name(key: str) -> str:
    """Where the response to a request lies in the store."""
    return f"responses/{key[:2]}/{key}.json"


def parse(text: str, where: str) -> tuple[list[Entry], bool]:
    """The entries of a ledger, and whether it ends in a cut line. A cut line inside is excused by the note that follows it."""
    entries: list[Entry] = []
    cut: str | None = None  # why the last unreadable line is one
    for number, row in enumerate(text.split("\n"), 1):
        if not row:
            continue
        try:
            value = json.loads(row)
            entry: Entry = LedgerNote.model_validate(value) if "note" in value else LedgerLine.model_validate(value)
        except (ValueError, TypeError) as error:
            cut = cut or f"line {number}: not a ledger line ({error})"
            continue
        if cut and not (isinstance(entry, LedgerNote) and entry.note == "cut_line"):
            raise DamagedFile(f"{where}, {cut}. The file was changed after it was written; restore it from a backup.")
        cut = None
        entries.append(entry)
    return entries, cut is not None


def read_entries(path: Path) -> list[Entry]:
    """The entries of a ledger file, e.g. of a rule's output, in the order of writing."""
    return parse(path.read_text(encoding="utf-8", errors="replace"), str(path))[0]


def read_ledger(path: Path) -> list[LedgerLine]:
    """Those of them that are lines about records."""
    return [entry for entry in read_entries(path) if isinstance(entry, LedgerLine)]


def last_lines(entries: Iterable[Entry]) -> list[LedgerLine]:
    """How every record stands: its last line, in the order in which the records were made."""
    latest = {entry.record: entry for entry in entries if isinstance(entry, LedgerLine)}
    return list(latest.values())


def read_requests(location: str | Path) -> Iterator[LedgerLine]:
    """The last line of every record of the store, ledger by ledger in the order of their names."""
    storage = open_storage(location)
    for name in storage.logs("requests"):
        yield from last_lines(parse(storage.read_log(name) or "", storage.where(name))[0])


@dataclass(frozen=True)
class Accounts:
    """How many records there are and how they ended: records = returned + failed + unresolved + refused + open, always."""

    records: int
    returned: int
    failed: int
    unresolved: int
    refused: int
    open: int  # reserved or sent by a process that still works
    charged_microdollars: int


def accounts(lines: Iterable[LedgerLine]) -> Accounts:
    """Add up the last lines of records."""
    counts = dict.fromkeys(State, 0)
    charged = 0
    for line in lines:
        counts[line.state] += 1
        charged += line.cost_microdollars
    return Accounts(
        records=sum(counts.values()),
        returned=counts[State.RETURNED],
        failed=counts[State.FAILED],
        unresolved=counts[State.UNRESOLVED],
        refused=counts[State.REFUSED],
        open=sum(counts[state] for state in OPEN),
        charged_microdollars=charged,
    )
