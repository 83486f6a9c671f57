"""Build again, offline and from the record alone, what the judge of an episode was asked, and compare it with what it was asked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from rubrics_gym.judge.actions import recorded_actions
from rubrics_gym.judge.prompting import judge_request
from rubrics_gym.models.prompts import Prompt
from rubrics_gym.models.request import Request
from rubrics_gym.records.base import content_hash
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.records.trajectory import Event, VerdictEvent
from rubrics_gym.settings.study import ModelSettings, Sight


class Rebuilt(NamedTuple):
    """A verdict of the record and the request that it answers, built again."""

    event: VerdictEvent
    request: Request

    @property
    def same(self) -> bool:
        """Whether the request is, byte for byte in canonical JSON, the one that was sent."""
        return content_hash(self.request) == self.event.verdict.request_sha256


def rebuilt_requests(
    events: Sequence[Event],
    sees: Collection[Sight],
    prompt: Prompt,
    model: ModelSettings,
    seed: int,
    library: Mapping[str, Rubric],
) -> Iterator[Rebuilt]:
    """The request behind every verdict of an attempt that was answered.

    `library` maps rubric ids to rubrics; the record says which were retrieved and in which order. Raises KeyError for a rubric that the
    library does not hold (it is another library), and passes over verdicts that abstained before criteria were on record.
    """
    for event, action in recorded_actions(events, sees):
        if event.verdict.abstained is None:
            rubrics = [library[criterion.rubric_id] for criterion in event.verdict.criteria if criterion.rubric_id is not None]
            yield Rebuilt(event, judge_request(action, rubrics, prompt, model, seed))
