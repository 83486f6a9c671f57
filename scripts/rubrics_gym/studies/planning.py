"""What a run would cost: what is planned, what of it the store already holds, and what the rest will take."""

from __future__ import annotations

import csv
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Any

from rubrics_gym.harness.episode import PROTOCOL
from rubrics_gym.models.prices import PriceTable
from rubrics_gym.records.files import iter_json_lines
from rubrics_gym.settings.rules import CollectRollout, RunEpisode
from rubrics_gym.settings.slices import SLICES
from rubrics_gym.settings.study import Contrasted, ReplayAttempts, RoleName, Study
from rubrics_gym.settings.units import KEYED_INPUTS, UNITS, units_of
from rubrics_gym.store.attempts import AttemptStore
from rubrics_gym.store.ledger import LedgerLine, read_requests
from rubrics_gym.store.serving import own_attempts, work_key
from rubrics_gym.store.stops import StudyEvent
from rubrics_gym.studies.estimates import NOTHING, Estimate, Expectation, Limit, Span, UnitUse, estimate, use_of_unit

ROLES: dict[str, RoleName] = {
    "rollouts": "agent",
    "episodes": "agent",
    "mine": "miner",
    "classify": "classifier",
    "classify_again": "second_classifier",
    "draft": "classifier",
    "attribute": "reviewer",
    "review": "reviewer",
}


@dataclass(frozen=True)
class PlannedJob:
    """A job that Snakemake would run. `inputs`: name -> path (or paths); `attempts_read`: trajectories among them."""

    rule: str
    wildcards: Mapping[str, str]
    inputs: Mapping[str, Any]
    outputs: Sequence[str]
    gpu: bool = False
    attempts_read: int = 0


@dataclass(frozen=True)
class PlanLine:
    """One rule of a plan."""

    rule: str
    jobs: int
    served: int  # whose attempt is in the store, complete and under the same key, or is not made again: nothing is asked
    hours: float | None  # of one core; None when no job of the rule was ever measured
    gpu_jobs: int
    estimates: dict[RoleName, Estimate] = field(default_factory=dict)


