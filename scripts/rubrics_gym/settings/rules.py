"""What each rule reads of the configuration: one closed model per rule. Cut from the study by settings.slices, read by the rule's script."""

from __future__ import annotations

from rubrics_gym.records.tasks import HoldoutVariant
from rubrics_gym.settings.study import (
    AgentSimulation,
    Arm,
    Citing,
    Contrasted,
    DistributionSettings,
    Escalate,
    FinalStart,
    Gate,
    Imported,
    Inference,
    JudgeSettings,
    JudgeSimulation,
    Library,
    Limits,
    LogFormat,
    Merge,
    Mined,
    MinerName,
    ModelSettings,
    Protocol,
    Quota,
    SandboxPhase,
    Settings,
    Shadows,
    Statistics,
    TextSimulation,
)


class Nothing(Settings):
    """The rule reads nothing of the configuration."""


class ExportEncoder(Settings):
    source: str


class ListPool(Settings):
    holdouts: HoldoutVariant


class CollectRollout(Settings):
    seed: int
    agent: ModelSettings
    simulation: AgentSimulation | None
    limits: Limits
    sandbox: SandboxPhase


class ImportCollection(Settings):
    path: str
    format: LogFormat


class RunEpisode(Settings):
    seed: int
    arm_name: str
    arm: Arm
    agent: ModelSettings
    simulation: AgentSimulation | None
    judge: ModelSettings | None
    judge_simulation: JudgeSimulation | None
    encoder: str | None  # by which the judge looks rubrics up; its files are no part of the attempt's key, they differ between machines
    limits: Limits
    sandbox: SandboxPhase
    snapshots: bool


class RunShadows(Settings):
    seed: int
    shadows: Shadows
    limits: Limits
    sandbox: SandboxPhase


class GradeAttempt(Settings):
    """Where an evaluation runs that runs the agent's own program; nothing for benchmarks that only compare files."""

    sandbox: SandboxPhase | None = None
    limits: Limits | None = None


class GradeAcceptance(Settings):
    sandbox: SandboxPhase
    limits: Limits


class RunFinal(Settings):
    limits: Limits
    sandbox: SandboxPhase
    start: FinalStart


class Reader(Settings):
    """A role that reads records and answers: classifier, reviewer."""

    seed: int
    model: ModelSettings
    simulation: TextSimulation | None


class FailureDistribution(Settings):
    distribution: DistributionSettings
    classifier: str
    simulated: bool


class CompareMixes(Settings):
    study: str
    seed: int
    statistics: Statistics
    collections: tuple[str, ...]  # whose commands are counted
    distributions: tuple[str, ...]
    simulated: bool


class CompareReaders(Settings):
    """The two classifiers with each other and with people, on every collection of failures."""

    study: str
    seed: int
    statistics: Statistics
    classifier: str
    second: str | None
    reviewer: str
    miner: str
    collections: tuple[str, ...]
    sheets: dict[str, tuple[str, ...]]
    simulated: bool


class DrawLabelSheet(Settings):
    seed: int
    per_question: int


class MineCandidates(Settings):
    seed: int
    model: ModelSettings
    simulation: TextSimulation | None
    miner: MinerName
    collections: tuple[str, ...]
    per_request: int | None
    trace_chars: int
    weights: tuple[str, ...]


class FillQuota(Settings):
    seed: int
    model: ModelSettings
    simulation: TextSimulation | None
    recipe: Quota


class MineLessons(Settings):
    seed: int
    model: ModelSettings
    simulation: TextSimulation | None
    unit: str
    per_task: int
    per_contrast: int
    development: float
    citing: Citing
    near_misses: bool
    program_chars: int


class ReviewLessons(Reader):
    unit: str


class AcceptLessons(Settings):
    gate: Gate


class ImportLibrary(Settings):
    path: str


class MergeLibrary(Settings):
    merge: Merge


class DeriveLibrary(Settings):
    """match, scramble and sample: a library made from others."""

    library: str
    recipe: Library
    seed: int
    contaminated: bool
    simulated: bool


class DescribeLibrary(Settings):
    """Sorting the rubrics of a library that models or people wrote, and its manifest."""

    library: str
    recipe: Mined | Quota | Contrasted | Imported
    seed: int
    model: ModelSettings
    simulation: TextSimulation | None
    simulated: bool  # whether any role is: the rollouts may be, where the classifier is not
    contaminated: bool


class EmbedLibrary(Settings):
    """`fewest`: library with a gate that this one is, or is made from -> accepted lessons that a judge wants of it."""

    fewest: dict[str, int] = {}


class ReplayJudge(Settings):
    seed: int
    rejudged: float
    judge_name: str
    judge: JudgeSettings
    model: ModelSettings
    simulation: JudgeSimulation | None


class JudgeFacts(Settings):
    library: str | None
    k: int


class MeasureJudge(Settings):
    statistics: Statistics
    suppress_below: int
    seed: int
    order: tuple[str, ...]  # judges in the order of the evaluation's arms
    judges: dict[str, JudgeFacts]
    pairs: tuple[tuple[str, str], ...]  # contrasts between judges
    contaminated: tuple[str, ...]
    simulated: bool
    study: str


class AuditExposure(Settings):
    judges: tuple[str, ...]  # those with a library, in the order of the evaluation's arms
    replayed: bool


class FeedbackArm(Settings):
    library: str | None
    escalate: Escalate


class MeasureFeedback(Settings):
    confidence: float
    contaminated: tuple[str, ...]  # arms whose judge holds a library that was fitted to held-out failures
    arms: dict[str, FeedbackArm]  # arms with a judge
    simulated: bool
    study: str


class BuildTables(Settings):
    study: str
    seed: int
    pairs: tuple[tuple[str, str], ...]  # contrasts: first arm, second arm
    declared_order: bool  # whether the study names the contrasts, so that their order is one of testing
    order: tuple[str, ...]  # arms in the order of the evaluation
    arms: dict[str, Arm]
    contaminated: tuple[str, ...]  # arms whose judge holds a library that was fitted to held-out failures
    unreachable: tuple[str, ...]
    subsets: dict[str, tuple[str, ...]]
    libraries: tuple[str, ...]
    fewest: dict[str, int | None]  # library with a gate -> accepted lessons that a judge wants
    distributions: tuple[str, ...]
    statistics: Statistics
    inference: Inference
    simulated: bool


class BuildTruthTable(Settings):
    study: str
    seed: int
    statistics: Statistics
    simulated: bool


class AccountCosts(Settings):
    study: str
    contaminated: tuple[str, ...]  # arms whose judge holds a library that was fitted to held-out failures
    seed: int
    split: str
    simulated: bool
    statistics: Statistics
    pairs: tuple[tuple[str, str], ...]
    ceiling: str | None  # the arm in which every command runs
    library_of: dict[str, str]  # arm -> the library of its judge
    asked_for: dict[str, tuple[str, ...]]  # library -> units that were asked to write and sort it; nobody writes a library made from others


class BuildPages(Settings):
    simulated: bool


class BuildDashboard(Settings):
    study: str
    title: str
    simulated: bool
    split: str
    seed: int
    models: dict[str, str]  # role -> model
    arms: dict[str, str]  # arm -> what it does
    questions: tuple[tuple[str, str, str], ...]  # question, first arm, second arm
    libraries: tuple[str, ...]
    benchmarks: tuple[str, ...]  # that the study uses


class VerifyProtocol(Settings):
    protocol: Protocol
