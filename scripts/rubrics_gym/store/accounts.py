"""What a study has spent, over all the units that work for it at the same time, without a lock.

Each unit publishes its own total as the name of one small file, `{digest of the unit}.{micro-dollars}.{requests}.{number}`; the highest number
counts, its writer is the holder of the unit's lease. The study's total is the sum over the units. A unit publishes what it is about to
take before it looks at the total, so two units can never both take the last of a budget (near its end both may be refused). The name before
the last one stays: a folder is not listed in one instant, and a listing that meets the new name too early must not meet the old one too late.
The files are derived: a unit that is opened again writes its own anew from its ledger.
"""

from __future__ import annotations

import hashlib

from rubrics_gym.store.storage import Storage


class StudyAccount:
    """The share of one unit in the account of a study, and the total of all shares."""

    def __init__(self, storage: Storage, study: str, unit: str):
        self._storage = storage
        self._under = f"accounts/{study or 'none'}"
        self._unit = unit
        self._digest = hashlib.sha256(unit.encode()).hexdigest()[:16]
        self._names: list[str] | None = None  # of this unit that stand, oldest first; unknown until it has looked

    def publish(self, microdollars: int, requests: int, *, durable: bool = False) -> None:
        """Say what this unit has taken in all. After a crash between the two steps the new name counts."""
        if self._names is None:
            own = (name for name in self._storage.names(self._under) if name.startswith(f"{self._digest}."))
            self._names = sorted(own, key=_order)
        if self._names and _share(self._names[-1]) == (microdollars, requests) and not durable:
            return
        number = 1 + _number(self._names[-1]) if self._names else 0
        name = f"{self._digest}.{microdollars}.{requests}.{number}"
        self._storage.write(f"{self._under}/{name}", f"{self._unit}\n".encode(), durable=durable)
        for old in self._names[:-1]:
            self._storage.remove(f"{self._under}/{old}")
        self._names = [*self._names[-1:], name]

    def total(self) -> tuple[int, int]:
        """Micro-dollars and requests of all units together."""
        last: dict[str, str] = {}
        for name in self._storage.names(self._under):
            digest = name.split(".", 1)[0]
            last[digest] = max(last.get(digest, name), name, key=_order)
        shares = [_share(name) for name in last.values()]
        return sum(share[0] for share in shares), sum(share[1] for share in shares)


def _share(name: str) -> tuple[int, int]:
    _, microdollars, requests, *_ = name.split(".")
    return int(microdollars), int(requests)


def _order(name: str) -> tuple[int, tuple[int, int]]:
    """Which of a unit's names counts: the last, and of equal numbers (two of before there were any, two writers) the higher share."""
    return _number(name), _share(name)


def _number(name: str) -> int:
    """The number of a name; those that were written before there were numbers come first."""
    return int(name.split(".")[3]) if name.count(".") == 3 else -1
