"""The requests of one unit: what is stored is read by anyone, written by the one process that holds the unit's lease.

Layout of the store::

    requests/{unit}/ledger.jsonl                     one line per change of state
    responses/ab/{key}.json                          request and response, addressed by the key of the request
    accounts/{study}/{unit's digest}.{µ$}.{requests}    what each unit has taken of the study's budget (store.accounts)

`sent` is durable before the bytes leave. A record that is `sent` and has no end when the ledger is opened again is closed: as `returned` when
its response was stored, else as `unresolved`, charged at its maximum, because nobody can know whether it was billed. Nothing is repeated in
silence: a repetition is a new record that names the one it replaces.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from rubrics_gym.records.base import canonical_json, content_hash
from rubrics_gym.records.files import DamagedFile
from rubrics_gym.store.accounts import StudyAccount
from rubrics_gym.store.durable import now
from rubrics_gym.store.ledger import OPEN, Entry, LedgerLine, LedgerNote, State, ledger_name, parse, request_key, response_name
from rubrics_gym.store.storage import PATIENCE_S, open_storage

log = logging.getLogger(__name__)

RESPONSE_SCHEMA = "rubrics-gym/response/1"
PROCESS_ENDED = "process_ended"  # why a record is unresolved whose process was killed


class Stored(NamedTuple):
    """A response as it came, and the ledger's line that says so."""

    response: dict[str, Any]
    line: LedgerLine


class Total(NamedTuple):
    """An amount of micro-dollars and the number of requests that were sent for it."""

    microdollars: int = 0
    requests: int = 0

    def plus(self, line: LedgerLine, sign: int = 1) -> Total:
        """With a record more (or less): its cost, or its maximum while it is under way. What was refused was not sent."""
        charge = line.max_cost_microdollars if line.state in OPEN else line.cost_microdollars
        return Total(self.microdollars + sign * charge, self.requests + sign * (line.state is not State.REFUSED))


