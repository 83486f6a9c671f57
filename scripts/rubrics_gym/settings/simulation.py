"""How the simulated models err."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from rubrics_gym.settings.base import Probability, Settings


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
