"""What the owners of benchmarks ask for, and whether a study has accepted it by name."""

from __future__ import annotations

from collections.abc import Iterable

from rubrics_gym.tasks.catalog import Benchmark


class TermsNotAccepted(ValueError):
    """A benchmark is used whose terms the configuration does not accept; the message shows them and what to write."""


def check_accepted(benchmark: Benchmark, accepted: Iterable[str]) -> None:
    """Refuse a benchmark some of whose terms are not among the accepted names. TermsNotAccepted shows the first of them."""
    names = set(accepted)
    for terms in benchmark.terms:
        if terms.name not in names:
            raise TermsNotAccepted(
                f"{benchmark.title} comes with terms that must be accepted by name. {terms.name}: {terms.text} "
                f"To accept them, add `{terms.name}` to `accepted_terms`."
            )
