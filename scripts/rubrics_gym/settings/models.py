"""Who answers the requests of each role."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from rubrics_gym.settings.base import Positive, Settings


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
