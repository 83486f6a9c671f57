"""The episode: a model turn, its commands, what the agent is shown, the record; again until it submits or a limit ends it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from rubrics_gym.harness.conversation import ContextFull, fitted
from rubrics_gym.harness.execution import Commands, Judge
from rubrics_gym.harness.recorder import Recorder
from rubrics_gym.harness.sandbox import DiskReserve, Sandbox, SandboxDied
from rubrics_gym.harness.snapshots import Snapshots
from rubrics_gym.harness.world import regular_files
from rubrics_gym.models.client import Answer
from rubrics_gym.models.prompts import Prompt
from rubrics_gym.models.request import Message, ProviderError, Request, Tool, ToolCall, ToolResult
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.records.tasks import Task
from rubrics_gym.records.trajectory import EndEvent, MessageEvent, StartEvent, ToolCallRecord
from rubrics_gym.settings.study import Arm, Limits, ModelSettings

PROTOCOL = "rubrics-gym/harness/2"
BASH = Tool(
    name="bash",
    description="Run a command line in /workspace and read its output. The command `submit` hands in.",
    parameters={"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"], "additionalProperties": False},
)
_SHARES = ((0.5, "more than half"), (0.25, "less than half"), (0.1, "less than a quarter"), (0.03, "less than a tenth"))


class Asks(Protocol):
    """Whoever answers the agent's requests: a client of a model, or an agent without one."""

    def ask(self, request: Request, occurrence: int = 0) -> Answer: ...


@dataclass(frozen=True)
class Attempt:
    """What an attempt is: the unit of work, the task, the policy, the limits and where its chances come from."""

    unit: str
    number: int  # 1-based try at this unit; 0 in the record of a slot that was never begun
    task: Task
    arm_name: str
    arm: Arm
    limits: Limits
    model: ModelSettings
    seed: int
    code: str  # fingerprint of the code that makes it
    lost_attempts: tuple[str, ...] = ()


def start_event(attempt: Attempt, at: str) -> StartEvent:
    """The first line of an attempt's record."""
    return StartEvent(
        at=at,
        unit=attempt.unit,
        attempt=attempt.number,
        benchmark=attempt.task.benchmark,
        task=attempt.task.id,
        statement=attempt.task.statement,
        deliverable=attempt.task.deliverable,
        seed=attempt.seed,
        model=attempt.model.model,
        arm=attempt.arm_name,
        limits=attempt.limits.model_dump(mode="json"),
        protocol=PROTOCOL,
        code=attempt.code,
        lost_attempts=attempt.lost_attempts,
    )


class _Ended(Exception):
    """The episode is over: `reason` for the record, `outcome` when no grader needs to be asked."""

    def __init__(self, reason: str, outcome: Outcome | None = None):
        super().__init__(reason)
        self.reason = reason
        self.outcome = outcome


def run_episode(
    attempt: Attempt,
    client: Asks,
    judge: Judge | None,
    sandbox: Sandbox,
    recorder: Recorder,
    agent_prompt: Prompt,
    feedback: Prompt,
    outputs: Path | None = None,
    snapshots: Snapshots | None = None,
) -> EndEvent:
    """Run one attempt to its end and record all of it; `outputs` is a folder for the full outputs of its commands.

    `snapshots` keeps the work folder before every command that a prediction stands in for.

    Whatever ends the attempt, the agent's doing or a loss, is an end event; only a failure to record raises.
    """
    episode = _Episode(attempt, client, judge, sandbox, recorder, agent_prompt, feedback, outputs, snapshots)
    try:
        episode.start()
        while True:
            episode.turn()
    except _Ended as end:
        return episode.finish(end.reason, end.outcome)
    except SandboxDied:
        return episode.finish("sandbox_died", Outcome.SANDBOX_DIED)
    except DiskReserve:
        return episode.finish("disk_reserve", Outcome.DISK_RESERVE)
    except ProviderError as error:  # of the judge, about more than one request: a loss, never feedback
        return episode.finish(f"provider_error:{error.kind}", Outcome.PROVIDER_ERROR)


