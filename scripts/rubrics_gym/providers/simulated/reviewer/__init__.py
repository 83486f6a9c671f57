"""A simulated reviewer: names the cause of a wrong result, and says what a lesson has to do with two programs."""

from __future__ import annotations

import hashlib
import json
import random

from rubrics_gym.models.request import Request, Response, Usage
from rubrics_gym.providers.simulated.reviewer.causes import attribute
from rubrics_gym.providers.simulated.reviewer.lessons import review
from rubrics_gym.settings.study import TextSimulation


class Reviewer:
    """Stateless: the answer follows from the request alone. `settings.error` is the chance of another answer than the one found."""

    def __init__(self, settings: TextSimulation):
        self._error = settings.error

    def answer(self, request: Request) -> Response:
        """The cause, or the two findings, as the JSON that the request's schema asks for."""
        text = request.messages[-1].text
        dice = random.Random(hashlib.sha256(f"{request.seed}\n{request.system}\n{text}".encode()).digest())
        asks_for_findings = "second" in (request.output_schema or {})["properties"]
        said = review(text, self._error, dice) if asks_for_findings else attribute(request.system, text, self._error, dice)
        body = json.dumps(said)
        return Response(
            text=body, model=request.model, usage=Usage(input_tokens=(len(request.system) + len(text)) // 4, output_tokens=len(body) // 4)
        )
