"""What was asked and what it cost; what was attempted and what was lost."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rubrics_gym.report.writing import Row
from rubrics_gym.statistics.intervals import Interval, mean_t, ratio
from rubrics_gym.store import ledger
from rubrics_gym.store.attempts import AttemptRow, AttemptState
from rubrics_gym.store.ledger import LedgerLine, State, accounts

ROLES = {"agent": "agent", "judge": "judge", "mine": "miner", "classify": "classifier", "attribute": "reviewer", "review": "reviewer"}
TOKENS_IN = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens")


def last_lines(path: str | Path) -> list[LedgerLine]:
    """How every record of one ledger file stands: its last line, in the order in which the records were made."""
    return ledger.last_lines(ledger.read_ledger(Path(path)))


def each_once(lines: Iterable[LedgerLine]) -> list[LedgerLine]:
    """The last state of every record. Two libraries that share a miner's answers both hold a copy of its ledger, at different times."""
    latest: dict[str, LedgerLine] = {}
    for line in lines:
        known = latest.get(line.record)
        if known is None or _age(line) > _age(known):
            latest[line.record] = line
    return list(latest.values())


def _age(line: LedgerLine) -> tuple[str, bool]:
    return line.at, line.state not in (State.RESERVED, State.SENT)


@dataclass(frozen=True)
class Subject:
    """What a unit's requests were for; empty where it is for none, or for all alike."""

    stage: str
    collection: str = ""
    library: str = ""
    arm: str = ""


def subject_of(unit: str, library_of: Mapping[str, str], libraries: Collection[str]) -> Subject:
    """What a unit asks for, read from its name. `library_of`: arm -> the library of its judge. The classifier sorts failures and rubrics alike."""
    first, *rest = unit.split("/")
    match first, rest:
        case "rollouts", [collection, *_]:
            return Subject("collect", collection=collection)
        case "episodes", [arm, *_]:
            return Subject("evaluate", arm=arm, library=library_of.get(arm, ""))
        case "judge", ["episodes", arm, *_]:
            return Subject("evaluate", arm=arm, library=library_of.get(arm, ""))
        case "judge", ["replay", arm, *_]:
            return Subject("replay", arm=arm, library=library_of.get(arm, ""))
        case "mine", ["quota", library]:
            return Subject("libraries", library=library)
        case "mine", ["contrast", name]:
            return Subject("libraries", collection=name.rpartition("-")[0])
        case "mine", [_, collection]:
            return Subject("libraries", collection=collection)
        case "review", [name]:
            return Subject("libraries", collection=name.rpartition("-")[0])
        case "classify" | "classify_again", [name] if name in libraries:
            return Subject("categories", library=name)
        case "classify" | "classify_again", [collection]:
            return Subject("categories", collection=collection)
        case "draft", [collection]:
            return Subject("taxonomy", collection=collection)
        case "attribute", [collection]:
            return Subject("causes", collection=collection)
    return Subject("other")


def request_rows(
    lines: Iterable[LedgerLine], study: str, simulated: bool, library_of: Mapping[str, str] = {}, libraries: Collection[str] = ()
) -> list[Row]:
    """One row per stage, role, model, collection, library and arm, sorted, then their total. Table `requests`.

    `lines` holds the last line of every record (`last_lines`, or `store.ledger.read_requests`). ValueError when reserved requests do not
    add up: one is then still open, and the table would be of an unfinished run.
    """
    groups: dict[tuple[str, ...], list[LedgerLine]] = {}
    for line in lines:
        subject = subject_of(line.unit, library_of, libraries)
        role = ROLES.get(line.purpose, line.purpose)
        groups.setdefault((subject.stage, role, line.model, subject.collection, subject.library, subject.arm), []).append(line)
    rows = [_request_row(name, groups[name], study, simulated) for name in sorted(groups)]
    everything = [line for group in groups.values() for line in group]
    return [*rows, _request_row(("total", "", "", "", "", ""), everything, study, simulated)]


