"""What a study has spent, over all the units that work for it at the same time, without a lock.

Each unit publishes its own total as the name of one small file, `{digest of the unit}.{micro-dollars}.{requests}`, and replaces it when the total
changes; its writer is the holder of the unit's lease. The study's total is the sum over the names. A unit publishes what it is about to
take before it looks at the total, so two units can never both take the last of a budget (near its end both may be refused). The files
are derived: a unit that is opened again writes its own anew from its ledger.
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
        self._published: set[str] | None = None  # names of this unit; unknown until it has looked

    def publish(self, microdollars: int, requests: int, *, durable: bool = False) -> None:
        """Say what this unit has taken in all. Crash between the two steps: the higher name counts."""
        name = f"{self._digest}.{microdollars}.{requests}"
        if self._published is None:
            self._published = {entry for entry in self._storage.names(self._under) if entry.startswith(self._digest)}
        if self._published == {name} and not durable:
            return
        self._storage.write(f"{self._under}/{name}", f"{self._unit}\n".encode(), durable=durable)
        for old in self._published - {name}:
            self._storage.remove(f"{self._under}/{old}")
        self._published = {name}

    def total(self) -> tuple[int, int]:
        """Micro-dollars and requests of all units together."""
        shares: dict[str, tuple[int, int]] = {}
        for name in self._storage.names(self._under):
            digest, microdollars, requests = name.split(".")
            shares[digest] = max(shares.get(digest, (0, 0)), (int(microdollars), int(requests)))
        return sum(share[0] for share in shares.values()), sum(share[1] for share in shares.values())
