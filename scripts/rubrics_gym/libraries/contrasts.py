"""Lessons about the quality of programs: pairs of programs of one task whose scores differ, and a miner that is shown both.

What the miner says of a program must be in that program. Two ways to cite: it copies words, which are looked for, or it names lines, and the
words are taken from the program here, so that none can be attributed to the wrong one.
"""

from __future__ import annotations

import heapq
import itertools
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from rubrics_gym.libraries.mining import Mining, ask_for_rubrics, candidates_schema, written
from rubrics_gym.libraries.traces import Trace
from rubrics_gym.models.client import Client
from rubrics_gym.models.prompts import Prompt
from rubrics_gym.models.request import Message, Request
from rubrics_gym.records.base import content_hash
from rubrics_gym.records.contrasts import Contrast, Program
from rubrics_gym.records.outcomes import POLICY
from rubrics_gym.records.rubrics import TEXT_FIELDS, Rubric, RubricKind, Support
from rubrics_gym.settings.study import Citing, ModelSettings

Place = tuple[str, str]  # a task: its benchmark and its id

SIDES = ("stronger", "weaker")
_SIDE = {"type": "string", "enum": list(SIDES)}
_PLACES: dict[Citing, dict[str, Any]] = {
    Citing.WORDS: {"quote": {"type": "string", "description": "words copied exactly, 10 to 200 characters of one line or several"}},
    Citing.LINES: {
        "first": {"type": "integer", "description": "number of the first line"},
        "last": {"type": "integer", "description": "number of the last line"},
    },
}
MOST_LINES = 20  # cited at once: a citation is a place, not the program


def program_text(trace: Trace) -> str:
    """The code files of a rollout, each under a line with its path; empty when none was left."""
    return "\n".join(f"# {path}\n{text}" for path, text in trace.scripts.items())


def development_tasks(places: Iterable[Place], share: float, seed: int) -> frozenset[Place]:
    """The tasks that only review lessons: a share of all that are given, drawn by the seed (half a task counts as one). Give every planned task, whatever
    came of it."""
    drawn = sorted(set(places), key=lambda place: content_hash([seed, *place]))
    return frozenset(drawn[: int(share * len(drawn) + 0.5)])


def contrasts(ends: Iterable[Trace], per_task: int, development: Collection[Place] = ()) -> list[Contrast]:
    """At most `per_task` pairs of programs of each task, the widest differences of scores first; tasks in the order of their names.

    `ends` are rollouts by what they left; one that was not graded valid or left no program is in no pair, nor are two with the same score or text.
    Only scores of one metric are compared.
    """
    comparable: dict[tuple[str, str, str, bool], list[Trace]] = {}
    for end in ends:
        if _is_scored(end) and any(text.strip() for text in end.scripts.values()):
            comparable.setdefault((end.benchmark, end.task, end.grade.metric, end.grade.greater_is_better), []).append(end)
    return [
        Contrast(
            benchmark=benchmark,
            task=task,
            statement=of_task[0].statement,
            metric=metric,
            greater_is_better=greater,
            development=(benchmark, task) in development,
            stronger=stronger,
            weaker=weaker,
        )
        for (benchmark, task, metric, greater), of_task in sorted(comparable.items())
        for stronger, weaker in _widest(of_task, per_task)
    ]


def _is_scored(end: Trace) -> bool:
    """Whether a grader of this project gave a score: of an imported run nobody here knows what its number means, nor which way it is better."""
    return POLICY[end.grade.outcome].scored and end.grade.score is not None and math.isfinite(end.grade.score)


def _widest(ends: Sequence[Trace], most: int) -> list[tuple[Program, Program]]:
    """At most so many pairs (stronger, weaker) of one task's programs, by the difference of their scores; equal ones in the order of attempts."""
    programs = sorted(
        (Program(collection=end.collection, attempt=end.attempt, score=end.grade.score or 0.0, text=program_text(end)) for end in ends),
        key=lambda program: (program.score, program.collection, program.attempt),
        reverse=ends[0].grade.greater_is_better,
    )
    pairs = [(one, other) for one, other in itertools.combinations(programs, 2) if one.score != other.score and one.text != other.text]
    return heapq.nsmallest(
        most,
        pairs,
        key=lambda pair: (
            -abs(pair[0].score - pair[1].score),
            [(program.collection, program.attempt) for program in pair],
        ),
    )


def numbered(text: str) -> str:
    """A program with the number of each line in front of it, as the miner reads it."""
    lines = text.split("\n")
    width = len(str(len(lines)))
    return "\n".join(f"{number:>{width}}| {line}" for number, line in enumerate(lines, 1))