class Records:
    """What is on record about the requests of one unit. Opening reads; nothing is written and no lease is taken."""

    def __init__(self, location: str | Path, unit: str, account: str = "", study: str = ""):
        self.unit = unit
        self.account = account
        self.study = study
        self.generation = 0  # how often the unit was asked for anew
        self._oldest = 0  # generation from which on answers are served
        self._storage = open_storage(location)
        self._latest: dict[str, LedgerLine] = {}  # record -> its last line
        self._records: dict[str, list[str]] = {}  # key -> its records, oldest first
        self._reused: dict[str, str] = {}  # key -> key of another unit's request, whose response answers it
        self._superseded: list[str] = []  # for each time that the unit was asked for anew: by which study; "" by hand
        self._account_total, self._study_total = Total(), Total()
        name = ledger_name(unit)
        text = self._storage.read_log(name) or ""
        entries, self._is_cut = parse(text, self._storage.where(name))
        self._lacks_newline = bool(text) and not text.endswith("\n")
        for entry in entries:
            self._remember(entry)

    @property
    def charged(self) -> Total:
        """What the account has taken in this unit since it was last asked for anew: costs of what returned, maxima of what is under way or
        unresolved; and how many requests it sent."""
        return self._account_total

    @property
    def study_share(self) -> Total:
        """What the study has taken in this unit, ever."""
        return self._study_total

    def key(self, request: dict[str, Any], occurrence: int) -> str:
        """The key of a request of this unit."""
        return request_key(request, self.unit, occurrence, self.generation)

    def latest(self, key: str) -> LedgerLine | None:
        """The last line of the newest record of a request; None when it was never asked."""
        records = self._records.get(key)
        return self._latest[records[-1]] if records else None

    def answer(self, request: dict[str, Any], occurrence: int) -> Stored | None:
        """The newest response that a request of this unit got since it was last asked for anew by hand; None when it has none."""
        for generation in range(self.generation, self._oldest - 1, -1):
            found = self.stored(request_key(request, self.unit, occurrence, generation))
            if found is not None:
                return found
        return None

    def stored(self, key: str) -> Stored | None:
        """The response that a request got; None when it has none. DamagedFile when the response is missing or is not what came back."""
        if key in self._reused:
            content = self._read_response(self._reused[key])
            return Stored(content["response"], LedgerLine.model_validate(content["line"]))
        line = self.latest(key)
        if line is None or line.state is not State.RETURNED:
            return None
        return Stored(self._read_response(key, line.body_sha256)["response"], line)

    def lines(self) -> list[LedgerLine]:
        """How every record stands, in the order in which they were made."""
        return list(self._latest.values())

    def asked(self) -> Iterator[tuple[LedgerLine, dict[str, Any]]]:
        """Every request of the unit that has a response, with the ledger's line about it."""
        for line in self._latest.values():
            if line.state is State.RETURNED:
                yield line, self._read_response(line.key, line.body_sha256)["request"]

    def _go_to(self, generation: int) -> None:
        """Ask and serve in a generation; the account is that of its requests."""
        self.generation = generation
        self._account_total = Total()
        for line in self._latest.values():
            self._count(line)

    def _count(self, line: LedgerLine, sign: int = 1) -> None:
        if line.account == self.account and line.generation == self.generation:
            self._account_total = self._account_total.plus(line, sign)

    def _remember(self, entry: Entry) -> None:
        if isinstance(entry, LedgerNote):
            if entry.note == "superseded":
                self._superseded.append(entry.study)
                self._go_to(len(self._superseded))
                if not entry.study:
                    self._oldest = self.generation
            elif entry.note == "reused":
                self._reused[entry.key] = entry.source
            return
        known = self._latest.get(entry.record)
        if known is None:
            self._records.setdefault(entry.key, []).append(entry.record)
        self._latest[entry.record] = entry
        for line, sign in ((known, -1), (entry, 1)):
            if line is None:
                continue
            self._count(line, sign)
            if line.study == self.study:
                self._study_total = self._study_total.plus(line, sign)

    def _read_response(self, key: str, body_sha256: str | None = None) -> dict[str, Any]:
        """Read a response and check its body against the hash of the ledger (or, where no ledger is at hand, of the file itself)."""
        name = response_name(key)
        where = self._storage.where(name)
        repair = f"Restore it from a backup, or ask anew with `make fresh UNIT={self.unit}` (this costs money)."
        try:
            content = json.loads(self._storage.read(name))
            expected = body_sha256 or content["line"]["body_sha256"]
            intact = content_hash(content["response"]) == expected
        except FileNotFoundError:
            raise DamagedFile(
                f"{where}: the ledger of {self.unit} says that this response came back, but the file is missing. {repair}"
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedFile(f"{where}: not a stored response ({error}). {repair}") from None
        if not intact:
            raise DamagedFile(f"{where}: the response is not the one that came back: expected sha256 {expected}. {repair}")
        result: dict[str, Any] = content
        return result


class Ledger(Records):
    """The requests of one unit, to be added to. Opening takes the unit's lease and closes what a killed process left open.

    `anew`: what other studies were answered in this unit is not served to this one (its own answers are, so that an interrupted study goes on).
    """

    def __init__(
        self, location: str | Path, unit: str, account: str = "", study: str = "", *, anew: bool = False, patience_s: float = PATIENCE_S
    ):
        name = ledger_name(unit)
        self._lease = open_storage(location).lease(f"{name.rpartition('/')[0]}/.lease", f"the requests of {unit}", patience_s)
        try:
            super().__init__(location, unit, account, study)
            self._log = self._storage.log(name, self._lease)
            self._study_account = StudyAccount(self._storage, study, unit)
            self._mend()
            self._close_open_records()
            self._publish()
            if anew:
                self._begin_anew()
        except BaseException:
            self._lease.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Make the last lines durable and give the lease back."""
        try:
            self._log.close()
            self._study_account.publish(*self.study_share, durable=True)
        finally:
            self._lease.release()

    def claim(self, microdollars: int, requests: int) -> Total:
        """What the whole study will have taken if this unit takes so much more. The claim stands until the next line of this ledger, so that
        units at work at the same time see each other's."""
        self._study_account.publish(self.study_share.microdollars + microdollars, self.study_share.requests + requests)
        return Total(*self._study_account.total())

    def refuse(self, request: dict[str, Any], key: str, occurrence: int, max_cost: int, kind: str, message: str = "") -> LedgerLine:
        """Record a request that is not sent."""
        reserved = self._new_record(request, key, occurrence, max_cost, waited_s=0.0)
        refused = _next(reserved, State.REFUSED, kind=kind, message=message)
        self._append(reserved, refused, durable=True)
        return refused

    def send(self, request: dict[str, Any], key: str, occurrence: int, max_cost: int, waited_s: float = 0.0, **facts: Any) -> LedgerLine:
        """Record a request as reserved and sent. When this returns both are on disk and the bytes may leave. `facts` are further fields."""
        reserved = self._new_record(request, key, occurrence, max_cost, waited_s, **facts)
        sent = _next(reserved, State.SENT)
        self._append(reserved, sent, durable=True)
        return sent

    def returned(self, sent: LedgerLine, request: dict[str, Any], response: dict[str, Any], usage: dict[str, int], cost: int) -> LedgerLine:
        """Store a response and record it. The response file is durable and restores the ledger's line, which reaches the disk with the next one."""
        line = _next(sent, State.RETURNED, cost_microdollars=cost, usage=usage, body_sha256=content_hash(response))
        content = {"schema": RESPONSE_SCHEMA, "line": _plain(line), "request": request, "response": response}
        self._storage.write(response_name(sent.key), (canonical_json(content) + "\n").encode())
        self._append(line, durable=False)
        return line

    def in_batch(self, sent: Iterable[tuple[LedgerLine, dict[str, Any]]], batch: str) -> None:
        """Record the provider's id of the batch in which requests (line, body) were sent: they stay under way when this process ends."""
        self._append(*(_next(line, State.SENT, batch=batch, request=body) for line, body in sent), durable=True)

    def open_in_batch(self, batch: str | None = None) -> list[LedgerLine]:
        """Records that are under way in a batch (None: in any)."""
        return [line for line in self._latest.values() if line.state is State.SENT and line.batch and batch in (None, line.batch)]

    def failed(self, sent: LedgerLine, kind: str, message: str = "", retry_after_s: float | None = None) -> LedgerLine:
        """Record that the provider turned a request down. It costs nothing."""
        line = _next(sent, State.FAILED, kind=kind, message=message, retry_after_s=retry_after_s)
        self._append(line, durable=True)
        return line

    def unresolved(self, sent: LedgerLine, kind: str, message: str = "") -> LedgerLine:
        """Record that nobody knows what became of a request. It is charged at its maximum when it was sent."""
        cost = sent.max_cost_microdollars if sent.state is State.SENT else 0
        line = _next(sent, State.UNRESOLVED, kind=kind, message=message, cost_microdollars=cost)
        self._append(line, durable=True)
        return line

    def reuse(self, key: str, found: Stored) -> None:
        """Let the stored response of another unit answer a request of this one, for good. It is charged where it was paid for."""
        self._note("reused", unit=self.unit, key=key, source=found.line.key)

    def supersede(self) -> None:
        """Serve nothing of what was asked so far again, and start a new account. The records and their cost stay in the ledger."""
        self._note("superseded")

    def _begin_anew(self) -> None:
        """Go to the generation of this study. Generations count from when the unit was last asked for anew by hand: that one belongs to the
        study that alone asked in it, each later one to the study that began it. A study without one begins one."""
        by_hand = max((number for number, study in enumerate(self._superseded, 1) if not study), default=0)
        askers = {line.study for line in self._latest.values() if line.generation == by_hand}
        owners = {by_hand: next(iter(askers)) if len(askers) == 1 else None}
        owners |= {number: study for number, study in enumerate(self._superseded, 1) if number > by_hand}
        own = [number for number, study in owners.items() if study == self.study]
        if own:
            self._go_to(max(own))
        elif askers or len(owners) > 1:
            self._note("superseded", study=self.study)
        self._oldest = self.generation

    def _new_record(self, request: dict[str, Any], key: str, occurrence: int, max_cost: int, waited_s: float, **facts: Any) -> LedgerLine:
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
            study=self.study,
            generation=self.generation,
            replaces=earlier[-1] if earlier else "",
            **facts,
        )

    def _close_open_records(self) -> None:
        for line in list(self._latest.values()):
            if line.state not in OPEN:
                continue
            if line.state is State.SENT and self._storage.exists(response_name(line.key)):
                stored = LedgerLine.model_validate(self._read_response(line.key)["line"])
                if stored.record == line.record:
                    log.warning("%s: record %s had its response stored before its process ended; nothing is lost", self.unit, line.record)
                    self._append(stored, durable=True)
                    continue
            if line.batch:
                continue  # its provider still has it
            closed = self.unresolved(line, PROCESS_ENDED, "its process ended before its answer was stored")
            log.warning("%s: record %s is unresolved, charged %d micro-dollars", self.unit, line.record, closed.cost_microdollars)

    def _mend(self) -> None:
        """Go on after a last line that was cut when its writer was killed."""
        if self._is_cut:
            where = self._storage.where(ledger_name(self.unit))
            log.warning("%s: the last line was cut when its writer was killed; the ledger goes on after it", where)
        if self._lacks_newline:
            self._log.append("\n", durable=True)
        if self._is_cut:
            self._note("cut_line")

    def _append(self, *lines: LedgerLine, durable: bool) -> None:
        self._log.append("".join(canonical_json(_plain(line)) + "\n" for line in lines), durable=durable)
        for line in lines:
            self._remember(line)
        self._publish()

    def _note(self, kind: Literal["cut_line", "superseded", "reused"], **facts: str) -> None:
        note = LedgerNote(note=kind, at=now(), **facts)
        self._log.append(canonical_json(_plain(note)) + "\n", durable=True)
        self._remember(note)

    def _publish(self) -> None:
        self._study_account.publish(*self.study_share)


def _next(line: LedgerLine, state: State, **changes: Any) -> LedgerLine:
    return line.model_copy(update={"state": state, "at": now(), "request": None, **changes})


def _plain(entry: Entry) -> dict[str, Any]:
    """An entry as JSON, without what is at its default."""
    return entry.model_dump(mode="json", exclude_defaults=True)
