"""What a job must know to ask a model and what is no parameter of its rule: mode, servers, time limits, budget.

Rules hand it over as the resource `asking`, because Snakemake plans nothing again when a resource changes.
"""

from __future__ import annotations

from rubrics_gym.settings.study import Budget, Mode, Reproduction, Requests, Settings, Study


class Asking(Settings):
    """The study on whose behalf is asked, how, and what it may cost."""

    study: str
    requests: Requests = Requests()
    budget: Budget = Budget()


def asking_of(study: Study) -> str:
    """The resource `asking` of a study: JSON of what departs from the defaults, so that logs stay readable.

    A frozen protocol that is recomputed asks nobody, whatever its study did.
    """
    requests = study.requests
    if study.protocol is not None and study.protocol.by is Reproduction.RECOMPUTE:
        requests = requests.model_copy(update={"mode": Mode.REPLAY})
    return Asking(study=study.name, requests=requests, budget=study.budget).model_dump_json(exclude_defaults=True)


def read_asking(text: str) -> Asking:
    """The inverse of `asking_of`."""
    return Asking.model_validate_json(text)
