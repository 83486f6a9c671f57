"""A simulated miner: reads a rendered rollout, a part of one, or two programs side by side, notices what went wrong, and words rubrics about it in
English of its own."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import re
from typing import Any

from rubrics_gym.models.request import Request, Response, Usage
from rubrics_gym.providers.simulated.miner.circumstances import circumstances
from rubrics_gym.providers.simulated.miner.comparing import lessons, read_sides
from rubrics_gym.providers.simulated.miner.noticing import Noticed, deaths, notice
from rubrics_gym.providers.simulated.miner.reading import Rollout, read_rollout, read_titles
from rubrics_gym.providers.simulated.miner.relating import nearest_first
from rubrics_gym.providers.simulated.miner.wording import other_wordings, worded
from rubrics_gym.settings.study import TextSimulation


class Miner:
    """Stateless: the answer follows from the request alone. `settings.error` is the chance that a rubric cites the wrong step or program."""

    def __init__(self, settings: TextSimulation):
        self._error = settings.error

    def answer(self, request: Request) -> Response:
        """At most as many rubrics as the request allows, as the JSON that its schema asks for."""
        text = request.messages[-1].text
        dice = random.Random(hashlib.sha256(f"{request.seed}\n{request.system}\n{text}".encode()).digest())
        most = re.search(r"at most (\d+)\s+rubrics?", request.system)
        limit = int(most[1]) if most else 0
        rollout = read_rollout(text)
        titles = read_titles(text)
        sides = read_sides(text)
        if sides is not None:
            by_lines = "first" in _items(request)["evidence"]["items"]["properties"]
            rubrics = lessons(sides, by_lines, limit, self._error, dice)
        elif titles is None:
            steps = sorted({int(number) for number in re.findall(r"^step (\d+) \(", text, re.MULTILINE)})
            rubrics = [self._rubric(one, steps, dice) for one in notice(rollout, dice)[:limit]]
        else:
            rubrics = _not_said_yet(rollout, _of_category(rollout, request.system, dice), titles, limit, dice)
        asked = list(_items(request))
        body = json.dumps({"rubrics": [{name: rubric[name] for name in asked} for rubric in rubrics]}, ensure_ascii=False)
        return Response(
            text=body, model=request.model, usage=Usage(input_tokens=(len(request.system) + len(text)) // 4, output_tokens=len(body) // 4)
        )

    def _rubric(self, noticed: Noticed, steps: list[int], dice: random.Random) -> dict[str, Any]:
        cited = [{"step": number, "quote": quote} for number, quote in noticed.steps]
        if cited and dice.random() < self._error:
            wrong = dice.randrange(len(cited))
            others = [number for number in steps if number != cited[wrong]["step"]] or [max(steps, default=0) + 1]
            cited[wrong]["step"] = dice.choice(others)
        return {
            **worded(noticed.topic, noticed.detail, dice),
            "kind": noticed.kind,
            "steps": cited,
            "final_files": [{"quote": quote} for quote in noticed.final],
        }


def _items(request: Request) -> dict[str, Any]:
    """The fields of a rubric that the request's schema asks for, with what each may hold."""
    schema: dict[str, Any] = request.output_schema or {}
    fields: dict[str, Any] = schema["properties"]["rubrics"]["items"]["properties"]
    return fields


def _of_category(rollout: Rollout, system: str, dice: random.Random) -> list[Noticed]:
    """Lessons about one failure: the death of the step that is shown, or else what comes nearest to the words of the category."""
    if rollout.steps:
        return list(deaths(rollout))
    found = re.search(r"belong to it:\n(.*?)\n\n", system, re.DOTALL)
    return nearest_first(found[1] if found else "", notice(rollout, dice))


def _not_said_yet(rollout: Rollout, lessons: list[Noticed], titles: set[str], limit: int, dice: random.Random) -> list[dict[str, Any]]:
    """At most `limit` rubrics about the first lesson whose titles are not there: the plain ones, then narrower cases of it.

    Where nothing is left to say, one of them in other words: a miner that repeats itself is what a library must notice.
    """
    for lesson in lessons[:1]:
        wordings = other_wordings(lesson.topic, lesson.detail, dice)
        narrower = [
            {**texts, "title": f"{texts['title']} {one.where}", "applies_when": one.applies}
            for one, texts in itertools.product(circumstances(rollout), wordings[:1])
        ]
        fresh = [texts for texts in (*wordings, *narrower) if texts["title"] not in titles]
        return fresh[:limit] or [worded(lesson.topic, lesson.detail, dice)]
    return []
