"""The truth table: what a simulated agent planted, against what the pipeline found. For simulated agents only.

Whether a planted mistake *surfaced* is decided from the raw record (exit codes, recorder facts, output, the grade) and the planted
signature. The detector, the classifier and the cause-namer have no say in it: they are what is measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from rubrics_gym.failures.distributions import bin_of
from rubrics_gym.records.failures import Categorized, Cause, FailureEvent
from rubrics_gym.records.trajectory import CommandEvent, CommandKind, Event, FileEvent, FinalEvent, Route
from rubrics_gym.report.writing import Row
from rubrics_gym.settings.study import Statistics
from rubrics_gym.statistics.intervals import Interval, wilson
from rubrics_gym.statistics.mixes import counts_of, distance_to_truth, share_intervals


@dataclass(frozen=True, slots=True)
class Planted:
    """One mistake in one part of an attempt's program, from the first version that has it to the last.

    `surfaces` is "crash" (a command dies with `signature` in its output) or "result" (the attempt ends wrong).
    `programs` are the sha256 of the versions that hold it.
    """

    label: str
    part: str
    expected_type: str | None
    expected_category: str
    surfaces: str
    signature: str
    programs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Attempt:
    """Everything on record about one attempt. `categories` maps event ids to answers; `ended_wrong` is the grade's (None: lost)."""

    unit: str
    plan: Sequence[Planted]
    events: Sequence[Event]
    failures: Sequence[FailureEvent] = ()
    categories: Mapping[str, Categorized] = field(default_factory=dict)
    cause: Cause | None = None
    ended_wrong: bool | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one planted mistake. `typed` is None where there is no type to get right (not detected, or not a crash)."""

    label: str
    unit: str
    surfaced: bool
    detected: bool = False
    typed: bool | None = None
    categorised: bool | None = None
    planted_bin: str = ""
    found_bin: str | None = None  # None: not detected, or nobody could tell

    @property
    def task(self) -> str:
        """benchmark/task, from the unit `rollouts/…/benchmark/task/attempt` or `episodes/…/benchmark/task`."""
        parts = self.unit.split("/")
        return "/".join(parts[-3:-1] if parts[0] == "rollouts" else parts[-2:])


def read_plan(lines: Iterable[Mapping[str, Any]]) -> list[Planted]:
    """The planted mistakes of one attempt from the lines of its plan: one line per program version, `sha256` of its text and
    `plants`, the mistakes in force. The same kind in the same part with the same signature is one mistake until it is gone."""
    names = ("label", "part", "expected_type", "expected_category", "surfaces", "signature")
    versions: dict[tuple[Any, ...], set[str]] = {}
    for line in lines:
        for mistake in line["plants"]:
            versions.setdefault(tuple(mistake[name] for name in names), set()).add(line["sha256"])
    return [Planted(**dict(zip(names, key, strict=True)), programs=frozenset(found)) for key, found in versions.items()]


def findings(attempt: Attempt) -> list[Finding]:
    """One finding per planted mistake of an attempt, in the order of its plan."""
    surfaced = _surfaced_crashes(attempt)
    culprit = _surfaced_result(attempt)
    found = []
    for mistake in attempt.plan:
        if mistake in surfaced:
            found.append(_crash_finding(attempt, mistake, surfaced[mistake]))
        elif mistake is culprit:
            cause = attempt.cause
            named = cause is not None and cause.category is not None
            right = cause is not None and cause.category == mistake.expected_category
            sorted_as = bin_of(cause.category, cause.runtime_type) if cause is not None else None
            found.append(
                Finding(mistake.label, attempt.unit, True, named, None, right if named else None, _planted_bin(mistake), sorted_as)
            )
        else:
            found.append(Finding(mistake.label, attempt.unit, False))
    return found


def _crash_finding(attempt: Attempt, mistake: Planted, commands: list[CommandEvent]) -> Finding:
    places = {(command.step, command.index) for command in commands}
    event = next((event for event in attempt.failures if (event.step, event.index) in places), None)
    planted = _planted_bin(mistake)
    if event is None:
        return Finding(mistake.label, attempt.unit, True, planted_bin=planted)
    answer = attempt.categories.get(event.event_id)
    right = answer is not None and answer.category == mistake.expected_category
    if right and answer is not None and mistake.expected_category == "runtime":
        right = answer.runtime_type == mistake.expected_type
    sorted_as = bin_of(answer.category, answer.runtime_type) if answer is not None else None
    return Finding(mistake.label, attempt.unit, True, True, event.failure_type == mistake.expected_type, right, planted, sorted_as)


def _planted_bin(mistake: Planted) -> str:
    return bin_of(mistake.expected_category, mistake.expected_type) or mistake.expected_category


def _surfaced_crashes(attempt: Attempt) -> dict[Planted, list[CommandEvent]]:
    """Crash mistakes that showed, with the commands that they broke. A command shows one mistake: the first, in the order of the
    plan, that its program holds, whose signature its output bears, and that no earlier command of the same version showed."""
    shown: dict[Planted, list[CommandEvent]] = {}
    for command, programs in _broken_commands(attempt.events):
        bearing = [m for m in attempt.plan if m.surfaces == "crash" and m.programs & programs and bears(command, m)]
        if bearing:
            fresh = [mistake for mistake in bearing if mistake not in shown]
            shown.setdefault((fresh or bearing)[0], []).append(command)
    return shown


def bears(command: CommandEvent, mistake: Planted) -> bool:
    """Whether a broken command bears the signature of a mistake: the recorder's facts for limits, else words of its output.

    A command that was stopped at its time limit shows that limit and nothing else.
    """
    if command.timed_out or mistake.expected_type == "time_limit":
        return command.timed_out and mistake.expected_type == "time_limit"
    if mistake.expected_type == "out_of_memory" and command.out_of_memory:
        return True
    return bool(mistake.signature) and mistake.signature in command.output_head + command.output_tail


def _broken_commands(events: Sequence[Event]) -> Iterable[tuple[CommandEvent, set[str]]]:
    """Executed code-running commands that did not end well, each with the sha256 of the files it can have run: those there were,
    and those that the same command wrote (they are recorded after it)."""
    current: dict[str, str] = {}
    for place, event in enumerate(events):
        if isinstance(event, FileEvent):
            current[event.path] = event.sha256
        elif isinstance(event, CommandEvent) and _broke(event):
            following = takewhile(lambda later: not isinstance(later, CommandEvent), events[place + 1 :])
            yield event, set(current.values()) | {later.sha256 for later in following if isinstance(later, FileEvent)}


def _broke(command: CommandEvent) -> bool:
    ran = command.kind is CommandKind.CODE_RUN and command.route is Route.EXECUTED
    return ran and (command.timed_out or command.out_of_memory or command.exit_code not in (0, None))


def _surfaced_result(attempt: Attempt) -> Planted | None:
    """The mistake that made the result wrong: the only one of its kind in the last program of an attempt that ended wrong although
    that program ran. With several nobody can say which it was, and none counts as surfaced."""
    if not attempt.ended_wrong:
        return None
    final = next((event for event in attempt.events if isinstance(event, FinalEvent)), None)
    if final is not None and final.exit_code != 0:
        return None
    last = {event.path: event.sha256 for event in attempt.events if isinstance(event, FileEvent)}
    left = [mistake for mistake in attempt.plan if mistake.programs & set(last.values())]
    results = [mistake for mistake in left if mistake.surfaces == "result"]
    return results[0] if len(results) == 1 and len(left) == 1 else None


def truth_rows(found: Iterable[Finding], study: str, simulated: bool, confidence: float = 0.95) -> list[Row]:
    """One row per planted kind, by name, then their total. Table `truth`; clusters are attempts."""
    found = list(found)
    kinds: dict[str, list[Finding]] = {}
    for finding in found:
        kinds.setdefault(finding.label, []).append(finding)
    rows = [_truth_row(kind, kinds[kind], study, simulated, confidence) for kind in sorted(kinds)]
    return [*rows, _truth_row("total", found, study, simulated, confidence)]


def _truth_row(kind: str, found: list[Finding], study: str, simulated: bool, confidence: float) -> Row:
    surfaced = [finding for finding in found if finding.surfaced]
    row: Row = {"kind": kind, "planted": len(found), "surfaced": len(surfaced)}
    for name in ("detected", "typed", "categorised"):
        answers = [getattr(finding, name) for finding in surfaced if getattr(finding, name) is not None]
        interval = wilson(sum(answers), len(answers), confidence)
        row |= {name: sum(answers), f"{name}_share": interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}
        row |= {} if name == "detected" else {f"{name}_n": len(answers)}
    clusters = len({finding.unit for finding in surfaced})
    return row | {"n": len(surfaced), "clusters": clusters, "interval_kind": "wilson", "study": study, "simulated": simulated}


def planted_mix_rows(found: Iterable[Finding], study: str, simulated: bool, statistics: Statistics, seed: int) -> list[Row]:
    """The mix of the planted mistakes that surfaced beside the mix that the pipeline made of them, one row per bin, the most planted first.

    Both are resampled by tasks, together. Table `planted_mix`; empty when nothing surfaced or nothing was recovered.
    """
    surfaced = [finding for finding in found if finding.surfaced]
    if not any(finding.found_bin for finding in surfaced):
        return []
    tasks = sorted({finding.task for finding in surfaced})
    planted: dict[str, Counter[str]] = {task: Counter() for task in tasks}
    recovered: dict[str, Counter[str]] = {task: Counter() for task in tasks}
    for finding in surfaced:
        planted[finding.task][finding.planted_bin] += 1
        if finding.found_bin is not None:
            recovered[finding.task][finding.found_bin] += 1
    totals = sum(planted.values(), Counter())
    bins = sorted(totals | sum(recovered.values(), Counter()), key=lambda name: (-totals[name], name))
    arrays = [counts_of([mix[task] for task in tasks], bins) for mix in (planted, recovered)]
    shares = [share_intervals(counts, statistics.confidence, statistics.draws, seed) for counts in arrays]
    distance, floor = distance_to_truth(arrays[0], arrays[1], statistics.confidence, statistics.draws, seed)
    return [
        {
            "bin": name,
            "planted": int(arrays[0][:, place].sum()),
            "recovered": int(arrays[1][:, place].sum()),
            **_interval("planted", shares[0][place], "planted_share"),
            **_interval("recovered", shares[1][place], "recovered_share"),
            **_interval("distance", distance, "distance"),
            "noise_floor": floor,
            "n": len(surfaced),
            "clusters": len(tasks),
            "interval_kind": distance.kind,
            "note": distance.note or shares[0][place].note,
            "study": study,
            "simulated": simulated,
        }
        for place, name in enumerate(bins)
    ]


def _interval(name: str, interval: Interval, estimate: str) -> Row:
    return {estimate: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}
