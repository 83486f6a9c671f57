"""What every page has in common: whatever a model or a task wrote is text to its template, and nothing loads but what its policy names."""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2


def template(folder: Path, name: str) -> jinja2.Template:
    """A template that escapes what it is given. A variable that it names and nobody gives is an error (jinja2.UndefinedError)."""
    return _environment(folder).get_template(name)


@functools.cache
def _environment(folder: Path) -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def content_policy(style: str, script: str) -> str:
    """The content security policy: nothing may load from anywhere; one style sheet and one script may run, named by their sha256."""

    def source(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    return f"default-src 'none'; style-src {source(style)}; script-src {source(script)}; base-uri 'none'; form-action 'none'"