class LessonMiner:
    """Asks what the stronger program of a contrast does that the weaker one should have done."""

    def __init__(
        self, model: ModelSettings, prompt: Prompt, seed: int, citing: Citing = Citing.LINES, near_misses: bool = True, most: int = 1
    ):
        self._most = most
        self._citing = citing
        self._near_misses = near_misses
        self._model = model
        self._prompt = prompt
        self._seed = seed
        citation = {"program": _SIDE, **_PLACES[citing]}
        evidence = {
            "type": "array",
            "description": "what shows the mistake in the weaker program, and what the stronger one does instead",
            "items": {"type": "object", "properties": citation, "required": list(citation), "additionalProperties": False},
        }
        self._schema = candidates_schema({**{field: {"type": "string"} for field in TEXT_FIELDS}, "evidence": evidence})

    def request(self, contrast: Contrast) -> Request:
        """What is asked about a contrast."""
        return Request(
            purpose="mine",
            model=self._model.model,
            system=self._prompt.render("system", most=self._most, near_misses=self._near_misses, by_lines=self._citing is Citing.LINES),
            messages=(Message(role="user", text=self._prompt.render("user", contrast=contrast, shown=self._shown)),),
            output_schema=self._schema,
            max_tokens=self._model.max_tokens,
            seed=self._seed,
            effort=self._model.effort,
        )

    def _shown(self, program: Program) -> str:
        return numbered(program.text) if self._citing is Citing.LINES else program.text

    def mine(self, contrast: Contrast, client: Client) -> Mining:
        """Ask for the lessons of one contrast, and keep those whose citations hold."""
        answer = ask_for_rubrics(self.request(contrast), client)
        rejected: Counter[str] = Counter()
        rubrics = []
        for position, candidate in enumerate(answer.candidates):
            reason = "over_limit" if position >= self._most else objection(candidate, contrast)
            if reason:
                rejected[reason] += 1
            else:
                rubrics.append(self._rubric(candidate, contrast, answer.key))
        return Mining(tuple(rubrics), dict(sorted(rejected.items())), answer.abstained)

    def _rubric(self, candidate: Mapping[str, Any], contrast: Contrast, request_key: str) -> Rubric:
        weaker, stronger = (_support(contrast, side, candidate["evidence"]) for side in ("weaker", "stronger"))
        rubric = written(candidate, RubricKind.WRONG_RESULT, weaker, self._model.model, self._prompt.version, request_key)
        return rubric.model_copy(update={"support": (weaker, stronger)})


def _support(contrast: Contrast, side: str, evidence: Sequence[Mapping[str, Any]]) -> Support:
    program: Program = getattr(contrast, side)
    return Support(
        collection=program.collection,
        benchmark=contrast.benchmark,
        task=contrast.task,
        attempt=program.attempt,
        steps=(),
        quotes=tuple(_words(citation, program) or "" for citation in evidence if citation["program"] == side),
    )


def _words(citation: Mapping[str, Any], program: Program) -> str | None:
    """The words that a citation points at; None when they are not in the program."""
    if "quote" in citation:
        quote: str = citation["quote"]
        return quote if quote.strip() and quote in program.text else None
    lines = program.text.split("\n")
    first, last = citation["first"], citation["last"]
    if not (1 <= first <= last <= len(lines) and last - first < MOST_LINES):
        return None
    return "\n".join(lines[first - 1 : last]).strip() or None


_THE_PAIR = re.compile(
    r"\b(?:the (?:stronger|weaker)\b|(?:stronger|weaker) (?:program|one|solution|script|code|version|attempt|submission)|scor(?:es|ed) (?:of )?\d)",
    re.IGNORECASE,
)


def _names_the_pair(text: str, contrast: Contrast) -> bool:
    """Whether a text tells which of the two programs is better, or what one scored: a score as it was shown, or rounded, with three digits or more (0, 1
    or 0.5 stand for many things)."""
    shown = {f"{one.score:{form}}" for one in (contrast.stronger, contrast.weaker) for form in ("", ".3f", ".4f", ".3g", ".4g", ".6g")}
    telling = [number for number in shown if len(re.sub(r"e.*|[^0-9]|^[-0.]+", "", number.lower()).rstrip("0")) >= 3]
    return bool(_THE_PAIR.search(text)) or any(re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", text) for number in telling)


def objection(candidate: Mapping[str, Any], contrast: Contrast) -> str | None:
    """Why a lesson is rejected: empty_field; names_the_pair, when it tells its reviewer which program is which, or what one scored; one_sided, when it
    cites one program alone; quote_of_other_program, when its words are the other one's; quote_not_found; lines_not_there. None when it stands."""
    if not all(candidate[field].strip() for field in TEXT_FIELDS):
        return "empty_field"
    if any(_names_the_pair(candidate[field], contrast) for field in TEXT_FIELDS):
        return "names_the_pair"
    if {citation["program"] for citation in candidate["evidence"]} != set(SIDES):
        return "one_sided"
    for citation in candidate["evidence"]:
        own, other = (contrast.stronger, contrast.weaker) if citation["program"] == "stronger" else (contrast.weaker, contrast.stronger)
        if _words(citation, own) is None:
            if "quote" not in citation:
                return "lines_not_there"
            return "quote_of_other_program" if _words(citation, other) is not None else "quote_not_found"
    return None
