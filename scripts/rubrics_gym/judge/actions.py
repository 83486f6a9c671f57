"""The judged actions of a recorded trajectory, rebuilt from the record alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from rubrics_gym.harness.view import JudgeView
from rubrics_gym.records.trajectory import CommandEvent, CommandKind, Event, Route, VerdictEvent
from rubrics_gym.records.verdicts import JudgedAction
from rubrics_gym.settings.study import Sight


class NotExecuted(ValueError):
    """A replay met a command that was not executed: what would have come of it is not known."""


def judged_actions(events: Iterable[Event], sees: Collection[Sight]) -> Iterator[tuple[CommandEvent, JudgedAction]]:
    """Every code-running command of an attempt with what a judge may know about it just before it runs, in order.

    The same code builds the actions of a live episode (harness.view). Raises NotExecuted at a code-running command that did not run.
    """
    view = JudgeView(sees)
    for event in events:
        if isinstance(event, CommandEvent) and event.kind is CommandKind.CODE_RUN:
            if event.route is not Route.EXECUTED:
                raise NotExecuted(
                    f"step {event.step}, command {event.index} was {event.route.value}, not executed: "
                    "a judge can be replayed only over episodes in which every command runs (code_runs: execute)"
                )
            yield event, view.action(event.text)
        view.observe(event)


def recorded_actions(events: Iterable[Event], sees: Collection[Sight]) -> Iterator[tuple[VerdictEvent, JudgedAction]]:
    """Every verdict of an attempt under a judge, with what the judge knew when it gave it, from the record alone."""
    view = JudgeView(sees)
    for event in events:
        if isinstance(event, VerdictEvent):
            yield event, view.action(event.command)
        view.observe(event)
