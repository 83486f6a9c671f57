"""The gate of a library of lessons: a reviewer looks for each lesson in programs of all tasks, and what it finds must agree with their scores.

A lesson that is turned down is not shown to be false, and one that is accepted is accepted under this gate and these programs alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rubrics_gym.models.client import Client
from rubrics_gym.models.prompts import Prompt
from rubrics_gym.models.request import Message, Request
from rubrics_gym.models.structured import ask_structured
from rubrics_gym.records.base import content_hash
from rubrics_gym.records.contrasts import Contrast, Finding, GateLine, LessonReview
from rubrics_gym.records.files import iter_json_lines
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.settings.study import Gate, ModelSettings

_FINDING = {"type": "string", "enum": [finding.value for finding in Finding]}
_ANSWER = {"reason": {"type": "string"}, "first": _FINDING, "second": _FINDING}
SCHEMA = {"type": "object", "properties": _ANSWER, "required": list(_ANSWER), "additionalProperties": False}


class TooFewLessons(ValueError):
    """A library whose gate let fewer lessons pass than a judge wants."""


def require_lessons(path: str, library: str, fewest: int) -> None:
    """TooFewLessons where fewer passed the gate of a library (`path`: its rubrics) than a judge wants."""
    accepted = sum(1 for _ in iter_json_lines(path))
    if accepted < fewest:
        raise TooFewLessons(
            f"{path}: {accepted} lessons of {library} passed its gate, and a judge wants {fewest} (`libraries.{library}.fewest`). gate.jsonl beside it says why "
            f"the others were turned down. Collect from more tasks, or take the arms out of `evaluation.arms` whose judge holds {library} or what is made from it."
        )


class LessonReviewer:
    """Asks what a lesson has to do with two programs of one task. Neither scores nor which one is better are shown, and chance orders the two."""

    def __init__(self, model: ModelSettings, prompt: Prompt, seed: int):
        self._model = model
        self._prompt = prompt
        self._seed = seed
        self._system = prompt.render("system")

    def request(self, lesson: Rubric, contrast: Contrast) -> Request:
        """What is asked about a lesson and a contrast."""
        pair = (contrast.stronger, contrast.weaker) if self._stronger_first(lesson, contrast) else (contrast.weaker, contrast.stronger)
        user = self._prompt.render("user", lesson=lesson, statement=contrast.statement, first=pair[0].text, second=pair[1].text)
        return Request(
            purpose="review",
            model=self._model.model,
            system=self._system,
            messages=(Message(role="user", text=user),),
            output_schema=SCHEMA,
            max_tokens=self._model.max_tokens,
            seed=self._seed,
            effort=self._model.effort,
        )

    def review(self, lesson: Rubric, contrast: Contrast, client: Client) -> LessonReview:
        """Ask. An answer that cannot be used is on record as such; it says nothing about the lesson."""
        said = ask_structured(self.request(lesson, contrast), client)
        if said.value is None:
            return LessonReview(lesson=lesson.id, contrast=contrast.id, abstained=said.abstained, request_key=said.key)
        sides = ("stronger", "weaker") if self._stronger_first(lesson, contrast) else ("weaker", "stronger")
        found = dict(zip(sides, (Finding(said.value["first"]), Finding(said.value["second"])), strict=True))
        return LessonReview(lesson=lesson.id, contrast=contrast.id, reason=said.value["reason"], request_key=said.key, **found)

    def _stronger_first(self, lesson: Rubric, contrast: Contrast) -> bool:
        return int(content_hash([self._seed, lesson.id, contrast.id])[0], 16) % 2 == 0


def gate_line(lesson: Rubric, contrasts: Sequence[Contrast], reviews: Mapping[str, LessonReview], gate: Gate) -> GateLine:
    """How a lesson stands. `reviews` are its own, by the id of the contrast.

    Its source is the contrast that its words were written from. Reasons to turn it down: `reviews_incomplete`; `source_out_of_scope`, when it does not
    apply to both programs of its source; `source_not_told_apart`, when it does and they are not told apart as their scores are; `too_few_tasks` and
    `too_few_development_tasks` on which it tells two programs apart beside those that it, or what was merged into it, was written from; `reversed`, when it
    does so the wrong way round on a development task or on one that it was written from.
    """
    behind = [(support.collection, support.benchmark, support.task, support.attempt) for support in lesson.support]
    # merging keeps the first words, and the first pair before all others
    sources = [one for one in contrasts if _programs(one) == set(behind[:2])]
    own_tasks = {(benchmark, task) for _, benchmark, task, _ in behind}
    found = [(one, reviews[one.id]) for one in contrasts if one.id in reviews]
    unusable = len(contrasts) - sum(review.usable for _, review in found)
    others = {one.place: one.development for one, review in found if review.favourable and one.place not in own_tasks}
    wrong = {one.place: one.development for one, review in found if review.reversed}
    of_sources = [reviews[one.id] for one in sources if one.id in reviews]
    against = [place for place, development in wrong.items() if development or place in own_tasks]
    reasons = []
    if unusable:
        reasons.append("reviews_incomplete")
    if not any(review.favourable for review in of_sources):
        in_scope = any({review.stronger, review.weaker} <= {Finding.VIOLATES, Finding.SATISFIES} for review in of_sources)
        reasons.append("source_not_told_apart" if in_scope else "source_out_of_scope")
    if len(others) < gate.other_tasks:
        reasons.append("too_few_tasks")
    if sum(others.values()) < gate.development_tasks:
        reasons.append("too_few_development_tasks")
    if against:
        reasons.append("reversed")
    return GateLine(
        lesson=lesson.id,
        title=lesson.title,
        tasks_behind=len(own_tasks),
        reviews=len(found),
        unusable=unusable,
        favourable_tasks=len(others),
        favourable_development=sum(others.values()),
        reversed_tasks=len(wrong),
        reasons=tuple(reasons),
    )


def _programs(contrast: Contrast) -> set[tuple[str, str, str, int]]:
    return {(one.collection, contrast.benchmark, contrast.task, one.attempt) for one in (contrast.stronger, contrast.weaker)}


def gate_lines(lessons: Iterable[Rubric], contrasts: Sequence[Contrast], reviews: Iterable[LessonReview], gate: Gate) -> list[GateLine]:
    """How every lesson of a library stands, in the order of the library."""
    by_lesson: dict[str, dict[str, LessonReview]] = {}
    for review in reviews:
        by_lesson.setdefault(review.lesson, {})[review.contrast] = review
    return [gate_line(lesson, contrasts, by_lesson.get(lesson.id, {}), gate) for lesson in lessons]