class Plans:
    """Looks at planned jobs with the eyes of a study: its store, its models, today's prices.

    Work is counted in attempts: those that are made or judged, or those that a reader reads. Only what the very model took that the study
    names is extrapolated: a simulated model says nothing about a live one.
    """

    def __init__(self, study: Study, store: str | Path, prices: PriceTable, today: date, expectations: Mapping[str, Expectation]):
        self._study = study
        self._prices = prices
        self._today = today
        self._expectations = expectations
        self._attempts = AttemptStore(store, study.name)
        self._read_before: dict[str, int] = {}  # library or collection -> attempts that are read now for what its classifier sorts
        self._history = self._read_history(store)

    def lines(self, jobs: Sequence[PlannedJob], measured: Path) -> list[PlanLine]:
        """One line per rule, in the order of the jobs. `measured`: the folder of Snakemake's benchmarks of earlier runs."""
        made_now = {path for job in jobs for path in job.outputs}
        self._read_before = {
            name: job.attempts_read
            for job in jobs
            if job.rule in ("mine_candidates", "mine_lessons", "detect_failures")
            for name in job.wildcards.values()
        }
        seconds = _seconds_on_record(measured)
        return [self._line(rule, list(of_rule), made_now, seconds[rule]) for rule, of_rule in groupby(jobs, key=lambda job: job.rule)]

    def _line(self, rule: str, jobs: list[PlannedJob], made_now: set[str], seconds: list[float]) -> PlanLine:
        to_do = [job for job in jobs if not (rule in KEYED_INPUTS and is_served(self._study, self._attempts, job, made_now))]
        hours = statistics.fmean(seconds) / 3600 * len(to_do) if seconds else None
        asking = to_do if rule in UNITS else []
        roles = dict.fromkeys(role for job in asking for role in units_of(rule, self._study, job.wildcards))
        estimates = {role: self._estimate(role, asking) for role in roles}
        return PlanLine(rule, len(jobs), len(jobs) - len(to_do), hours, sum(job.gpu for job in to_do), estimates)

    def _estimate(self, role: RoleName, jobs: Sequence[PlannedJob]) -> Estimate:
        kind = _kind(next(unit for job in jobs for unit in units_of(job.rule, self._study, job.wildcards).get(role, ())))
        attempts = sum(self._attempts_of(job) for job in jobs if role in units_of(job.rule, self._study, job.wildcards))
        limits = [self._limit(role, job) for job in jobs]
        limit = Limit(max(one.dollars for one in limits), max(one.requests for one in limits))
        model = getattr(self._study.models, role).model
        expected = self._expectations["review" if kind == "review" else role]
        return estimate(attempts, self._history[kind, role], expected, model, self._today, self._prices, limit)

    def _attempts_of(self, job: PlannedJob) -> int:
        """Attempts that the work of a job grows with."""
        if job.rule in KEYED_INPUTS:
            return 1
        if job.rule == "review_lessons":
            return self._reviews(job)
        return job.attempts_read or next((self._read_before[name] for name in job.wildcards.values() if name in self._read_before), 1)

    def _reviews(self, job: PlannedJob) -> int:
        """Requests of a reviewer of lessons: every lesson in every contrast. Counted where both are there; before that, the most that the attempts allow."""
        there = [Path(str(job.inputs[name])) for name in ("merged", "contrasts")]
        if all(path.exists() for path in there) and not self._read_before.get(job.wildcards["library"]):
            lessons, contrasts = (sum(1 for _ in iter_json_lines(path)) for path in there)
            return max(1, lessons * contrasts)
        recipe = self._study.libraries[job.wildcards["library"]]
        assert isinstance(recipe, Contrasted)
        contrasts = max(1, self._read_before.get(job.wildcards["library"], 2) // 2 * recipe.per_task)
        return contrasts * max(1, math.ceil((1 - recipe.development) * contrasts) * recipe.per_contrast)

    def _limit(self, role: RoleName, job: PlannedJob) -> Limit:
        """The most that one attempt may take: a request that could pass it is not sent. The judge's limit is of one episode, that of any other
        reader of a whole job."""
        if role == "agent":
            settings = SLICES[job.rule](self._study, job.wildcards)
            assert isinstance(settings, CollectRollout | RunEpisode)
            return Limit(settings.limits.cost_usd, settings.limits.steps)
        return Limit(float(self._study.budget.job_usd) / (1 if role == "judge" else self._attempts_of(job)))

    def _read_history(self, store: str | Path) -> dict[tuple[str, RoleName], list[UnitUse]]:
        """Kind of work and role -> what each attempt on record took of the study's model."""
        lines: dict[str, list[LedgerLine]] = defaultdict(list)
        for line in read_requests(store):
            lines[line.unit].append(line)
        history: dict[tuple[str, RoleName], list[UnitUse]] = defaultdict(list)
        for unit, of_unit in lines.items():
            kind = _kind(unit)
            role: RoleName = "judge" if kind.startswith("judge/") else ROLES[kind]
            if role not in ("agent", "judge"):
                continue  # a reader's unit is a whole collection: too few to extrapolate from
            model = getattr(self._study.models, role).model
            use = use_of_unit([line for line in of_unit if line.model == model], model, self._today, self._prices)
            if use is not None:
                history[kind, role].append(use)
        return history


def is_served(study: Study, attempts: AttemptStore, job: PlannedJob, made_now: Collection[str]) -> bool:
    """Whether the store holds the attempt that a job asks for, or the only one that the slot may have (`replay_attempts: never`). An input that is
    still to be made (`made_now`) may turn out to be another one: then a complete attempt is not served."""
    inputs = {name: str(job.inputs[name]) for name in KEYED_INPUTS[job.rule] if job.inputs.get(name)}
    (unit,) = units_of(job.rule, study, job.wildcards)["agent"]
    if study.budget.replay_attempts is ReplayAttempts.NEVER and own_attempts(attempts, unit, "", study.name):
        return True
    if any(path in made_now or not Path(path).exists() for path in inputs.values()):
        return False
    key = work_key(SLICES[job.rule](study, job.wildcards), inputs, PROTOCOL)
    return attempts.find_complete(unit, key) is not None


def _kind(unit: str) -> str:
    """Kind of work of a unit: its first segment; the judge is asked in episodes and in the replay."""
    first, _, rest = unit.partition("/")
    return f"judge/{rest.partition('/')[0]}" if first == "judge" else first


def _seconds_on_record(folder: Path) -> dict[str, list[float]]:
    """Rule -> seconds of its jobs."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for path in sorted(folder.rglob("*.tsv")):
        with open(path, newline="", encoding="utf-8") as rows:
            rule = path.relative_to(folder).parts[0].removesuffix(".tsv")
            seconds[rule] += [float(row["s"]) for row in csv.DictReader(rows, delimiter="\t") if row.get("s")]
    return seconds


# ---------------------------------------------------------------- for people

COLUMNS = ("rule", "jobs", "in store", "asks", "requests", "tokens in", "out", "dollars", "core hours", "from")


def plan_text(study: str, lines: Sequence[PlanLine], stop: StudyEvent | None = None) -> str:
    """The plan as a table for a terminal. Ranges are low to high; a dash is what is not known. `stop` is the one that stands, if any: then the plan
    is of what would run if the study went on."""
    standing = (
        []
        if stop is None
        else [f"{study} stands still since {stop.at}: nothing is begun or asked before `make resume`, which also plans what was not run."]
    )
    if not lines:
        return "\n".join([*standing, f"{study}: nothing would run, and nothing would be asked."])
    asking = [line for line in lines if line.rule in UNITS]
    rows = [COLUMNS, *(row for line in asking for row in _rows(line)), _total(lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    rule = "-" * max(map(len, table))
    others = ", ".join(f"{line.rule} {line.jobs}" for line in lines if line.rule not in UNITS)
    notes = [
        f"Ask nobody: {others}." if others else "",
        "In store: attempts that the store holds complete under the same key; they are served, and cost nothing. Readers and judges are served",
        "answer by answer while they run: what is shown for them is the most that they may have to ask. Dollars at today's prices.",
    ]
    return "\n".join([*standing, f"Plan of {study}", "", table[0], rule, *table[1:-1], rule, table[-1], "", *filter(None, notes)])


def _rows(line: PlanLine) -> Iterable[tuple[str, ...]]:
    first = (line.rule, str(line.jobs), str(line.served) if line.rule in KEYED_INPUTS else "")
    if not line.estimates:
        return [(*first, "", "", "", "", "", _hours(line.hours), "")]
    return [
        (*(first if number == 0 else ("", "", "")), role, *_cells(one), _hours(line.hours) if number == 0 else "", one.basis)
        for number, (role, one) in enumerate(line.estimates.items())
    ]


def _hours(hours: float | None) -> str:
    return "-" if hours is None else f"{hours:.2f}"


def _total(lines: Sequence[PlanLine]) -> tuple[str, ...]:
    estimates = [estimate for line in lines for estimate in line.estimates.values()]
    known = [line.hours for line in lines if line.hours is not None]
    hours = _hours(sum(known)) if len(known) == len(lines) else f"{_hours(sum(known))} + {len(lines) - len(known)} unmeasured rules"
    served = sum(line.served for line in lines)
    gpu = sum(line.gpu_jobs for line in lines)
    return ("total", str(sum(line.jobs for line in lines)), str(served), "", *_cells(_sum(estimates)), hours, f"{gpu} GPU jobs")


def _sum(estimates: Sequence[Estimate]) -> Estimate:
    total = Estimate(NOTHING, NOTHING, NOTHING, NOTHING, "")
    for one in estimates:
        total = Estimate(
            total.requests.plus(one.requests),
            total.input_tokens.plus(one.input_tokens),
            total.output_tokens.plus(one.output_tokens),
            total.dollars.plus(one.dollars),
            "",
        )
    return total


def _cells(estimate: Estimate) -> tuple[str, str, str, str]:
    tokens = _short(estimate.input_tokens.typical), _short(estimate.output_tokens.typical)
    return (_range(estimate.requests, "{:,.0f}".format), *tokens, _range(estimate.dollars, "${:,.2f}".format))


def _range(span: Span, form: Callable[[float], str]) -> str:
    typical, low, high = (form(value) for value in (span.typical, span.low, span.high))
    return typical if low == high else f"{typical} [{low} to {high}]"


def _short(count: float) -> str:
    """A large count as people say it: 10.8M, 432k."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g}{letter}"
    return f"{count:.0f}"
