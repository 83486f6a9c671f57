"""What becomes of a command line: each part is executed, judged or withheld, recorded, and turned into what the agent is shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rubrics_gym.harness import policies
from rubrics_gym.harness.data_profile import profile_folder
from rubrics_gym.harness.policies import Treatment
from rubrics_gym.harness.router import Part, Piece, classify
from rubrics_gym.harness.sandbox import CommandResult, Sandbox
from rubrics_gym.harness.snapshots import Snapshots
from rubrics_gym.harness.view import JudgeView
from rubrics_gym.harness.world import WorkFolder, world_event
from rubrics_gym.models.prompts import Prompt
from rubrics_gym.records.trajectory import (
    CheckEvent,
    ClockEvent,
    CommandEvent,
    CommandKind,
    Event,
    Route,
    SnapshotEvent,
    VerdictEvent,
    WorldEvent,
)
from rubrics_gym.records.verdicts import JudgedAction, Verdict
from rubrics_gym.settings.study import Arm, Sight

Judge = Callable[[JudgedAction], Verdict]
FINAL_COMMAND = f"python {policies.FINAL_PROGRAM}"
_ERROR_WORD = re.compile(r"Traceback \(most recent call last\)|\bError\b|\bKilled\b|Segmentation fault|command not found")


@dataclass
class Reply:
    """What the agent is shown for one command line, and whether it handed in."""

    shown: str
    submitted: bool = False


class Commands:
    """Carries out the command lines of one attempt under its arm's policy.

    `record` takes every event in order; `time_left` gives the seconds that the attempt still has; `outputs` is a folder for
    full outputs, `snapshots` keeps what a later run of a predicted command needs. `executed`, `code_commands`, `holds`, `working_s` and `waited_s` (of it, without a processor) count what happened.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        arm: Arm,
        seed: int,
        judge: Judge | None,
        feedback: Prompt,
        record: Callable[[Event], None],
        time_left: Callable[[], float],
        outputs: Path | None = None,
        snapshots: Snapshots | None = None,
    ):
        self._sandbox = sandbox
        self._arm = arm
        self._seed = seed
        self._judge = judge
        self._feedback = feedback
        self._record_event = record
        self._time_left = time_left
        self._outputs = outputs
        self._snapshots = snapshots
        self._work = WorkFolder(sandbox.work)
        self._data_profile = profile_folder(sandbox.data)
        self._world: WorldEvent | None = None
        self._view = JudgeView(arm.judge.sees if arm.judge else ())
        self._index = 0
        self.executed = 0
        self.code_commands = 0
        self.holds = 0
        self.working_s = 0.0
        self.waited_s = 0.0

    def observe(self, event: Event) -> None:
        """Let the judge's view take in an event that somebody else recorded (the start)."""
        self._view.observe(event)

    def begin_turn(self) -> None:
        """Number the commands of the next turn from 0."""
        self._index = 0

    def run_line(self, step: int, line: str) -> Reply:
        """Carry out one command line, part by part in order. A submission that is taken ends it."""
        shown: list[str] = []
        state: list[str] = []  # what later parts need of the shell's state: every part runs in a shell of its own
        status: int | None = None
        for part in classify(line):
            before = [f"(exit {status})"] if status and "$?" in part.text else []
            reply, status = self._part(step, part, [*state, *before])
            shown.append(reply.shown)
            if reply.submitted:
                return Reply("\n".join(shown), submitted=True)
            if _ends_line(part, state, status):
                break
            state += [piece.state for piece in part.pieces if piece.state]
        return Reply("\n".join(shown) or self._feedback.render("executed", output="", exit_code=0))

    def look_around(self, step: int) -> None:
        """Record the agent's files, and the world when it is not as it was recorded last."""
        for event in self._work.changes(step):
            self._record(event)
        sandbox = self._sandbox
        world = world_event(step, self._work, sandbox.data, sandbox.settings, sandbox.limits, self._data_profile)
        if self._world is None or self._world.model_copy(update={"step": step}) != world:
            self._world = world
            self._record(world)

    # ------------------------------------------------------------ parts and pieces

    def _part(self, step: int, part: Part, state: list[str]) -> tuple[Reply, int | None]:
        """One part of a line; returns the exit status that the shell would go on with (None: not known, something was withheld)."""
        treatments = policies.treatments(self._arm, part)
        if set(treatments) == {Treatment.EXECUTE}:
            return self._execute(step, part.text, part.kind, state, part.reason, part.hides_failure)
        shown: list[str] = []
        status: int | None = None
        own_state = list(state)
        for number, piece in enumerate(part.pieces):
            if number and status is None:
                shown.append(self._withhold(step, piece))
                continue
            if number and (status == 0) != (piece.operator == "&&"):
                continue  # the shell would not get here either
            reply, status = self._piece(step, piece, treatments[number], own_state)
            shown.append(reply.shown)
            if reply.submitted:
                return Reply("\n".join(shown), submitted=True), status
            own_state += [piece.state] if piece.state else []
        return Reply("\n".join(shown)), status

    def _piece(self, step: int, piece: Piece, treatment: Treatment, state: list[str]) -> tuple[Reply, int | None]:
        match treatment:
            case Treatment.SUBMIT:
                return self._submit(step, piece), 0
            case Treatment.NOTICE:
                return self._notice(step, piece)
            case Treatment.JUDGE:
                return self._judged(step, piece, state)
            case _:
                return self._execute(step, piece.text, piece.kind, state, piece.reason, piece.compound)

    def _execute(
        self, step: int, text: str, kind: CommandKind, state: list[str], reason: str, hides_failure: bool, note: str = ""
    ) -> tuple[Reply, int | None]:
        if kind is CommandKind.CODE_RUN:
            self.code_commands += not note  # an escalated command was counted when it was judged
            self.look_around(step)
        index = self._next_index()
        limit = self._sandbox.limits.command_s
        result = self._run("\n".join([*map(silently, state), text]), limit, f"{step:03}-{index:02}.txt")
        shown = self._result_shown(result, limit)
        reasons = "; ".join(filter(None, [reason, note]))
        self._record(command_event(step, index, text, result, hides_failure, kind=kind, shown=shown, reason=reasons))
        self.executed += 1
        self._look_at_files(step, kind)
        if kind is CommandKind.CODE_RUN and not note:
            shown = "\n".join(filter(None, [shown, self._scheduled_check(step)]))
        return Reply(shown), 124 if result.timed_out else result.exit_code

    def _notice(self, step: int, piece: Piece) -> tuple[Reply, None]:
        self.code_commands += 1
        self.look_around(step)
        shown = self._feedback.render("notice")
        self._record_unexecuted(step, piece, Route.WITHHELD, shown)
        return Reply("\n".join(filter(None, [shown, self._scheduled_check(step)]))), None

    def _withhold(self, step: int, piece: Piece) -> str:
        shown = self._feedback.render("withheld")
        self._record_unexecuted(step, piece, Route.WITHHELD, shown, "hangs on a command that was not executed")
        return shown

    def _judged(self, step: int, piece: Piece, state: list[str]) -> tuple[Reply, int | None]:
        self.code_commands += 1
        self.look_around(step)
        verdict = self._ask_judge(step, piece.text)
        runs, note = policies.escalation(self._arm, verdict, self._seed, step, self._index)
        shown = "" if runs else self._verdict_shown(verdict)
        self._record(VerdictEvent(step=step, index=self._index, command=piece.text, verdict=verdict, shown=shown))
        status: int | None = None
        if runs:
            reply, status = self._execute(step, piece.text, piece.kind, state, piece.reason, piece.compound, note)
            shown = reply.shown
            if policies.final_follows(self._arm, verdict, runs, piece.scripts, self._work.sizes()):
                shown = f"{shown}\n{self._check(step, 'clean_verdict', self._sandbox.limits.command_s)[0]}"
        else:
            self._take_snapshot(step, piece, state)
            self._record_unexecuted(step, piece, Route.PREDICTED, shown, note)
        return Reply("\n".join(filter(None, [shown, self._scheduled_check(step)]))), status

    def _take_snapshot(self, step: int, piece: Piece, state: list[str]) -> None:
        taken = self._snapshots.take() if self._snapshots else None
        if taken is not None:
            self._record(
                SnapshotEvent(step=step, index=self._index, text=piece.text, state=tuple(state), hides_failure=piece.compound, sha256=taken)
            )

    def _record_unexecuted(self, step: int, piece: Piece, route: Route, shown: str, note: str = "") -> None:
        reason = "; ".join(filter(None, [piece.reason, note]))
        self._record(
            CommandEvent(step=step, index=self._next_index(), text=piece.text, kind=piece.kind, route=route, shown=shown, reason=reason)
        )

    # ------------------------------------------------------------ checks and submissions

    def _scheduled_check(self, step: int) -> str:
        if self._arm.checks is None or not policies.check_is_due(self._arm, self.code_commands):
            return ""
        return self._check(step, "schedule", self._arm.checks.cap_s)[0]

    def _check(self, step: int, reason: Literal["schedule", "submit", "clean_verdict"], cap_s: float) -> tuple[str, bool]:
        """Run final.py for real under a cap. Returns what the agent is shown, and whether it crashed (a run that is cut off did not)."""
        index = self._index
        result = self._run(FINAL_COMMAND, cap_s, f"{step:03}-{index:02}-{reason}.txt")
        if result.timed_out:
            words = "It was stopped at this limit; how it would end is not known."
        else:
            words = f"It ended with exit code {result.exit_code}."
        shown = self._feedback.render("check", seconds=f"{cap_s:g}", result=words, output=result.output.text.rstrip("\n"))
        self._record(
            CheckEvent(
                step=step,
                index=index,
                reason=reason,
                text=FINAL_COMMAND,
                exit_code=result.exit_code,
                timed_out=result.timed_out,
                out_of_memory=result.out_of_memory,
                duration_s=round(result.duration_s, 3),
                output_tail=result.output.tail,
                shown=shown,
            )
        )
        self._look_at_files(step, CommandKind.CODE_RUN)
        return shown, not result.timed_out and result.exit_code != 0

    def _submit(self, step: int, piece: Piece) -> Reply:
        crashed, flagged, seen = False, None, ""
        if self._arm.submit.run_final:
            seen, crashed = self._check(step, "submit", self._arm.submit.cap_s)
        if "flag" in self._arm.submit.hold_on and self._judge is not None:
            self.look_around(step)
            verdict = self._ask_judge(step, FINAL_COMMAND)
            flagged = verdict.flagged
            predicted = self._verdict_shown(verdict)
            self._record(
                VerdictEvent(step=step, index=self._index, command=FINAL_COMMAND, verdict=verdict, shown=predicted if flagged else "")
            )
            seen = "\n".join(filter(None, [seen, predicted if flagged else ""]))
        held = policies.hold_reason(self._arm, self.holds, crashed, flagged)
        if held is None:
            self._record(
                CommandEvent(step=step, index=self._next_index(), text=piece.text, kind=piece.kind, route=Route.EXECUTED, exit_code=0)
            )
            return Reply("", submitted=True)
        self.holds += 1
        shown = self._feedback.render("held", reason=held, output=seen)
        self._record_unexecuted(step, piece, Route.HELD, shown, held)
        return Reply(shown)

    # ------------------------------------------------------------ small things

    def _run(self, command: str, limit_s: float, output: str) -> CommandResult:
        path = self._outputs / output if self._outputs else None
        result = self._sandbox.run(command, max(0.1, min(limit_s, self._time_left())), path)
        self.working_s += result.duration_s
        self.waited_s += result.waited_s
        return result

    def _ask_judge(self, step: int, command: str) -> Verdict:
        if self._judge is None:
            raise ValueError("The arm lets a judge predict commands, but no judge was given to the episode.")
        if self._arm.judge is not None and Sight.TIME_LEFT in self._arm.judge.sees:
            left = max(0, int(self._time_left()))
            self._record(ClockEvent(step=step, time_left_s=left, steps_left=self._sandbox.limits.steps - step))
        return self._judge(self._view.action(command))

    def _look_at_files(self, step: int, kind: CommandKind) -> None:
        if kind is CommandKind.INSTALL:
            self.look_around(step)
        else:
            for event in self._work.changes(step):
                self._record(event)

    def _result_shown(self, result: CommandResult, limit_s: float) -> str:
        output = result.output.text.rstrip("\n")
        if result.timed_out:
            return self._feedback.render("timed_out", output=output, seconds=f"{limit_s:g}")
        return self._feedback.render("executed", output=output, exit_code=result.exit_code)

    def _verdict_shown(self, verdict: Verdict) -> str:
        if verdict.abstained or verdict.flagged is None:
            return self._feedback.render("no_verdict")
        applicable = [criterion for criterion in verdict.criteria if criterion.applicable]
        preamble = self._arm.preamble
        return self._feedback.render("verdict", preamble=preamble, predicted_reward=verdict.predicted_reward, criteria=applicable)

    def _next_index(self) -> int:
        self._index += 1
        return self._index - 1

    def _record(self, event: Event) -> None:
        self._record_event(event)
        self._view.observe(event)


