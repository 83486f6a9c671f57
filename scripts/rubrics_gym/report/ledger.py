"""What was asked and what it cost; what was attempted and what was lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from rubrics_gym.report.writing import Row
from rubrics_gym.store.attempts import AttemptRow, AttemptState
from rubrics_gym.store.ledger import LedgerLine, State, accounts, read_ledger

STAGES = {
    "rollouts": "collect",
    "episodes": "evaluate",
    "mine": "libraries",
    "classify": "categories",
    "attribute": "causes",
    "judge/episodes": "evaluate",
    "judge/replay": "replay",
}
ROLES = {"agent": "agent", "judge": "judge", "mine": "miner", "classify": "classifier", "attribute": "reviewer"}
TOKENS_IN = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens")


def last_lines(path: str | Path) -> list[LedgerLine]:
    """How every record of one ledger file stands: its last line, in the order in which the records were made."""
    latest: dict[str, LedgerLine] = {}
    for line in read_ledger(Path(path)):
        latest[line.record] = line
    return list(latest.values())


def request_rows(lines: Iterable[LedgerLine], study: str, simulated: bool) -> list[Row]:
    """One row per stage, role and model, sorted, then their total. Table `requests`.

    `lines` holds the last line of every record (`last_lines`, or `store.ledger.read_requests`). ValueError when reserved requests do not
    add up: one is then still open, and the table would be of an unfinished run.
    """
    groups: dict[tuple[str, str, str], list[LedgerLine]] = {}
    for line in lines:
        groups.setdefault((_stage(line.unit), ROLES.get(line.purpose, line.purpose), line.model), []).append(line)
    rows = [_request_row(*name, groups[name], study, simulated) for name in sorted(groups)]
    everything = [line for group in groups.values() for line in group]
    return [*rows, _request_row("total", "", "", everything, study, simulated)]


def _stage(unit: str) -> str:
    """The stage that a unit's requests belong to; a judge asks in episodes and in the replay."""
    first, _, rest = unit.partition("/")
    return STAGES.get(first) or STAGES.get(f"{first}/{rest.partition('/')[0]}") or "other"


def _request_row(stage: str, role: str, model: str, lines: list[LedgerLine], study: str, simulated: bool) -> Row:
    account = accounts(lines)
    if account.open:
        unit = next(line.unit for line in lines if line.state in (State.RESERVED, State.SENT))
        raise ValueError(
            f"{account.open} requests have no end on record, the first of {unit}: wait for its job, or run it again to close them"
        )
    return {
        "stage": stage,
        "role": role,
        "model": model,
        "reserved": account.records,
        "returned": account.returned,
        "failed": account.failed,
        "unresolved": account.unresolved,
        "refused": account.refused,
        "input_tokens": sum(line.usage.get(name, 0) for line in lines for name in TOKENS_IN),
        "output_tokens": sum(line.usage.get("output_tokens", 0) for line in lines),
        "cost_microdollars": account.charged_microdollars,
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
            "study": study,
            "simulated": simulated,
        }
        for attempt in attempts
    ]
    return sorted(rows, key=lambda row: (row["state"] != AttemptState.LOST, row["unit"], row["attempt"]))
