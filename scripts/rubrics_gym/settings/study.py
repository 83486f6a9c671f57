"""The typed configuration of a study: the one truth from which defaults, JSON schema and documentation are made.

Every model is closed (an unknown key is an error) and every field carries the sentence that the documentation prints.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, field_validator

from rubrics_gym.records.tasks import Role

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Probability = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0)]


class Settings(BaseModel):
    """Base of every block: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# ---------------------------------------------------------------- models


class ProviderName(StrEnum):
    SIMULATED = "simulated"
    ANTHROPIC = "anthropic"
    OPENAI = "openai"


class ModelSettings(Settings):
    """Who answers the requests of one role."""

    provider: ProviderName = Field(
        ProviderName.SIMULATED,
        description="simulated (no key, no network; figures are labelled simulated), anthropic, or openai (also every server that speaks its chat completions: requests.endpoints).",
    )
    model: str = Field(description="Name of the model as the provider knows it. A simulated model's name carries its version.")
    max_tokens: Positive = Field(4096, description="Most tokens in one answer.")
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = Field(
        None, description="How much the model should think, where it can be told; null leaves it to the provider."
    )


class AgentModel(ModelSettings):
    """Attempts the tasks."""

    model: str = Field("simulated-agent-1", description="As the provider knows it.")


class JudgeModel(ModelSettings):
    """Predicts what a command would do."""

    model: str = Field("simulated-judge-1", description="As the provider knows it.")


class MinerModel(ModelSettings):
    """Writes rubrics from rollouts."""

    model: str = Field("simulated-miner-1", description="As the provider knows it.")
    max_tokens: Positive = Field(8192, description="Most tokens in one answer.")


class ClassifierModel(ModelSettings):
    """Sorts failures and rubrics into categories."""

    model: str = Field("simulated-classifier-1", description="As the provider knows it.")


class ReviewerModel(ModelSettings):
    """Names the cause of a wrong result."""

    model: str = Field("simulated-reviewer-1", description="As the provider knows it.")


class Models(Settings):
    """Role -> model. The judge and the miner are meant to be stronger than the agent."""

    agent: AgentModel = Field(AgentModel(), description="Attempts the tasks.")
    judge: JudgeModel = Field(JudgeModel(), description="Predicts what a command would do.")
    miner: MinerModel = Field(MinerModel(), description="Writes rubrics from rollouts.")
    classifier: ClassifierModel = Field(ClassifierModel(), description="Sorts failures and rubrics into categories.")
    reviewer: ReviewerModel = Field(ReviewerModel(), description="Names the cause of a wrong result.")


class Budget(Settings):
    """What may be spent. No rule's parameter: raising it is no reason to ask again."""

    job_usd: Positive = Field(
        100, description="Most dollars that one job of a reading role may cost, or the judge of one episode; the agent has limits.cost_usd."
    )
    job_requests: Positive | None = Field(None, description="Most requests that one unit of work may send; null: no such limit.")
    study_usd: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Most dollars that the whole study may cost, requests under way counted at their maximum; null: no such limit."
    )
    study_requests: Positive | None = Field(None, description="Most requests that the whole study may send; null: no such limit.")
    deadline: AwareDatetime | None = Field(
        None, description="No request of the study is sent after this time, e.g. 2026-12-24T18:00:00Z; null: no deadline."
    )


class Mode(StrEnum):
    LIVE = "live"
    REUSE = "reuse"
    REPLAY = "replay"


RoleName = Literal["agent", "judge", "miner", "classifier", "reviewer"]


class Endpoint(Settings):
    """A server that speaks the provider's protocol."""

    url: Annotated[str, Field(pattern=r"^https?://")] = Field(description="Address of the server, e.g. http://127.0.0.1:8000/v1")
    key: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")] | None = Field(
        None, description="Environment variable that holds the key of this server; null: it needs none, and no key is sent."
    )


