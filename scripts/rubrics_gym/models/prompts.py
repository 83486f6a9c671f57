"""Prompt templates: read from resources/prompts/, rendered strictly, with untrusted text delimited."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import jinja2
import yaml


def fenced(label: str, text: str, *others: str) -> str:
    """Delimit text that comes from a model, a task or a program, so that a reader can tell it from instructions.

    A delimiter of its own inside the text is defused, so the text cannot end its fence; those of `others`, so that it cannot pose as their content.
    """
    safe = text
    for name in (label, *others):
        safe = re.sub(rf"<\s*(/?)\s*{re.escape(name)}\s*>", rf"[\1{name}]", safe, flags=re.IGNORECASE)
    return f"<{label}>\n{safe}\n</{label}>"


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False, autoescape=False
    )
    environment.globals["fenced"] = fenced
    return environment


class Prompt:
    """One prompt file: `version` and named templates (usually `system` and `user`)."""

    def __init__(self, path: str | Path):
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        if not isinstance(content, dict) or "version" not in content:
            raise ValueError(f"{path}: a prompt file holds `version` and templates; see resources/prompts/agent.yaml")
        self.version: str = content.pop("version")
        environment = _environment()
        self._templates = {name: environment.from_string(text) for name, text in content.items()}

    def render(self, part: str, **variables: Any) -> str:
        """Fill one template. A variable that the template names and nobody gives is an error (jinja2.UndefinedError)."""
        return self._templates[part].render(**variables).strip("\n")


@functools.cache
def load_prompt(path: str) -> Prompt:
    """Read a prompt file once per process."""
    return Prompt(path)
