"""The ledger of model requests: what was asked, what came back, what it cost. Append-only, durable, one writer per unit.

Layout under the store's root::

    requests/{unit}/ledger.jsonl    one line per change of state
    responses/ab/{key}.json         request and response, addressed by the key of the request

A record goes reserved -> sent -> returned | failed(kind) | unresolved, or reserved -> refused when it may not be sent. `sent` is on disk
before the bytes leave. A record that is `sent` and has no end when the ledger is opened again is closed: as `returned` when its response was
stored, else as `unresolved`, charged at its maximum, because nobody can know whether it was billed. Nothing is repeated in silence: a
repetition is a new record that names the one it replaces.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Self

from rubrics_gym.records.base import Record, canonical_json, content_hash
from rubrics_gym.records.files import DamagedFile
from rubrics_gym.store.durable import AppendOnly, now, unit_folder, write_whole
from rubrics_gym.store.leases import PATIENCE_S, Lease

log = logging.getLogger(__name__)

RESPONSE_SCHEMA = "rubrics-gym/response/1"


class State(StrEnum):
    RESERVED = "reserved"  # on record, with its maximum cost; nothing was sent
    SENT = "sent"  # durable before the bytes leave
    RETURNED = "returned"  # answered, stored and priced
    FAILED = "failed"  # the provider said no; costs nothing
    UNRESOLVED = "unresolved"  # sent, and nobody knows what became of it; charged at its maximum
    REFUSED = "refused"  # not sent: it could have passed the allowance, or has no price


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
    waited_s: float = 0.0  # waited before it was sent, because an earlier try failed
    body_sha256: str = ""  # of the response's canonical JSON
    account: str = ""  # on whose allowance it counts: the key of the work that it was asked for
    replaces: str = ""  # the earlier record of the same request that this one repeats


class LedgerNote(Record):
    """A line that is no request. `cut_line`: the line above was cut when its writer was killed. `superseded`: what stands above is not served again."""

    note: Literal["cut_line", "superseded"]
    at: str


def request_key(request: dict[str, Any], unit: str, occurrence: int, generation: int = 0) -> str:
    """sha256 of the canonical JSON of everything that is sent, what it is for, and which of several equal requests it is.

    `generation` counts how often the unit was asked for anew; the first is left out of the key.
    """
    asked: dict[str, Any] = {"request": request, "unit": unit, "occurrence": occurrence}
    if generation:
        asked["generation"] = generation
    return content_hash(asked)


class Ledger:
    """The requests of one unit. Opening takes the unit's lease and closes what a killed process left open."""

    def __init__(self, root: str | Path, unit: str, account: str = "", patience_s: float = PATIENCE_S):
        self.unit = unit
        self.account = account
        self._root = Path(root)
        folder = unit_folder(self._root / "requests", unit)
        self._lease = Lease(folder / ".lease", f"the requests of {unit}", patience_s)
        try:
            self._file = AppendOnly(folder / "ledger.jsonl")
            self.generation = 0  # how often the unit was asked for anew
            self._latest: dict[str, LedgerLine] = {}  # record -> its last line
            self._records: dict[str, list[str]] = {}  # key -> its records, oldest first
            self._charged = 0
            self._load(folder / "ledger.jsonl")
            self._close_open_records()
        except BaseException:
            self._lease.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Make the last lines durable and give the lease back."""
        self._file.close()
        self._lease.release()

    @property
    def charged_microdollars(self) -> int:
        """What the unit has cost on this account since it was last asked for anew, unresolved requests at their maximum, over all processes that
        worked on it. Another study that asks the same unit for other work has an account of its own."""
        return self._charged

    def key(self, request: dict[str, Any], occurrence: int) -> str:
        """The key of a request of this unit."""
        return request_key(request, self.unit, occurrence, self.generation)

    def latest(self, key: str) -> LedgerLine | None:
        """The last line of the newest record of a request; None when it was never asked."""
        records = self._records.get(key)
        return self._latest[records[-1]] if records else None

    def stored(self, key: str) -> dict[str, Any] | None:
        """The response that a request got; None when it has none. DamagedFile when the response is missing or is not what came back."""
        line = self.latest(key)
        if line is None or line.state is not State.RETURNED:
            return None
        body: dict[str, Any] = self._read_response(key, line.body_sha256)["response"]
        return body

    def refuse(self, request: dict[str, Any], key: str, occurrence: int, max_cost: int, kind: str) -> LedgerLine:
        """Record a request that is not sent."""
        reserved = self._new_record(request, key, occurrence, max_cost, waited_s=0.0)
        refused = _next(reserved, State.REFUSED, kind=kind)
        self._append(reserved, refused, durable=True)
        return refused

    def send(self, request: dict[str, Any], key: str, occurrence: int, max_cost: int, waited_s: float = 0.0) -> LedgerLine:
        """Record a request as reserved and sent. When this returns both are on disk and the bytes may leave."""
        reserved = self._new_record(request, key, occurrence, max_cost, waited_s)
        sent = _next(reserved, State.SENT)
        self._append(reserved, sent, durable=True)
        return sent

    def returned(self, sent: LedgerLine, request: dict[str, Any], response: dict[str, Any], usage: dict[str, int], cost: int) -> LedgerLine:
        """Store a response and record it. The response file is durable and restores the ledger's line, which reaches the disk with the next one."""
        line = _next(sent, State.RETURNED, cost_microdollars=cost, usage=usage, body_sha256=content_hash(response))
        content = {"schema": RESPONSE_SCHEMA, "line": line.model_dump(mode="json"), "request": request, "response": response}
        write_whole(self._response_path(sent.key), canonical_json(content) + "\n")
        self._append(line, durable=False)
        return line

    def failed(self, sent: LedgerLine, kind: str) -> LedgerLine:
        """Record that the provider turned a request down. It costs nothing."""
        line = _next(sent, State.FAILED, kind=kind)
        self._append(line, durable=True)
        return line

    def unresolved(self, sent: LedgerLine, kind: str) -> LedgerLine:
        """Record that nobody knows what became of a request. It is charged at its maximum when it was sent."""
        cost = sent.max_cost_microdollars if sent.state is State.SENT else 0
        line = _next(sent, State.UNRESOLVED, kind=kind, cost_microdollars=cost)
        self._append(line, durable=True)
        return line

    def supersede(self) -> None:
        """Serve nothing of what was asked so far again, and start a new account. The records and their cost stay in the ledger."""
        self._note("superseded")

    def _new_record(self, request: dict[str, Any], key: str, occurrence: int, max_cost: int, waited_s: float) -> LedgerLine:
        earlier = self._records.get(key, [])
        return LedgerLine(
            record=f"{key[:16]}-{len(earlier) + 1}",
            key=key,
            unit=self.unit,
            occurrence=occurrence,
            purpose=request["purpose"],
            model=request["model"],
            state=State.RESERVED,
            at=now(),
            max_cost_microdollars=max_cost,
            waited_s=waited_s,
            account=self.account,
            replaces=earlier[-1] if earlier else "",
        )

    def _close_open_records(self) -> None:
        for line in list(self._latest.values()):
            if line.state not in (State.RESERVED, State.SENT):
                continue
            if line.state is State.SENT and self._response_path(line.key).exists():
                stored = LedgerLine.model_validate(self._read_response(line.key)["line"])
                if stored.record == line.record:
                    log.warning("%s: record %s had its response stored before its process ended; nothing is lost", self.unit, line.record)
                    self._append(stored, durable=True)
                    continue
            closed = self.unresolved(line, kind="process_ended")
            log.warning("%s: record %s is unresolved, charged %d micro-dollars", self.unit, line.record, closed.cost_microdollars)

    def _load(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8", errors="replace")
        entries, cut = _parse(text, path)
        for entry in entries:
            self._remember(entry)
        if cut:
            log.warning("%s: the last line was cut when its writer was killed; the ledger goes on after it", path)
            self._file.append("" if text.endswith("\n") else "\n", durable=False)
            self._note("cut_line")
        elif text and not text.endswith("\n"):
            self._file.append("\n", durable=True)

    def _remember(self, entry: LedgerLine | LedgerNote) -> None:
        if isinstance(entry, LedgerNote):
            if entry.note == "superseded":
                self.generation += 1
                self._charged = 0
            return
        known = self._latest.get(entry.record)
        if known is None:
            self._records.setdefault(entry.key, []).append(entry.record)
        if entry.account == self.account:
            self._charged += entry.cost_microdollars - (known.cost_microdollars if known else 0)
        self._latest[entry.record] = entry

    def _append(self, *lines: LedgerLine, durable: bool) -> None:
        self._file.append("".join(canonical_json(line) + "\n" for line in lines), durable=durable)
        for line in lines:
            self._remember(line)

    def _note(self, kind: Literal["cut_line", "superseded"]) -> None:
        note = LedgerNote(note=kind, at=now())
        self._file.append(canonical_json(note) + "\n", durable=True)
        self._remember(note)

    def _response_path(self, key: str) -> Path:
        return self._root / "responses" / key[:2] / f"{key}.json"

    def _read_response(self, key: str, body_sha256: str | None = None) -> dict[str, Any]:
        """Read a response file and check its body against the hash of the ledger (or, before the ledger has one, of the file itself)."""
        path = self._response_path(key)
        repair = f"Restore it from a backup, or ask anew with `make fresh UNIT={self.unit}` (this costs money)."
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            expected = body_sha256 or content["line"]["body_sha256"]
            intact = content_hash(content["response"]) == expected
        except FileNotFoundError:
            raise DamagedFile(
                f"{path}: the ledger of {self.unit} says that this response came back, but the file is missing. {repair}"
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedFile(f"{path}: not a stored response ({error}). {repair}") from None
        if not intact:
            raise DamagedFile(f"{path}: the response is not the one that came back: expected sha256 {expected}. {repair}")
        result: dict[str, Any] = content
        return result


def _next(line: LedgerLine, state: State, **changes: Any) -> LedgerLine:
    return line.model_copy(update={"state": state, "at": now(), **changes})


# ---------------------------------------------------------------- reading


def _parse(text: str, path: Path) -> tuple[list[LedgerLine | LedgerNote], bool]:
    """The entries of a ledger, and whether it ends in a cut line. A cut line inside is excused by the note that follows it."""
    entries: list[LedgerLine | LedgerNote] = []
    cut: str | None = None  # why the last unreadable line is one
    for number, row in enumerate(text.split("\n"), 1):
        if not row:
            continue
        try:
            value = json.loads(row)
            entry: LedgerLine | LedgerNote = LedgerNote.model_validate(value) if "note" in value else LedgerLine.model_validate(value)
        except (ValueError, TypeError) as error:
            cut = cut or f"line {number}: not a ledger line ({error})"
            continue
        if cut and not (isinstance(entry, LedgerNote) and entry.note == "cut_line"):
            raise DamagedFile(f"{path}, {cut}. The file was changed after it was written; restore it from a backup.")
        cut = None
        entries.append(entry)
    return entries, cut is not None


def read_ledger(path: Path) -> list[LedgerLine]:
    """Read the lines of a ledger in the order of writing, also while another process writes it."""
    entries, _ = _parse(path.read_text(encoding="utf-8", errors="replace"), path)
    return [entry for entry in entries if isinstance(entry, LedgerLine)]


def read_requests(root: str | Path) -> Iterator[LedgerLine]:
    """The last line of every record of the store, ledger by ledger in the order of their paths."""
    for path in sorted(Path(root, "requests").rglob("ledger.jsonl")):
        latest: dict[str, LedgerLine] = {}
        for line in read_ledger(path):
            latest[line.record] = line
        yield from latest.values()


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


def accounts(last_lines: Iterable[LedgerLine]) -> Accounts:
    """Add up the last lines of records."""
    counts = dict.fromkeys(State, 0)
    charged = 0
    for line in last_lines:
        counts[line.state] += 1
        charged += line.cost_microdollars
    return Accounts(
        records=sum(counts.values()),
        returned=counts[State.RETURNED],
        failed=counts[State.FAILED],
        unresolved=counts[State.UNRESOLVED],
        refused=counts[State.REFUSED],
        open=counts[State.RESERVED] + counts[State.SENT],
        charged_microdollars=charged,
    )
