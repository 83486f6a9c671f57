"""A simulated judge: it reads the rendered request, runs checks of its own, and reports what the rubrics bring to its mind."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from itertools import chain
from typing import Any

from rubrics_gym.models.request import Request, Response, Usage
from rubrics_gym.providers.simulated.judge import cost, data, environment, method, output, task
from rubrics_gym.providers.simulated.judge.case import Case, Observation
from rubrics_gym.providers.simulated.judge.matching import Encode, Memory
from rubrics_gym.providers.simulated.judge.mistakes import Mistake
from rubrics_gym.providers.simulated.judge.reading import read
from rubrics_gym.records.base import content_hash
from rubrics_gym.settings.study import JudgeSimulation

CHECKS = environment.CHECKS + data.CHECKS + cost.CHECKS + output.CHECKS + method.CHECKS
MISTAKES = tuple(Mistake)
_CHARACTERS_PER_TOKEN = 4

Opinion = dict[str, Any]


class Judge:
    """Answers judge requests.

    The checks are static: what they look for is fixed, and they have real misses and real false alarms. `settings` adds errors at random,
    drawn from the content of the request and its seed. An observation reaches the answer in one of two ways only: through a rubric whose
    meaning is near enough, or through the task criterion, which has a few checks of its own.
    """

    def __init__(self, settings: JudgeSimulation, encode: Encode):
        """`encode` turns n texts into unit vectors of shape (n, dimensions)."""
        self._settings = settings
        self._memory = Memory(MISTAKES, encode)

    def answer(self, request: Request) -> Response:
        """The verdict as JSON. The same request always gets the same answer."""
        draw = _Draw(request)
        case = Case(read(request))
        criterion = self._task_criterion(case, draw)
        opinions = self._opinions(case, draw)
        self._imagine([criterion, *opinions], draw)
        answer: dict[str, Any] = {"task_criterion": criterion}
        if case.reading.rubrics:
            answer["rubrics"] = [{"number": number, **opinion} for number, opinion in enumerate(opinions, 1)]
        return _response(request, answer)

    def _task_criterion(self, case: Case, draw: _Draw) -> Opinion:
        found = [complaint for complaint in task.complaints(case) if not draw.below(self._settings.miss, "task", complaint)]
        return _opinion(bool(case.sources), bool(found), "; ".join(found) or "nothing that the task asks for is missing")

    def _opinions(self, case: Case, draw: _Draw) -> list[Opinion]:
        """One opinion per rubric: the mistake that it brings to mind decides, if that mistake was looked for in this code."""
        seen = observe(case)
        opinions = []
        for position, nearness in map(self._memory.recall, case.reading.rubrics):
            observation = seen.get(MISTAKES[position]) if nearness >= self._settings.meaning_threshold else None
            if observation is None:
                opinions.append(_opinion(False, False, "nothing in the code bears on this"))
            elif observation.present and not draw.below(self._settings.miss, observation.mistake):
                opinions.append(_opinion(True, True, observation.reason))
            else:
                opinions.append(_opinion(True, False, "nothing of the kind seen"))
        return opinions

    def _imagine(self, opinions: Sequence[Opinion], draw: _Draw) -> None:
        """A false alarm: once in a while one of the satisfied criteria is said to be violated."""
        satisfied = [opinion for opinion in opinions if opinion["applicable"] and not opinion["violated"]]
        if satisfied and draw.below(self._settings.false_alarm, "false alarm"):
            chosen = satisfied[int(draw.uniform("which") * len(satisfied))]
            chosen.update(violated=True, reason="this looks like the mistake described")


def observe(case: Case) -> dict[Mistake, Observation]:
    """What the checks looked for: one observation per mistake, present where any check saw it."""
    found: dict[Mistake, Observation] = {}
    for observation in chain.from_iterable(check(case) for check in CHECKS):
        known = found.get(observation.mistake)
        if known is None or (observation.present and not known.present):
            found[observation.mistake] = observation
    return found


class _Draw:
    """Uniform numbers from the content of a request and a label: the same in every process."""

    def __init__(self, request: Request):
        self._key = content_hash(request)

    def uniform(self, *labels: str) -> float:
        digest = hashlib.sha256("\0".join((self._key, *labels)).encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64

    def below(self, probability: float, *labels: str) -> bool:
        return self.uniform(*labels) < probability


def _opinion(applicable: bool, violated: bool, reason: str) -> Opinion:
    return {"applicable": applicable, "violated": applicable and violated, "reason": reason}


def _response(request: Request, answer: dict[str, Any]) -> Response:
    text = json.dumps(answer, ensure_ascii=False)
    asked = len(request.system) + sum(len(message.text) for message in request.messages)
    usage = Usage(input_tokens=asked // _CHARACTERS_PER_TOKEN, output_tokens=len(text) // _CHARACTERS_PER_TOKEN)
    return Response(text=text, model=request.model, usage=usage)
