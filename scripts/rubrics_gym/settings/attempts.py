"""What is attempted, under which limits, and in which sandbox."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Discriminator, Field, Tag

from rubrics_gym.records.tasks import Role
from rubrics_gym.settings.base import Name, Positive, Seconds, Settings


class Limits(Settings):
    """Limits of one attempt; the defaults are the published ones where those are known."""

    wall_s: Seconds = Field(7200, description="Seconds of wall time per attempt.")
    working_s: Seconds = Field(7200, description="Seconds per attempt that count: wall time without waiting for a processor.")
    steps: Positive = Field(250, description="Most model turns per attempt.")
    tokens: Positive | None = Field(None, description="Most tokens per attempt, read and written; null: as many as the other limits allow.")
    cost_usd: Annotated[float, Field(gt=0)] = Field(3.0, description="Most dollars per attempt; a request that could pass it is not sent.")
    malformed_turns: Positive = Field(3, description="Turns without a command, so many in a row, that end the attempt.")
    command_s: Seconds = Field(600, description="Seconds per command, not counting the time that it waits for a processor.")
    final_s: Seconds = Field(1800, description="Seconds for the one run of final.py after the episode, counted likewise.")
    cpus: Annotated[float, Field(gt=0)] = Field(
        3, description="Processors for all processes of a command together, where the machine can limit them."
    )
    memory_mb: Positive = Field(
        11264, description="Megabytes per process, and, where the machine can count them, for all processes of a command together."
    )
    processes: Positive = Field(256, description="Most processes at a time.")
    open_files: Positive = Field(1024, description="Most open files per process.")
    file_mb: Positive = Field(4096, description="Megabytes per file.")
    disk_mb: Positive = Field(10_000, description="Megabytes that the agent's files may take; a command that writes more is killed.")
    disk_files: Positive = Field(200_000, description="Most files and folders of the agent's, likewise.")
    output_chars: Positive = Field(6000, description="Characters of a command's output that the agent is shown (head and tail).")

    def scaled(self, factor: float) -> Limits:
        """The same with what the whole attempt may use (time, steps, tokens, cost) times `factor`; limits per command and of the final run stay."""
        changed = {
            "wall_s": self.wall_s * factor,
            "working_s": self.working_s * factor,
            "steps": max(1, round(self.steps * factor)),
            "tokens": None if self.tokens is None else max(1, round(self.tokens * factor)),
            "cost_usd": self.cost_usd * factor,
        }
        return self if factor == 1 else self.model_copy(update=changed)


class SandboxKind(StrEnum):
    BUBBLEWRAP = "bubblewrap"
    POD = "pod"
    UNSAFE = "unsafe"


class Network(StrEnum):
    """What a command reaches beyond its own processes."""

    NONE = "none"
    INDEX = "index"
    OPEN = "open"


class SandboxPhase(Settings):
    """The sandbox as one phase of an attempt has it."""

    kind: SandboxKind = Field(
        SandboxKind.BUBBLEWRAP,
        description="bubblewrap; pod (inside a container, which is the outer boundary); unsafe (no isolation at all; must be asked for by name).",
    )
    packages: tuple[str, ...] = Field(
        ("numpy", "pandas", "scipy", "scikit-learn", "pip"),
        description="Installed packages that the agent finds, with what they need; nothing else of the environment is visible.",
    )
    network: Network = Field(
        Network.INDEX,
        description="While the agent works: none; index (pip installs from the local folder of wheels, nothing else is reached); open.",
    )


class Sandbox(SandboxPhase):
    """Where the agent's commands run."""

    final_network: Network = Field(Network.NONE, description="In the one run of final.py after the episode, likewise.")

    def episode(self) -> SandboxPhase:
        """The sandbox while the agent works."""
        return SandboxPhase(kind=self.kind, packages=self.packages, network=self.network)

    def final(self) -> SandboxPhase:
        """The sandbox of the final run."""
        return SandboxPhase(kind=self.kind, packages=self.packages, network=self.final_network)


class TaskSelection(Settings):
    """Which tasks of a benchmark."""

    benchmark: Name = Field("packaged", description="Name of a benchmark in resources/benchmarks/.")
    role: Role = Field(Role.TRAIN, description="Only tasks of this role.")
    limit: Positive | None = Field(None, description="Only the first so many tasks (in the order of the task table); null takes all.")
    prepared: tuple[str, ...] = Field(
        (), description="Tasks that ask for preparation by hand (the task table says which) and were prepared; the others of them stay out."
    )


class LogFormat(StrEnum):
    AUTO = "auto"
    ATIF = "atif"
    INSPECT = "inspect"
    MINI_SWE_AGENT = "mini_swe_agent"
    SWE_AGENT = "swe_agent"
    OPENHANDS = "openhands"
    AIDE = "aide"
    SUPER = "super"
    AI_SCIENTIST = "ai_scientist"


class ImportedCollection(Settings):
    """Logs of another system's agent, whose failures are mined like those of rollouts."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)

    path: str = Field(alias="import", description="A log, or a folder in which every log is taken; from the repository's top.")
    format: LogFormat = Field(
        LogFormat.AUTO, description="The format; auto recognises each file by its content. docs/interchange.md says what each loses."
    )


class Collection(Settings):
    """Rollouts whose failures are mined."""

    tasks: TaskSelection = Field(TaskSelection(), description="The tasks.")
    attempts: Positive = Field(1, description="Attempts per task.")
    limits: Limits = Field(Limits(), description="Limits of one attempt.")
    sealed: bool = Field(False, description="A sealed collection is never planned again until it is unsealed.")


def _is_imported(given: Any) -> str:
    """Which of the two a block of `collections` is: it says `import`, or it does not."""
    imported = isinstance(given, ImportedCollection) or (isinstance(given, dict) and "import" in given)
    return "imported" if imported else "collected"


AnyCollection = Annotated[
    Annotated[Collection, Tag("collected")] | Annotated[ImportedCollection, Tag("imported")], Discriminator(_is_imported)
]