class Requests(Settings):
    """How models are asked. No rule's parameter: where an answer comes from is no reason to ask again."""

    mode: Mode = Field(
        Mode.REUSE,
        description="live: what other studies were answered is asked anew, what this study was answered is served; reuse: every stored answer "
        "to the same request is served, the rest is live; replay: nothing is ever sent, and a request that is not on record is an error.",
    )
    reuse_from: dict[str, str] = Field(
        default_factory=dict,
        description="Unit, or first segments of units → those whose stored answers are served to it as well, e.g. {mine/second: mine/first}. Not in mode live.",
    )
    endpoints: dict[RoleName, Endpoint] = Field(
        default_factory=dict, description="Role → server, where it is not the provider's own, e.g. a local vLLM or llama.cpp server."
    )
    cache: Literal["off", "5m", "1h"] = Field(
        "5m", description="How long anthropic keeps the beginning of a prompt that comes again; off asks for no cache."
    )
    batch: tuple[Literal["miner", "classifier", "reviewer"], ...] = Field(
        (), description="Roles whose requests are sent in batches (anthropic): cheaper, and answered within a day."
    )
    batch_poll_s: Seconds = Field(60, description="Seconds between two looks at a batch that has not ended.")
    connect_s: Seconds = Field(10, description="Seconds until a connection must stand.")
    read_s: Seconds = Field(600, description="Longest silence of a server in seconds; a long answer is silent until it is whole.")
    deadline_s: Seconds = Field(900, description="Seconds from sending a request to the last byte of its answer.")
    longest_wait_s: Seconds = Field(
        60, description="Longest wait in seconds before a request is tried again; a server that asks for more is not tried again."
    )


class AgentSimulation(Settings):
    """How the simulated agent errs. Rates are per opportunity in a program."""

    mix: dict[str, Annotated[float, Field(ge=0)]] | None = Field(
        None,
        description="Relative weights of the kinds of mistakes; null takes the published mix that belongs to the task's phrasing (pool or competition).",
    )
    mistakes_per_program: Annotated[float, Field(ge=0, le=5)] = Field(
        1.1, description="Mean number of planted mistakes in a first program."
    )
    repair_success: Probability = Field(0.9, description="Chance that a repair of the part at fault is right.")
    spoil_on_false_alarm: Probability = Field(0.15, description="Chance that rewriting a correct part breaks it.")


class JudgeSimulation(Settings):
    """How the simulated judge errs."""

    miss: Probability = Field(0.1, description="Chance that a real finding is overlooked.")
    false_alarm: Probability = Field(0.05, description="Chance, per verdict, of a finding that is not there.")
    meaning_threshold: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.32,
        description="Mean centred cosine of a rubric's title and pattern with a mistake the judge knows, from which the rubric brings it to mind.",
    )


class TextSimulation(Settings):
    """How a simulated reader (classifier, reviewer, miner) errs."""

    error: Probability = Field(0.02, description="Chance of a wrong answer.")


class Simulation(Settings):
    """Settings of the simulated models. They describe the simulator, not any real model."""

    agent: AgentSimulation = Field(AgentSimulation(), description="The agent.")
    judge: JudgeSimulation = Field(JudgeSimulation(), description="The judge.")
    miner: TextSimulation = Field(TextSimulation(error=0.05), description="The miner: chance that a candidate cites the wrong step.")
    classifier: TextSimulation = Field(TextSimulation(), description="The classifier.")
    reviewer: TextSimulation = Field(TextSimulation(), description="The cause-namer.")


# ---------------------------------------------------------------- tasks and attempts


class Limits(Settings):
    """Limits of one attempt. The published study used 2 h, 250 steps, $3, 600 s, 30 min, 3 CPU and 11 GB."""

    wall_s: Seconds = Field(1800, description="Seconds of wall time per attempt.")
    steps: Positive = Field(30, description="Most model turns per attempt.")
    cost_usd: Annotated[float, Field(gt=0)] = Field(3.0, description="Most dollars per attempt; a request that could pass it is not sent.")
    command_s: Seconds = Field(10, description="Seconds per command, not counting the time that it waits for a processor.")
    final_s: Seconds = Field(12, description="Seconds for the one run of final.py after the episode, counted likewise.")
    memory_mb: Positive = Field(3000, description="Megabytes of address space per process.")
    processes: Positive = Field(64, description="Most processes at a time.")
    file_mb: Positive = Field(200, description="Megabytes per file.")
    output_chars: Positive = Field(6000, description="Characters of a command's output that the agent is shown (head and tail).")