def command_event(
    step: int,
    index: int,
    text: str,
    result: CommandResult,
    hides_failure: bool,
    kind: CommandKind = CommandKind.CODE_RUN,
    shown: str = "",
    reason: str = "",
) -> CommandEvent:
    """The record of an executed command."""
    return CommandEvent(
        step=step,
        index=index,
        text=text,
        kind=kind,
        route=Route.EXECUTED,
        exit_code=result.exit_code,
        timed_out=result.timed_out,
        out_of_memory=result.out_of_memory,
        masked_pipe=hides_failure and result.exit_code == 0 and bool(_ERROR_WORD.search(result.output.tail)),
        duration_s=round(result.duration_s, 3),
        output_head=result.output.head,
        output_tail=result.output.tail,
        output_bytes=result.output.bytes,
        output_sha256=result.output.sha256,
        shown=shown,
        reason=reason,
    )


def silently(state: str) -> str:
    """A piece that sets the shell's state once more, without its output."""
    return f"{{ {state}\n}} >/dev/null 2>&1"


def _ends_line(part: Part, state: list[str], status: int | None) -> bool:
    """Whether the shell would stop here: after `exit`, or after a failure under `set -e`."""
    if status is None:
        return False
    words = [piece.text.split()[:1] for piece in part.pieces]
    if ["exit"] in words:
        return len(words) == 1 or status != 0
    return status != 0 and any(re.search(r"\bset\s+-\w*e", text) for text in state)
