"""Whose a module is: one of the project's own, an installed package, or Python's."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import NamedTuple

from rubrics_gym.failures.tracebacks import Frame

INSTALLED = re.compile(r"(?:site|dist)-packages[/\\](?P<package>\w+)")
STANDARD = re.compile(r"[/\\]lib(?:64)?[/\\]python[\d.]+[/\\](?!site-|dist-)|^<frozen |^<string>$|[/\\]miniconda\d?[/\\]lib[/\\]python")


class Modules(NamedTuple):
    """Words by which modules are told apart, from resources/failure_types.yaml."""

    own_words: frozenset[str]  # of which a project makes the names of its own modules
    own_endings: frozenset[str]  # words that make a name the project's own when they end it
    packages: frozenset[str]  # packages whose names are such words all the same
    namespaces: frozenset[str]  # names that several packages share: what stands below them is a package

    @classmethod
    def of(cls, content: dict[str, list[str]]) -> Modules:
        """From the `modules` of the file."""
        return cls(*(frozenset(content[name]) for name in cls._fields))

    def is_own(self, module: str, frames: tuple[Frame, ...]) -> bool:
        """Whether a top-level module belongs to the project: by its name, by the file names of the traceback, or by how it is imported."""
        if module in self.packages and not _imports_from(module, frames):
            return False
        words = [word for word in re.sub(r"(?<=[a-z])(?=[A-Z])", "_", module).lower().split("_") if word and not word.isdigit()]
        if words and all(word.rstrip("0123456789") in self.own_words for word in words):
            return True
        if len(words) > 1 and words[-1] in self.own_endings:
            return True
        return any(module in _own_names(frame.path) for frame in frames)


def _imports_from(module: str, frames: tuple[Frame, ...]) -> bool:
    """Whether a helper function is imported from a module (`from evaluate import run_model`), where a package of that name has none."""
    code = frames[-1].code if frames else ""
    return re.match(rf"from {module}(?:\.\w+)* import \w*_\w+", code) is not None and (module, code) not in _PACKAGE_IMPORTS


_PACKAGE_IMPORTS = {("datasets", "from datasets import load_dataset"), ("datasets", "from datasets import load_from_disk"),
                    ("datasets", "from datasets import load_metric"), ("datasets", "from datasets import concatenate_datasets")}  # fmt: skip


def _own_names(path: str) -> tuple[str, ...]:
    """File and folder names by which a path outside the installed packages may make a module."""
    if is_installed(path):
        return ()
    parts = PurePosixPath(path.replace("\\", "/"))
    return (parts.stem, *parts.parts[-3:-1])


def is_installed(path: str) -> bool:
    """Whether a file belongs to an installed package or to Python itself."""
    return INSTALLED.search(path) is not None or STANDARD.search(path) is not None


def package_of(path: str) -> str | None:
    """The installed package that a file belongs to; None for Python's and the project's own."""
    match = INSTALLED.search(path)
    return match["package"] if match else None


def caller(frames: tuple[Frame, ...], package: str) -> str | None:
    """The installed package that asked `package` for something: the innermost one on the way that is another; None for the project itself."""
    for frame in reversed(frames):
        of = package_of(frame.path)
        if of is None and is_installed(frame.path):
            continue
        if of is None or of != package:
            return of
    return None
