"""What the owners of benchmarks ask for, and whether a study has accepted it by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from rubrics_gym.tasks.catalog import Benchmark


class TermsNotAccepted(ValueError):
    """A benchmark is used whose terms the configuration does not accept; the message shows them and what to write."""


def check_accepted(benchmark: Benchmark, accepted: Iterable[str], of: Literal["use", "mining"] = "use") -> None:
    """Refuse to use a benchmark, or to mine its traces, without its terms for that. TermsNotAccepted shows the first that is not accepted."""
    names = set(accepted)
    for terms in benchmark.terms:
        if terms.of == of and terms.name not in names:
            raise TermsNotAccepted(
                f"{benchmark.title} comes with terms that must be accepted by name. {terms.name}: {terms.text} "
                f"To accept them, add `{terms.name}` to `accepted_terms`."
            )