class SandboxKind(StrEnum):
    BUBBLEWRAP = "bubblewrap"
    UNSAFE = "unsafe"


class Sandbox(Settings):
    """Where the agent's commands run."""

    kind: SandboxKind = Field(SandboxKind.BUBBLEWRAP, description="bubblewrap, or unsafe (no isolation at all; must be asked for by name).")
    packages: tuple[str, ...] = Field(
        ("numpy", "pandas", "scipy", "scikit-learn", "pip"),
        description="Installed packages that the agent finds, with what they need; nothing else of the environment is visible.",
    )


class TaskSelection(Settings):
    """Which tasks of a benchmark."""

    benchmark: Name = Field("packaged", description="Name of a benchmark in resources/benchmarks/.")
    role: Role = Field(Role.TRAIN, description="Only tasks of this role.")
    limit: Positive | None = Field(None, description="Only the first so many tasks (in the order of the task table); null takes all.")


class Collection(Settings):
    """Rollouts whose failures are mined."""

    tasks: TaskSelection = Field(TaskSelection(), description="The tasks.")
    attempts: Positive = Field(1, description="Attempts per task.")
    limits: Limits = Field(Limits(), description="Limits of one attempt.")
    sealed: bool = Field(False, description="A sealed collection is never planned again until it is unsealed.")


# ---------------------------------------------------------------- libraries


class Merge(Settings):
    """Joining candidates that say the same."""

    threshold: Annotated[float, Field(gt=0, le=1)] = Field(
        0.82, description="Cosine of title and applies-when from which two rubrics are one."
    )
    rounds: Positive = Field(2, description="How often merged groups are compared again.")


class Mined(Settings):
    """A library mined from collections."""

    recipe: Literal["mine"] = "mine"
    collections: tuple[Name, ...] = Field(description="Collections whose rollouts are read.")
    per_rollout: Positive = Field(6, description="Most rubrics from one rollout.")
    trace_chars: Positive = Field(400_000, description="Characters of a trace that the miner reads.")
    merge: Merge = Field(Merge(), description="How candidates are merged.")


class Matched(Settings):
    """A library cut to a failure mix by a budget per bin, in writing order."""

    recipe: Literal["match"] = "match"
    source: Name = Field(description="The library that is cut.")
    target: Name = Field(description="The distribution that gives the shares.")


class Scrambled(Settings):
    """Null: the words of a library's texts shuffled across the whole library, lengths kept; no rubric says anything."""

    recipe: Literal["scramble"] = "scramble"
    source: Name = Field(description="The library whose words are shuffled.")


class RandomSample(Settings):
    """Null: as many rubrics as another library, drawn at random, so that size and mix can be told apart."""

    recipe: Literal["sample"] = "sample"
    source: Name = Field(description="The library that is drawn from.")
    size_of: Name = Field(description="The library whose size is taken.")


Library = Annotated[Mined | Matched | Scrambled | RandomSample, Field(discriminator="recipe")]


class DistributionSettings(Settings):
    """A failure mix: which failures are counted."""

    collections: tuple[str, ...] = Field(description="Collections; `heldout` means the execute episodes of the evaluation.")
    target: Literal["trace", "complete"] = Field(
        "complete", description="trace: failed commands; complete: failed commands and causes of wrong results."
    )


# ---------------------------------------------------------------- arms and evaluation


class CodeRuns(StrEnum):
    EXECUTE = "execute"
    NOTICE = "notice"
    JUDGE = "judge"
    CHECKS = "checks"


class Retrieval(StrEnum):
    SIMILARITY = "similarity"
    CATEGORY_SPLIT = "category_split"


class Sight(StrEnum):
    WORLD_STATE = "world_state"
    DATA_PROFILE = "data_profile"
    LAST_REAL_RUN = "last_real_run"


class JudgeSettings(Settings):
    """What the judge has before it."""

    library: Name | None = Field(None, description="Library that rubrics are retrieved from; null: the task criterion alone.")
    retrieval: Retrieval = Field(
        Retrieval.CATEGORY_SPLIT, description="similarity: the k most similar; category_split: each bin gets its share of k."
    )
    k: Positive = Field(12, description="Rubrics per verdict.")
    sees: tuple[Sight, ...] = Field((Sight.WORLD_STATE, Sight.DATA_PROFILE, Sight.LAST_REAL_RUN), description="What else the judge sees.")


