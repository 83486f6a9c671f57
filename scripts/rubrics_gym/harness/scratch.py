"""Temporary folders that an agent's commands may write to: removed whatever they left there."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """A new folder, removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        remove_tree(folder)


def remove_tree(folder: Path) -> None:
    """Remove a folder and all that is in it; links are not followed. What cannot be removed stays, without an error.

    By rm, because an agent can nest folders deeper than Python's own way goes (its recursion) and than a path can name.
    """
    words = ["rm", "-rf", "--one-file-system", "--", str(folder)]
    if subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode:  # folders that their owner closed
        subprocess.run(["chmod", "-R", "u+rwX", "--", str(folder)], stderr=subprocess.DEVNULL, check=False)
        subprocess.run(words, stderr=subprocess.DEVNULL, check=False)
