"""Events of one attempt, schema `rubrics-gym/trajectory/1`: one JSON line each, append-only, in the order they happened."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from rubrics_gym.records.base import Record
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.records.verdicts import Verdict

TRAJECTORY_SCHEMA = "rubrics-gym/trajectory/1"


class CommandKind(StrEnum):
    CODE_RUN = "code_run"
    INSTALL = "install"
    INSPECT = "inspect"
    EDIT = "edit"
    SUBMIT = "submit"
    OTHER = "other"


class Route(StrEnum):
    EXECUTED = "executed"  # it ran, and the agent saw the real output
    PREDICTED = "predicted"  # it did not run; the agent saw a verdict
    WITHHELD = "withheld"  # it did not run; the agent saw a notice (or it hung on a part that did not run)
    HELD = "held"  # a submit that was sent back


class StartEvent(Record):
    event: Literal["start"] = "start"
    schema_: str = Field(default=TRAJECTORY_SCHEMA, alias="schema")
    at: str  # ISO 8601, UTC
    unit: str  # the logical name of the work, e.g. rollouts/pool/packaged/fair-mean/0
    attempt: int  # 1-based try at this unit; >1 after an infrastructure loss, 0 when none was begun
    benchmark: str
    task: str
    statement: str  # the task as the agent got it
    deliverable: str
    seed: int | None  # None: not on record (an imported log)
    model: str
    arm: str
    limits: dict[str, Any]
    protocol: str  # version of the harness protocol
    code: str  # fingerprint of the code that made this attempt
    lost_attempts: tuple[str, ...] = ()  # earlier tries at this unit that have no end

    model_config = {**Record.model_config, "populate_by_name": True, "serialize_by_alias": True}


class ToolCallRecord(Record):
    id: str
    name: str
    arguments: dict[str, Any]


class MessageEvent(Record):
    """One message of the conversation. `request_key` is the store key of the response that it came with."""

    event: Literal["message"] = "message"
    step: int
    role: Literal["system", "user", "assistant"]
    text: str
    tool_calls: tuple[ToolCallRecord, ...] = ()
    request_key: str | None = None
    usage: dict[str, int] = Field(default_factory=dict)
    cost_microdollars: int = 0  # when it was paid for
    served: Literal["live", "store"] = "live"  # store: it was paid for earlier, and is charged once


class CommandEvent(Record):
    """One simple command (or an undivided chain) and what became of it.

    `exit_code` is None when the command was not executed or its end is unknown. `output_head` and `output_tail` are the first and
    last characters of stdout and stderr in the order written; `output_bytes` and `output_sha256` are of the whole.
    """

    event: Literal["command"] = "command"
    step: int
    index: int  # 0-based within the step
    text: str
    kind: CommandKind
    route: Route
    exit_code: int | None = None
    timed_out: bool = False
    out_of_memory: bool = False
    masked_pipe: bool = False  # exit 0 of a pipeline whose tail may hide a failure
    duration_s: float | None = None
    output_head: str = ""
    output_tail: str = ""
    output_bytes: int = 0
    output_sha256: str = ""
    shown: str = ""  # what the agent was shown
    reason: str = ""  # why this kind or route, when it needs saying


class FileEvent(Record):
    """A file in the work folder that appeared or changed. `text` is kept for code files."""

    event: Literal["file"] = "file"
    step: int
    path: str
    sha256: str
    bytes: int
    text: str | None = None


class WorldEvent(Record):
    """The read-only world state that the judge may see, when it changed."""

    event: Literal["world"] = "world"
    step: int
    python: str
    packages: dict[str, str]  # name -> version
    limits: dict[str, Any]
    files: dict[str, int]  # path -> bytes
    data_profile: str


class SnapshotEvent(Record):
    """What a deferred run of this command needs: the work folder's content address, and what the shell had to know before it."""

    event: Literal["snapshot"] = "snapshot"
    step: int
    index: int
    text: str
    state: tuple[str, ...] = ()  # pieces of the same line that set the shell's state (cd, export, functions)
    hides_failure: bool = False
    sha256: str


class ClockEvent(Record):
    """What is left of an attempt just before a command is judged; recorded where the judge may see it."""

    event: Literal["clock"] = "clock"
    step: int
    time_left_s: int
    steps_left: int


class VerdictEvent(Record):
    """A prediction. With the events before it, `command` is all that it takes to build again what the judge was asked."""

    event: Literal["verdict"] = "verdict"
    step: int
    index: int
    command: str
    verdict: Verdict
    shown: str


class CheckEvent(Record):
    """A real run of the deliverable's program by the arm's check rule. Stopped at its cap without a crash is censored, not passed."""

    event: Literal["check"] = "check"
    step: int
    index: int
    reason: Literal["schedule", "submit", "clean_verdict"]
    text: str
    exit_code: int | None
    timed_out: bool
    out_of_memory: bool = False
    duration_s: float
    output_tail: str = ""
    shown: str = ""


class FinalEvent(Record):
    """The one run of final.py after the episode. No exit code and not stopped at the cap: the run is lost."""

    event: Literal["final"] = "final"
    exit_code: int | None
    timed_out: bool
    out_of_memory: bool = False
    cap_s: float
    duration_s: float | None
    output_head: str = ""
    output_tail: str = ""
    output_bytes: int = 0
    deliverable_present: bool


class EndEvent(Record):
    """The last line. `outcome` is None when the attempt ended in the ordinary way and only a grader can tell."""

    event: Literal["end"] = "end"
    at: str
    reason: str  # submitted, limit:<which>, no_commands, sandbox_died, provider_error:<kind>; of a closed slot not_run:<why>, no_end:<why>
    outcome: Outcome | None
    steps: int
    commands: int
    requests: int
    cost_microdollars: int | None  # None, here and below: not on record (an imported log)
    wall_s: float | None
    working_s: float | None  # time inside commands


Event = Annotated[
    StartEvent
    | MessageEvent
    | CommandEvent
    | FileEvent
    | WorldEvent
    | SnapshotEvent
    | ClockEvent
    | VerdictEvent
    | CheckEvent
    | FinalEvent
    | EndEvent,
    Field(discriminator="event"),
]
EVENT: TypeAdapter[Event] = TypeAdapter(Event)
