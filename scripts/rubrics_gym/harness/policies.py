"""What an arm does with a command: pure decisions of the arm's settings, logged draws included. An arm is data, never code."""

from __future__ import annotations

import random
from collections.abc import Collection
from enum import StrEnum

from rubrics_gym.harness.router import Part
from rubrics_gym.records.trajectory import CommandKind
from rubrics_gym.records.verdicts import Verdict
from rubrics_gym.settings.study import Arm, CodeRuns

FINAL_PROGRAM = "final.py"


class Treatment(StrEnum):
    """What happens to one command."""

    EXECUTE = "execute"
    NOTICE = "notice"  # withheld, the agent sees a fixed notice
    JUDGE = "judge"
    SUBMIT = "submit"


def treatments(arm: Arm, part: Part) -> list[Treatment]:
    """What happens to each piece of a part of a command line."""
    bare = len(part.pieces) == 1 and "|" not in part.pieces[0].text
    return [treatment(arm, piece.kind, bare) for piece in part.pieces]


def treatment(arm: Arm, kind: CommandKind, bare: bool = True) -> Treatment:
    """Everything but code is executed under every arm; the arm decides about code.

    `bare` says that the command stands alone, without a chain or a pipe. Under `installs: bare` any other install counts as code.
    """
    if kind is CommandKind.SUBMIT:
        return Treatment.SUBMIT
    is_code = kind is CommandKind.CODE_RUN or (kind is CommandKind.INSTALL and arm.installs == "bare" and not bare)
    if not is_code or arm.code_runs is CodeRuns.EXECUTE:
        return Treatment.EXECUTE
    return Treatment.JUDGE if arm.code_runs is CodeRuns.JUDGE else Treatment.NOTICE


def check_is_due(arm: Arm, code_commands: int) -> bool:
    """Whether a real check follows the `code_commands`-th code-running command (1-based) by the arm's schedule."""
    return arm.checks is not None and code_commands % arm.checks.every == 0


def escalation(arm: Arm, verdict: Verdict, seed: int, step: int, index: int) -> tuple[bool, str]:
    """Whether a judged command runs for real all the same, and the sentence for the record.

    The draw depends on the episode's seed and the place of the command alone. A verdict that abstained never escalates.
    """
    if verdict.flagged is None:
        return False, ""
    kind, chance = ("flagged", arm.escalate.flagged) if verdict.flagged else ("clean", arm.escalate.clean)
    if chance == 0:
        return False, ""
    draw = random.Random(f"escalate/{seed}/{step}/{index}").random()
    runs = draw < chance
    return runs, f"{kind} verdict: draw {draw:.6f} {'<' if runs else '>='} {chance:g}, {'escalated' if runs else 'not escalated'}"


def final_follows(arm: Arm, verdict: Verdict, escalated: bool, scripts: Collection[str], files: Collection[str]) -> bool:
    """Whether final.py really runs after a command that ran on a clean verdict: once there is one, and unless that command was it.

    `scripts` are the programs that the command ran, `files` the agent's files.
    """
    if arm.escalate.and_run is None or not escalated or verdict.flagged is not False:
        return False
    ran = {script.rsplit("/", 1)[-1] for script in scripts}
    return FINAL_PROGRAM in files and FINAL_PROGRAM not in ran


def hold_reason(arm: Arm, holds: int, crashed: bool, flagged: bool | None) -> str | None:
    """Why a submission is sent back, or None when it is taken. `crashed` and `flagged` are of the run and the verdict at this submit.

    A run that was stopped at its cap without a crash is censored: it neither passes nor holds.
    """
    if holds >= arm.submit.max_holds:
        return None
    if crashed and "crash" in arm.submit.hold_on:
        return "final.py ended with an error"
    if flagged and "flag" in arm.submit.hold_on:
        return "a criterion is predicted to be violated"
    return None
