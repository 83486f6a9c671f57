"""The agent's program under work: written once, then rewritten part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rubrics_gym.providers.simulated.agent import analysis, prediction
from rubrics_gym.providers.simulated.agent.dice import Dice
from rubrics_gym.providers.simulated.agent.goals import Goal, PredictionGoal
from rubrics_gym.providers.simulated.agent.mistakes import COMPETITION_MIX, POOL_MIX, Planted, plant, spoil
from rubrics_gym.providers.simulated.agent.program import Part, Program
from rubrics_gym.settings.study import AgentSimulation

# What slips into a part that is rewritten in a hurry.
HASTY = (
    "runtime:own_logic",
    "output_format",
    "misaligned_order",
    "statistic_wrong_scope",
    "missing_values_unchecked",
    "spec_ignored",
    "wrong_metric",
)


@dataclass(frozen=True)
class Draft:
    """A program, the habits it is written in, and (for the plan alone) the mistakes in force."""

    goal: Goal
    names: Any
    program: Program
    dice: Dice
    planted: tuple[Planted, ...] = ()
    revisions: Mapping[str, int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.program.text()

    def proper(self, part: str, revision: int | None = None) -> Part:
        """A part as the agent writes it when nothing goes wrong; by default in its present wording."""
        dice = self.dice.at("wording", self.revisions.get(part, 0) if revision is None else revision)
        if isinstance(self.goal, PredictionGoal):
            return prediction.compose_part(self.goal, part, self.names, dice)
        return analysis.compose_part(self.goal, part, self.names, dice)


def first_draft(goal: Goal, settings: AgentSimulation, dice: Dice) -> Draft:
    """Write a whole program, with a Poisson number of mistakes in proportion to the mix."""
    wording = dice.at("wording", 0)
    names: Any
    if isinstance(goal, PredictionGoal):
        names = prediction.draw_names(dice.at("names"))
        program = prediction.compose(goal, names, wording)
    else:
        names = analysis.draw_names(dice.at("names"), goal.tables)
        program = analysis.compose(goal, names, wording)
    published = COMPETITION_MIX if goal.competition else POOL_MIX
    mix = published if settings.mix is None else settings.mix
    program, planted = plant(program, mix, settings.mistakes_per_program, goal, names, dice.at("mistakes"))
    return Draft(goal, names, program, dice, planted)


def rewrite(draft: Draft, part: str, settings: AgentSimulation, *, real: bool) -> Draft:
    """Write one part anew, because something was said about it.

    After a real failure (`real`) the new text is proper with the chance `repair_success`; else it stays as it is or has another fault.
    After a mere prediction a part that already reads as it should is the false alarm: working on it spoils it with its own chance.
    """
    number = draft.revisions.get(part, 0) + 1
    dice = draft.dice.at("rewrite", part, number)
    fine = draft.program.part(part) == draft.proper(part)
    revisions = {**draft.revisions, part: number}
    clean = replace(
        draft,
        program=draft.program.with_part(draft.proper(part, number)),
        planted=tuple(item for item in draft.planted if item.mistake.part != part),
        revisions=revisions,
    )
    slip = settings.spoil_on_false_alarm if fine and not real else 1 - settings.repair_success
    if fine and real:
        return clean  # looked at in vain; the fault lies elsewhere
    if not dice.chance("slip", slip):
        return clean
    if not fine and dice.chance("unchanged", 0.5):
        return draft
    for kind in dice.shuffled("hasty", HASTY):
        if spoilt := spoil(clean.program, kind, part, draft.goal, draft.names, dice.at(kind)):
            return replace(clean, program=spoilt[0], planted=(*clean.planted, spoilt[1]))
    return clean


def start_over(draft: Draft) -> Draft:
    """Write every part anew, plainly."""
    program, revisions = draft.program, dict(draft.revisions)
    for part in draft.program.names:
        revisions[part] = revisions.get(part, 0) + 1
        program = program.with_part(draft.proper(part, revisions[part]))
    return replace(draft, program=replace(program, called=True), planted=(), revisions=revisions)
