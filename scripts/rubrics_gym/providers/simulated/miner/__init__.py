"""A simulated miner: reads a rendered rollout, notices what went wrong in it, and words rubrics about it in English of its own."""

from __future__ import annotations

import hashlib
import json
import random
import re
from typing import Any

from rubrics_gym.models.request import Request, Response, Usage
from rubrics_gym.providers.simulated.miner.noticing import Noticed, notice
from rubrics_gym.providers.simulated.miner.reading import read_rollout
from rubrics_gym.providers.simulated.miner.wording import worded
from rubrics_gym.settings.study import TextSimulation


class Miner:
    """Stateless: the answer follows from the request alone. `settings.error` is the chance that a rubric cites the wrong step."""

    def __init__(self, settings: TextSimulation):
        self._error = settings.error

    def answer(self, request: Request) -> Response:
        """At most as many rubrics as the request allows, as the JSON that its schema asks for."""
        text = request.messages[-1].text
        dice = random.Random(hashlib.sha256(f"{request.seed}\n{request.system}\n{text}".encode()).digest())
        most = re.search(r"at most (\d+) rubrics", request.system)
        noticed = notice(read_rollout(text), dice)[: int(most[1]) if most else 0]
        steps = sorted({int(number) for number in re.findall(r"^step (\d+) \(", text, re.MULTILINE)})
        rubrics = [self._rubric(one, steps, dice) for one in noticed]
        body = json.dumps({"rubrics": rubrics}, ensure_ascii=False)
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