@dataclass
class _Episode:
    attempt: Attempt
    client: Asks
    judge: Judge | None
    sandbox: Sandbox
    recorder: Recorder
    agent_prompt: Prompt
    feedback: Prompt
    outputs: Path | None
    snapshots: Snapshots | None
    messages: list[Message] = field(default_factory=list)
    steps: int = 0
    malformed: int = 0
    cost: int = 0  # micro-dollars
    tokens: int = 0
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        attempt = self.attempt
        self.commands = Commands(
            self.sandbox,
            attempt.arm,
            attempt.seed,
            self.judge,
            self.feedback,
            self.recorder.append,
            self.time_left,
            self.outputs,
            self.snapshots,
        )

    def start(self) -> None:
        attempt, task, limits = self.attempt, self.attempt.task, self.attempt.limits
        start = start_event(attempt, _now())
        self.recorder.append(start)
        self.commands.observe(start)
        self.system = self.agent_prompt.render(
            "system",
            deliverable=task.deliverable,
            steps=limits.steps,
            final_s=f"{limits.final_s:g}",
            command_s=f"{limits.command_s:g}",
            memory_mb=limits.memory_mb,
            network=self.sandbox.settings.network.value,
        )
        files = "\n".join(f"{path} ({status.st_size} bytes)" for path, status in regular_files(self.sandbox.data))
        self.recorder.append(MessageEvent(step=0, role="system", text=self.system))
        self.say(Message(role="user", text=self.agent_prompt.render("user", statement=task.statement, files=files)))
        self.commands.look_around(step=0)

    def turn(self) -> None:
        self.check_limits()
        self.steps += 1
        answer = self.ask()
        calls = answer.response.tool_calls
        self.hear(answer)
        self.commands.begin_turn()
        results = tuple(ToolResult(id=call.id, content=self.carry_out(call)) for call in calls)
        self.malformed = 0 if any(_command(call) for call in calls) else self.malformed + 1
        if self.malformed >= self.attempt.limits.malformed_turns:
            raise _Ended("no_commands")
        missing = "" if calls else self.feedback.render("malformed")
        self.say(Message(role="user", text="\n".join(filter(None, [missing, self.budget()])), tool_results=results))

    def check_limits(self) -> None:
        limits, spent = self.attempt.limits, self.spent
        reached = {
            "steps": self.steps >= limits.steps,
            "tokens": limits.tokens is not None and spent.tokens >= limits.tokens,
            "wall": spent.wall_s >= limits.wall_s,
            "working": spent.working_s >= limits.working_s,
        }
        for name in (name for name, is_reached in reached.items() if is_reached):
            raise _Ended(f"limit:{name}", Outcome.LIMIT_REACHED)

    def budget(self) -> str:
        """What is left, as the agent is told. Time in broad words: what a measured second changes, no stored answer would fit again."""
        limits, spent = self.attempt.limits, self.spent
        return self.feedback.render(
            "budget",
            steps=limits.steps - self.steps,
            usd=f"{max(0.0, limits.cost_usd - self.cost / 1e6):.2f}",
            tokens=None if limits.tokens is None else max(0, limits.tokens - spent.tokens),
            time=_share(min(1 - spent.wall_s / limits.wall_s, 1 - spent.working_s / limits.working_s)),
        )

    def ask(self) -> Answer:
        attempt = self.attempt
        try:
            request = Request(
                purpose="agent",
                model=attempt.model.model,
                system=self.system,
                messages=fitted(self.messages),
                tools=(BASH,),
                max_tokens=attempt.model.max_tokens,
                seed=attempt.seed,
                effort=attempt.model.effort,
            )
            answer = self.client.ask(request)
        except ContextFull:
            raise _Ended("limit:context", Outcome.LIMIT_REACHED) from None
        except ProviderError as error:
            if error.kind in ("budget", "requests"):
                raise _Ended("limit:cost" if error.kind == "budget" else "limit:requests", Outcome.LIMIT_REACHED) from None
            if error.kind == "context_length":
                raise _Ended("limit:context", Outcome.LIMIT_REACHED) from None
            raise _Ended(f"provider_error:{error.kind}", Outcome.PROVIDER_ERROR) from None
        self.cost += answer.cost_microdollars
        self.tokens += sum(answer.response.usage.model_dump().values())
        return answer

    def carry_out(self, call: ToolCall) -> str:
        """The text that answers one tool call. A submission that is taken ends the episode."""
        command = _command(call)
        if command is None:
            return self.feedback.render("malformed")
        reply = self.commands.run_line(self.steps, command)
        if reply.submitted:
            raise _Ended("submitted")
        return reply.shown

    def hear(self, answer: Answer) -> None:
        response = answer.response
        self.messages.append(response.turn())
        self.recorder.append(
            MessageEvent(
                step=self.steps,
                role="assistant",
                text=response.text,
                tool_calls=tuple(ToolCallRecord(id=call.id, name=call.name, arguments=call.arguments) for call in response.tool_calls),
                request_key=answer.key,
                usage=response.usage.model_dump(),
                cost_microdollars=answer.cost_microdollars,
                served=answer.served,
            )
        )

    def say(self, message: Message) -> None:
        self.messages.append(message)
        for text in [message.text, *(result.content for result in message.tool_results)]:
            if text:
                self.recorder.append(MessageEvent(step=self.steps, role="user", text=text))

    def finish(self, reason: str, outcome: Outcome | None) -> EndEvent:
        end = EndEvent(
            at=_now(),
            reason=reason,
            outcome=outcome,
            steps=self.steps,
            commands=self.commands.executed,
            requests=self.steps,
            cost_microdollars=self.cost,
            wall_s=round(self.spent.wall_s, 3),
            working_s=round(self.commands.working_s, 3),
        )
        self.recorder.append(end)
        return end

    @property
    def spent(self) -> _Spent:
        wall_s = time.monotonic() - self.began
        return _Spent(wall_s, wall_s - self.commands.waited_s, self.tokens)

    def time_left(self) -> float:
        """Seconds until the nearer of the two limits of time."""
        limits, spent = self.attempt.limits, self.spent
        return min(limits.wall_s - spent.wall_s, limits.working_s - spent.working_s)


class _Spent(NamedTuple):
    """What an episode has used so far; `working_s` is wall time without waiting for a processor, as for single commands."""

    wall_s: float
    working_s: float
    tokens: int


def _share(left: float) -> str:
    """A share of the time in words."""
    return next((words for bound, words in _SHARES if left > bound), "almost none")


def _command(call: ToolCall) -> str | None:
    """The command line of a well-formed call of the tool; None otherwise."""
    command: Any = call.arguments.get("command")
    if call.name != BASH.name or not isinstance(command, str) or not command.strip():
        return None
    return None if "\0" in command else command  # no program can be given such an argument


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
