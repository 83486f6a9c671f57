"""What old requests would cost under another price table: a pure function of the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from typing import NamedTuple

from rubrics_gym.models.prices import PriceTable, cost, maximum
from rubrics_gym.models.request import Usage
from rubrics_gym.store.ledger import LedgerLine, State


class Repriced(NamedTuple):
    """What one record was charged, and what it would be charged."""

    line: LedgerLine
    microdollars: int


def reprice(lines: Iterable[LedgerLine], prices: PriceTable, on: date | None = None) -> Iterator[Repriced]:
    """The last line of each record, with what it costs under `prices`: those of its own day, or of the day `on`.

    What returned is priced by its tokens, what is unresolved at its maximum; nothing else is charged. Raises UnknownPrice.
    """
    for line in lines:
        day = on or date.fromisoformat(line.priced_on or line.at[:10])
        charged = 0
        if line.state is State.RETURNED:
            charged = cost(Usage(**line.usage), line.model, day, prices, batch=line.in_batch)
        elif line.state is State.UNRESOLVED and line.cost_microdollars:
            charged = maximum(line.prompt_bytes, line.max_tokens, line.model, day, prices, batch=line.in_batch)
        yield Repriced(line, charged)