class Checks(Settings):
    """Real runs of the deliverable on a fixed schedule."""

    every: Positive = Field(2, description="Every so many code-running commands.")
    cap_s: Seconds = Field(8, description="Seconds until the check is stopped (censored, not passed).")


class Submit(Settings):
    """What happens when the agent submits."""

    run_final: bool = Field(False, description="Run final.py for real before the submission is taken.")
    cap_s: Seconds = Field(8, description="Seconds until that run is stopped.")
    hold_on: tuple[Literal["crash", "flag"], ...] = Field(
        (), description="Send the submission back on a real crash, or on a flagged verdict."
    )
    max_holds: Annotated[int, Field(ge=0)] = Field(2, description="Most times a submission is sent back.")


class Escalate(Settings):
    """Chances that a judged command is run for real, drawn from the episode's seed and logged."""

    flagged: Probability = Field(0.0, description="After a flagged verdict.")
    clean: Probability = Field(0.0, description="After a clean verdict.")


class Arm(Settings):
    """One policy of the evaluation: what happens to a command that would run code."""

    code_runs: CodeRuns = Field(
        description="execute: it runs; notice: a fixed notice; judge: a prediction; checks: a notice and real checks on schedule."
    )
    judge: JudgeSettings | None = Field(None, description="The judge; needed where code_runs is judge.")
    checks: Checks | None = Field(None, description="Real runs of final.py on schedule.")
    submit: Submit = Field(Submit(), description="What happens at submit.")
    escalate: Escalate = Field(Escalate(), description="When a judged command runs for real all the same.")


class Evaluation(Settings):
    """The held-out comparison."""

    split: Name = Field("quick", description="Split of the held-out benchmark, a list of tasks in resources/benchmarks/.")
    benchmark: Name = Field("packaged", description="The held-out benchmark.")
    arms: tuple[Name, ...] = Field(description="Arms that are run, in the order of the tables.")
    repeats: Positive = Field(1, description="Episodes per task and arm.")
    limits: Limits = Field(Limits(), description="Limits of one episode.")


class Statistics(Settings):
    """How intervals are made."""

    confidence: Annotated[float, Field(gt=0.5, lt=1)] = Field(0.95, description="Level of every interval.")
    draws: Positive = Field(4000, description="Bootstrap draws and Monte-Carlo sign flips.")


class Report(Settings):
    """The dashboard."""

    title: str = Field("Can a coding world model with rubrics stand in for running code?", description="Title of the page.")


class Study(Settings):
    """A whole study. This is what a configuration file holds."""

    extends: str | None = Field(
        None, description="Another configuration file that this one starts from; keys given here replace keys given there."
    )
    name: Name = Field("default", description="Name of the study.")
    seed: int = Field(20261129, description="Seed of everything that is drawn at random.")
    models: Models = Field(Models(), description="Role -> model.")
    budget: Budget = Field(Budget(), description="What may be spent.")
    requests: Requests = Field(Requests(), description="How models are asked.")
    simulation: Simulation = Field(Simulation(), description="The simulated models.")
    sandbox: Sandbox = Field(Sandbox(), description="Where commands run.")
    collections: dict[Name, Collection] = Field(description="Rollouts to collect.")
    distributions: dict[Name, DistributionSettings] = Field(description="Failure mixes.")
    libraries: dict[Name, Library] = Field(description="Rubric libraries, each a recipe.")
    arms: dict[Name, Arm] = Field(description="Feedback policies.")
    evaluation: Evaluation = Field(description="The held-out comparison.")
    statistics: Statistics = Field(Statistics(), description="Intervals.")
    report: Report = Field(Report(), description="The dashboard.")
    pathvars: dict[str, str] = Field(default_factory=dict, description="Where results lie, e.g. {results: results/protocols/NAME}.")

    @field_validator("collections", "distributions", "libraries", "arms")
    @classmethod
    def _by_name(cls, named: dict[str, Any]) -> dict[str, Any]:
        """In the order of the names: the order of keys in a file says nothing, and must plan nothing."""
        return dict(sorted(named.items()))
