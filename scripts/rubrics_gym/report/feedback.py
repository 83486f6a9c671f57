"""What the agent was shown in an episode, what it did next, and how its next real run ended; counted from the trajectory alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rubrics_gym.failures.detection import failed_command, typed
from rubrics_gym.failures.types import Rules
from rubrics_gym.judge.columns import NO_PREDICTION, predicted
from rubrics_gym.judge.exposure import bin_of
from rubrics_gym.judge.measuring import TypeRecall
from rubrics_gym.judge.rates import Rate, share
from rubrics_gym.judge.sampling import Sampled, SampledVerdict
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.records.trajectory import (
    CheckEvent,
    CommandEvent,
    CommandKind,
    Event,
    FileEvent,
    FinalEvent,
    Route,
    StartEvent,
    VerdictEvent,
)
from rubrics_gym.report.judges import NO_LIBRARY, cells, interval, of_rate
from rubrics_gym.report.writing import Row
from rubrics_gym.settings.study import Escalate
from rubrics_gym.statistics.intervals import mean_t

EVERY = "all"
_FINAL = ("python final.py", "python3 final.py")


@dataclass(frozen=True, slots=True)
class Shown:
    """Counts of one episode."""

    arm: str
    benchmark: str
    task: str
    code_commands: int
    executed: int
    verdicts: int
    flagged: int
    notices: int
    checks: int
    holds: int

    @property
    def feedback(self) -> int:
        return self.verdicts + self.notices + self.checks + self.holds


@dataclass(frozen=True, slots=True)
class Alarm:
    """One verdict that the agent was shown, and what followed.

    `failed` is what the judged command would have done: known where it ran, or where the same program ran later before any change; None
    elsewhere. `edited`: a code file changed before the next verdict. `passed`: how the next real run ended, after the change where there was
    one (None: there was no run, or it was stopped at its cap). `submitted`: the submission was taken with the program as it was judged.
    """

    benchmark: str
    task: str
    flagged: bool
    categories: frozenset[str]
    failed: bool | None
    edited: bool
    passed: bool | None
    submitted: bool
    rubrics: frozenset[str] = frozenset()  # ids of those that were violated


def shown(events: Sequence[Event]) -> Shown:
    """What one episode showed its agent."""
    start = _start(events)
    commands = [event for event in events if isinstance(event, CommandEvent)]
    code = [command for command in commands if command.kind is CommandKind.CODE_RUN]
    verdicts = [event for event in events if isinstance(event, VerdictEvent) and event.shown]
    return Shown(
        arm=start.arm,
        benchmark=start.benchmark,
        task=start.task,
        code_commands=len(code),
        executed=sum(command.route is Route.EXECUTED for command in code),
        verdicts=len(verdicts),
        flagged=sum(bool(event.verdict.flagged) for event in verdicts),
        notices=sum(command.route is Route.WITHHELD for command in code),
        checks=sum(isinstance(event, CheckEvent) and event.reason != "submit" for event in events),
        holds=sum(command.route is Route.HELD for command in commands),
    )


def alarms(events: Sequence[Event], rubrics: Mapping[str, Rubric], rules: Rules) -> list[Alarm]:
    """Every verdict that the agent of one episode was shown, in order; `events` with the final run at the end, where there was one."""
    start = _start(events)
    places = [
        place for place, event in enumerate(events) if isinstance(event, VerdictEvent) and event.shown and event.verdict.flagged is not None
    ]
    found = []
    for number, place in enumerate(places):
        event = events[place]
        assert isinstance(event, VerdictEvent)
        until = places[number + 1] if number + 1 < len(places) else len(events)
        edit = next((at for at in range(place + 1, len(events)) if _is_edit(events[at])), len(events))
        violated = [one.rubric_id for one in event.verdict.criteria if one.applicable and one.violated and one.rubric_id is not None]
        found.append(
            Alarm(
                benchmark=start.benchmark,
                task=start.task,
                flagged=bool(event.verdict.flagged),
                categories=frozenset(bin_of(rubrics[key]) for key in violated if key in rubrics),
                failed=_truth(event, events[place + 1 : edit], rules),
                edited=edit < until,
                passed=_next_run(event, events[edit if edit < until else place + 1 :]),
                submitted=any(_taken(one) for one in events[place + 1 : min(edit, until)]),
                rubrics=frozenset(violated),
            )
        )
    return found


def sampled_verdicts(events: Sequence[Event], escalate: Escalate, rubrics: Mapping[str, Rubric], rules: Rules) -> list[SampledVerdict]:
    """The verdicts of one episode about code commands, each with the chance that its arm ran the command all the same, and what came of it."""
    start = _start(events)
    kinds = {key: rubric.kind for key, rubric in rubrics.items()}
    commands = {
        (event.step, event.index): event for event in events if isinstance(event, CommandEvent) and event.kind is CommandKind.CODE_RUN
    }
    found = []
    for event in events:
        command = commands.get((event.step, event.index)) if isinstance(event, VerdictEvent) else None
        if not isinstance(event, VerdictEvent) or command is None:
            continue
        said = predicted(event.verdict, kinds)[0]
        ran = command.route is Route.EXECUTED
        failed = failed_command(command, rules) if ran else None
        found.append(
            SampledVerdict(
                unit=start.unit,
                benchmark=start.benchmark,
                task=start.task,
                step=event.step,
                index=event.index,
                judge=event.verdict.judge,
                library=event.verdict.library,
                flagged=None if said == NO_PREDICTION else bool(said),
                probability=0.0 if event.verdict.flagged is None else escalate.flagged if event.verdict.flagged else escalate.clean,
                ran=ran,
                failed=failed,
                failure_type=typed(command, rules).type if failed else None,
            )
        )
    return found


def _start(events: Sequence[Event]) -> StartEvent:
    start = next((event for event in events if isinstance(event, StartEvent)), None)
    if start is None:
        raise ValueError("a trajectory begins with a start event; this one has none: its file was cut or edited")
    return start


def _is_edit(event: Event) -> bool:
    return isinstance(event, FileEvent) and event.text is not None


def _taken(event: Event) -> bool:
    return isinstance(event, CommandEvent) and event.kind is CommandKind.SUBMIT and event.route is Route.EXECUTED


def _truth(verdict: VerdictEvent, before_edit: Iterable[Event], rules: Rules) -> bool | None:
    """What the judged command did, or the same program at a later check or final run without a change between."""
    runs_final = False
    for event in before_edit:
        if isinstance(event, CommandEvent) and (event.step, event.index) == (verdict.step, verdict.index):
            if event.kind is CommandKind.CODE_RUN and event.route is Route.EXECUTED:
                return failed_command(event, rules)
            runs_final = event.text.strip() in _FINAL or event.kind is CommandKind.SUBMIT
        elif runs_final and isinstance(event, CheckEvent | FinalEvent):
            return None if event.timed_out or event.exit_code is None else event.exit_code != 0
    return None


def _next_run(verdict: VerdictEvent, later: Iterable[Event]) -> bool | None:
    """Whether the next real run ended with 0; that of the judged command itself is not next."""
    for event in later:
        own = isinstance(event, CommandEvent) and (event.step, event.index) == (verdict.step, verdict.index)
        ran = isinstance(event, CommandEvent) and event.kind is CommandKind.CODE_RUN and event.route is Route.EXECUTED
        if (ran and not own) or isinstance(event, CheckEvent | FinalEvent):
            assert isinstance(event, CommandEvent | CheckEvent | FinalEvent)
            return None if event.timed_out or event.exit_code is None else event.exit_code == 0
    return None


# ---------------------------------------------------------------- rows


def feedback_rows(episodes: Iterable[Shown], study: str, simulated: bool, confidence: float = 0.95) -> list[Row]:
    """One row per arm, in the order of first appearance. Table `feedback`."""
    groups: dict[str, list[Shown]] = {}
    for episode in episodes:
        groups.setdefault(episode.arm, []).append(episode)
    rows = []
    for arm, members in groups.items():
        by_task: dict[tuple[str, str], list[int]] = {}
        for one in members:
            by_task.setdefault((one.benchmark, one.task), []).append(one.feedback)
        mean = mean_t([float(np.mean(counts)) for counts in by_task.values()], confidence, len(members))
        rows.append(
            {
                "arm": arm,
                "episodes": len(members),
                "code_commands": sum(one.code_commands for one in members),
                "executed": sum(one.executed for one in members),
                "verdicts_shown": sum(one.verdicts for one in members),
                "flagged_shown": sum(one.flagged for one in members),
                "notices": sum(one.notices for one in members),
                "checks_shown": sum(one.checks for one in members),
                "holds": sum(one.holds for one in members),
                "per_episode": mean.estimate,
                "per_episode_low": None if mean.low is None else max(0.0, mean.low),
                "per_episode_high": mean.high,
                "n": mean.n,
                "clusters": mean.clusters,
                "interval_kind": mean.kind,
                "note": mean.note,
                "study": study,
                "simulated": simulated,
            }
        )
    return rows


def alarm_rows(arm: str, library: str | None, found: Sequence[Alarm], study: str, simulated: bool, confidence: float = 0.95) -> list[Row]:
    """What followed on the verdicts of one arm: over all, and for the categories of the rubrics that flagged. Table `alarms`."""
    names = sorted({category for alarm in found for category in alarm.categories})
    rows = []
    for category in [EVERY, *names]:
        chosen = [alarm for alarm in found if category == EVERY or category in alarm.categories]
        for question, rate, count in _answers(chosen, category == EVERY, confidence):
            rows.append(
                {
                    "arm": arm,
                    "library": library or NO_LIBRARY,
                    "category": category,
                    "question": question,
                    **interval("share", rate),
                    "count": count,
                    **of_rate(rate),
                    "study": study,
                    "simulated": simulated,
                }
            )
    return rows


def _answers(found: Sequence[Alarm], whole: bool, confidence: float) -> list[tuple[str, Rate, int]]:
    names = {name: code for code, name in enumerate(sorted({(alarm.benchmark, alarm.task) for alarm in found}))}
    clusters = np.array([names[alarm.benchmark, alarm.task] for alarm in found], dtype=int)

    def column(name: str, value: bool) -> np.ndarray:
        return np.array([getattr(alarm, name) is value for alarm in found], dtype=bool)

    flagged, edited, passed = column("flagged", True), column("edited", True), column("passed", True)
    run_known, true, false = passed | column("passed", False), column("failed", True), column("failed", False)
    asked = [
        ("changes the code after a flag", edited, flagged, "no verdict was flagged"),
        ("next real run passes after a flag", passed, flagged & run_known, "no real run followed a flag"),
        ("submits as it is after a flag", column("submitted", True), flagged, "no verdict was flagged"),
    ]
    if whole:
        asked += [
            ("changes the code after a clean verdict", edited, ~flagged, "no verdict was clean"),
            ("next real run passes after a true alarm", passed, flagged & true & run_known & edited, "no true alarm is known to have been followed by a change and a run"),
            ("next real run fails after a false alarm", ~passed, flagged & false & run_known & edited, "no false alarm is known to have been followed by a change and a run"),
            ("submits as it is despite a true alarm", column("submitted", True), flagged & true, "no alarm is known to be true"),
        ]  # fmt: skip
    return [(question, share(clusters, hit, of, confidence, why_not), int((hit & of).sum())) for question, hit, of, why_not in asked]


def rubric_alarm_rows(
    arm: str, library: str, found: Sequence[Alarm], rubrics: Mapping[str, Rubric], study: str, simulated: bool
) -> list[Row]:
    """One row per rubric that was violated before the agent of one arm, those that did harm first. Table `rubric_alarms`; counts only."""
    rows = []
    for key in sorted({key for alarm in found for key in alarm.rubrics}):
        mine = [alarm for alarm in found if key in alarm.rubrics]
        false = [alarm for alarm in mine if alarm.failed is False]
        rows.append(
            {
                "arm": arm,
                "library": library,
                "rubric": key,
                "title": rubrics[key].title if key in rubrics else "",
                "category": bin_of(rubrics[key]) if key in rubrics else "",
                "alarms": len(mine),
                "changed": sum(alarm.edited for alarm in mine),
                "true": sum(alarm.failed is True for alarm in mine),
                "false": len(false),
                "unknown": sum(alarm.failed is None for alarm in mine),
                "passed_after": sum(alarm.edited and alarm.passed is True for alarm in mine),
                "harmed": sum(alarm.edited and alarm.passed is False for alarm in false),
                "clusters": len({(alarm.benchmark, alarm.task) for alarm in mine}),
                "study": study,
                "simulated": simulated,
            }
        )
    return sorted(rows, key=lambda row: (-row["harmed"], -row["false"], row["rubric"]))


def sampled_type_rows(arm: str, source: str, found: Iterable[TypeRecall], study: str, simulated: bool) -> list[Row]:
    """One arm and way in which commands came to be run, type by type. Table `sampled_types`."""
    return [
        {
            "arm": arm,
            "library": line.library or NO_LIBRARY,
            "source": source,
            "failure_type": line.failure_type,
            **interval("recall", line.recall),
            **of_rate(line.recall),
            "study": study,
            "simulated": simulated,
        }
        for line in found
    ]


def sampled_row(arm: str, source: str, found: Sampled, flips: Rate, study: str, simulated: bool) -> Row:
    """One arm and way in which commands came to be run, with the noise of outcomes (judge.sampling.outcome_flips). Table `sampled`."""
    rates = {name: getattr(found, name) for name in ("precision", "recall", "specificity", "npv", "prevalence", "recall_stratified")}
    rates["outcome_flips"] = flips
    notes = [f"{name}: {rate.note}" for name, rate in rates.items() if rate.note]
    return {
        "arm": arm,
        "library": found.library or NO_LIBRARY,
        "source": source,
        "verdicts": found.verdicts,
        "verified": found.verified,
        "effective": found.effective,
        "unknown": found.unknown,
        **{key: value for name, rate in rates.items() for key, value in cells(name, rate).items()},
        "n": found.verified,
        "clusters": found.prevalence.clusters,
        "interval_kind": found.npv.interval,
        "note": "; ".join(notes),
        "study": study,
        "simulated": simulated,
    }
