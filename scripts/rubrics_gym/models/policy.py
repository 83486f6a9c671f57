"""One table for how a request can fail: may it be tried again by itself, how often, and how it ends in the ledger.

Modelled on the error-policy table of Harbor: the client, the ledger's charges and the reports all read this table and nothing else.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

LONGEST_WAIT_S = 60.0


class FailurePolicy(NamedTuple):
    """What one kind of failure means.

    tries: how often one call may send the request (1: never again by itself).
    end: refused, nothing was sent; failed, the provider said no and bills nothing; unresolved, it may have been billed: charged at its maximum.
    stops_study: no other request will fare better before somebody does something, so the study stands still instead of losing slot after slot.
    """

    tries: int
    end: Literal["refused", "failed", "unresolved"]
    stops_study: bool = False


POLICY: dict[str, FailurePolicy] = {
    "budget": FailurePolicy(1, "refused"),
    "requests": FailurePolicy(1, "refused"),  # as many as the unit may send
    "no_price": FailurePolicy(1, "refused"),  # a gap in our table: never the agent's limit, never the judge's abstention
    "auth": FailurePolicy(1, "failed", stops_study=True),
    "quota": FailurePolicy(1, "failed", stops_study=True),
    "invalid_request": FailurePolicy(1, "failed"),
    "context_length": FailurePolicy(1, "failed"),
    "refused": FailurePolicy(1, "failed"),
    "schema_invalid": FailurePolicy(1, "unresolved"),  # from a provider that checks by itself: it was answered, so it was billed
    "rate_limit": FailurePolicy(5, "failed"),
    "overloaded": FailurePolicy(5, "failed"),
    "server": FailurePolicy(3, "failed"),
    "timeout_connect": FailurePolicy(3, "failed"),  # no byte of the request left
    "timeout_read": FailurePolicy(1, "unresolved"),
    "deadline": FailurePolicy(1, "unresolved"),
    "stream_cut": FailurePolicy(1, "unresolved"),
    "unknown": FailurePolicy(1, "unresolved"),
}


def backoff_s(failures: int, draw: float, longest_s: float = LONGEST_WAIT_S) -> float:
    """Seconds to wait after so many failures in a row: 2, 4, 8 … up to `longest_s`, of which `draw` (0 to 1) takes up to half away."""
    return float(min(2.0**failures, longest_s) * (1 - draw / 2))