def _request_row(name: tuple[str, ...], lines: list[LedgerLine], study: str, simulated: bool) -> Row:
    account = accounts(lines)
    if account.open:
        unit = next(line.unit for line in lines if line.state in (State.RESERVED, State.SENT))
        raise ValueError(
            f"{account.open} requests have no end on record, the first of {unit}: wait for its job, or run it again to close them"
        )
    return {
        **dict(zip(("stage", "role", "model", "collection", "library", "arm"), name, strict=True)),
        "reserved": account.records,
        "returned": account.returned,
        "failed": account.failed,
        "unresolved": account.unresolved,
        "refused": account.refused,
        "replaced": sum(bool(line.replaces) for line in lines),
        "input_tokens": sum(line.usage.get(name, 0) for line in lines for name in TOKENS_IN),
        "output_tokens": sum(line.usage.get("output_tokens", 0) for line in lines),
        "cost_microdollars": account.charged_microdollars,
        "study": study,
        "simulated": simulated,
    }


def unit_cost_rows(
    lines: Iterable[LedgerLine],
    libraries: Mapping[str, tuple[int, Collection[str]]],
    study: str,
    simulated: bool,
    confidence: float = 0.95,
) -> list[Row]:
    """What one rollout, episode, verdict and rubric cost, in micro-dollars. Table `unit_costs`.

    `libraries`: library -> its rubrics, and the units that were asked to write and sort them. Means over units have a t interval, a verdict's
    is that of a ratio over the units that it was asked in (statistics.intervals). A rubric's is a total divided by a count, and has none.
    """
    of_unit: dict[str, list[LedgerLine]] = {}
    for line in lines:
        of_unit.setdefault(line.unit, []).append(line)
    charged = {unit: float(sum(line.cost_microdollars for line in of)) for unit, of in of_unit.items()}
    work: dict[tuple[str, str], list[float]] = {}
    verdicts: dict[str, list[tuple[float, int]]] = {}
    for unit, of in of_unit.items():
        first, *rest = unit.split("/")
        if first == "rollouts":
            work.setdefault(("rollout", rest[0]), []).append(charged[unit])
        elif first == "episodes":
            work.setdefault(("episode", rest[0]), []).append(charged[unit] + charged.get(f"judge/{unit}", 0.0))
        elif first == "judge":
            verdicts.setdefault(rest[1], []).append((charged[unit], sum(line.state is State.RETURNED for line in of)))
    rows = [_unit_cost_row(*name, mean_t(costs, confidence), sum(costs), study, simulated) for name, costs in sorted(work.items())]
    for arm, pairs in sorted(verdicts.items()):
        costs, counts = (list(values) for values in zip(*pairs, strict=True))
        rows.append(_unit_cost_row("verdict", arm, ratio(costs, counts, confidence), sum(costs), study, simulated))
    for library, (size, units) in sorted(libraries.items()):
        total = sum(charged.get(unit, 0.0) for unit in units)
        mean = Interval(total / size if size else None, None, None, size, len(units), "none", confidence, "a total divided by a count")
        rows.append(_unit_cost_row("rubric", library, mean, total, study, simulated))
    return rows


def _unit_cost_row(what: str, name: str, interval: Interval, total: float, study: str, simulated: bool) -> Row:
    return {
        "what": what,
        "of": name,
        "n": interval.n,
        "clusters": interval.clusters,
        "total_microdollars": round(total),
        "mean_microdollars": interval.estimate,
        "low": None if interval.low is None else max(0.0, interval.low),  # a t interval may reach below nothing
        "high": interval.high,
        "interval_kind": interval.kind,
        "note": interval.note,
        "study": study,
        "simulated": simulated,
    }


def attempt_rows(attempts: Iterable[AttemptRow], outcomes: Mapping[str, str], study: str, simulated: bool) -> list[Row]:
    """One row per attempt, lost ones first, then by unit. Table `attempts`.

    `outcomes` maps a unit to how its complete attempt ended. Neither times nor hosts are in the table: they differ between equal runs.
    """
    rows = [
        {
            "unit": attempt.unit,
            "attempt": attempt.attempt,
            "state": attempt.state.value,
            "reason": outcomes.get(attempt.unit, "") if attempt.state is AttemptState.COMPLETE else "",
            "code": attempt.code[:12],
            "continuation": attempt.continuation,
            "study": study,
            "simulated": simulated,
        }
        for attempt in attempts
    ]
    return sorted(rows, key=lambda row: (row["state"] != AttemptState.LOST, row["unit"], row["attempt"]))
