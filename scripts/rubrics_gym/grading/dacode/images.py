"""Comparison of plots: equal pixels, or equal numbers behind the plot and equal properties of it.

The numbers (`result.npy`) and properties (`plot.json`) are what the benchmark's own script takes out of the plotting code. A plot without them
can only be right by its pixels.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any
from zipfile import BadZipFile

from rubrics_gym.grading.dacode.rules import Config, Options, Rule
from rubrics_gym.grading.submissions import InvalidSubmission

TOLERANCE = 1e-2
_COLOUR_DISTANCE = 15  # Euclidean, in 0..255
_WORDS, _TICKS = 90, 95  # similarity of texts, of 100
_PICTURES = (".png", ".jpg", ".jpeg")


def compare_image(given: Sequence[Path], gold: Sequence[Path], options: Options, config: Config, rule: Rule) -> float:
    """1 when the pictures are equal, else 1 when the numbers are and every property in `keys` (all of the gold's when it is empty)."""
    keys = [key.lower() for key in options.get("keys", [])]
    if _pictures_equal(_only(given, _PICTURES), _only(gold, _PICTURES), colour="color" in keys, size="figsize" in keys):
        return 1.0
    if not _numbers_equal(_only(given, (".npy",)), _only(gold, (".npy",))):
        return 0.0
    properties = _only(gold, (".json",))
    return float(properties is None or _properties_equal(_only(given, (".json",)), properties, keys))


def _only(paths: Sequence[Path], endings: tuple[str, ...]) -> Path | None:
    return next((path for path in paths if path.name.lower().endswith(endings)), None)


def _pictures_equal(given: Path | None, gold: Path | None, colour: bool, size: bool) -> bool:
    import numpy as np

    if gold is None:
        raise FileNotFoundError("the gold of a plot has no picture. Take the task's gold folder from a full clone of DA-Code.")
    if given is None or not given.is_file():
        return False
    first, second = _pixels(given, colour), _pixels(gold, colour)
    if first.shape != second.shape:
        if size or first.shape[2:] != second.shape[2:]:
            return False
        first = _pixels(given, colour, (second.shape[1], second.shape[0]))
    return bool(np.allclose(first, second, atol=TOLERANCE))


def _pixels(path: Path, colour: bool, size: tuple[int, int] | None = None) -> Any:
    """A picture as an array of shape (height, width) in grey or (height, width, channels) as it is. InvalidSubmission when it is none."""
    import numpy as np
    from PIL import Image, UnidentifiedImageError

    if path.is_symlink():
        raise InvalidSubmission(f"{path.name} is a link")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as picture:
                shown = picture.copy() if colour else picture.convert("L")
    except (UnidentifiedImageError, OSError, Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise InvalidSubmission(f"{path.name} is not a readable picture: {error}") from None
    resized = shown.resize(size, Image.Resampling.BILINEAR) if size else shown
    return np.asarray(resized).astype(float)


def _numbers_equal(given: Path | None, gold: Path | None) -> bool:
    """Whether two arrays are equal with every column sorted, as they are or as shares of their sums."""
    if gold is None:
        raise FileNotFoundError("the gold of a plot has no numbers. Take the task's gold folder from a full clone of DA-Code.")
    if given is None or not given.is_file():
        return False
    first, second = _numbers(given), _numbers(gold)
    if first is None or second is None or first.shape != second.shape:
        return False
    return _same_numbers(first, second) or _same_numbers(first / first.sum(), second / second.sum())


def _numbers(path: Path) -> Any:
    """An array of numbers of at least two dimensions; None when the file holds none. Pickled objects are never loaded: they are programs."""
    import numpy as np

    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError, MemoryError, BadZipFile, TokenError):  # what numpy raises for damaged files
        return None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiub":
        return None
    return array.reshape(-1, 1).astype(float) if array.ndim == 1 else array.astype(float)


def _same_numbers(first: Any, second: Any) -> bool:
    import numpy as np

    return bool(np.allclose(np.sort(first, axis=0), np.sort(second, axis=0), atol=TOLERANCE, equal_nan=True))


def _properties_equal(given: Path | None, gold: Path, keys: list[str]) -> bool:
    if given is None or not given.is_file():
        return False
    try:
        first = json.loads(given.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return False
    second = json.loads(gold.read_text(encoding="utf-8"))
    return isinstance(first, dict) and all(_property_equal(key, first, second) for key in keys or [key.lower() for key in second])


def _property_equal(key: str, given: dict[str, Any], gold: dict[str, Any]) -> bool:
    if key == "figsize":
        return _entries(given, key) == _entries(gold, key)
    if key == "color":
        colours = [_rgb(colour) for colour in _entries(gold, key) or []]
        shown = _entries(given, key)
        return shown is not None and all(any(_near(_rgb(colour), other) for other in colours) for colour in shown)
    if key == "type":
        return str(given.get(key, "")).lower() == str(gold.get(key, "")).lower()
    if key in ("graph_title", "x_label", "y_label", "legend_title"):
        return _alike(given.get(key) or "", gold.get(key) or "") >= _WORDS
    if key in ("labels", "xtick_labels", "ytick_labels"):
        first, second = _entries(given, key), _entries(gold, key)
        if first is None or second is None:
            return False
        return len(first) == len(second) and all(any(_alike(one, other) > _TICKS for other in second) for one in first)
    raise ValueError(f"DA-Code's property {key!r} of a plot is not known")


def _entries(properties: dict[str, Any], key: str) -> list[Any] | None:
    """The list under a key, empty where there is none; None for anything but a list."""
    value = properties.get(key) or []
    return value if isinstance(value, list) else None


def _alike(first: object, second: object) -> int:
    """Similarity of two texts without case, 0 to 100; two empty ones are the same."""
    from rapidfuzz import fuzz

    return round(fuzz.ratio(str(first).lower(), str(second).lower()))


def _rgb(colour: str) -> tuple[int, int, int] | None:
    """The colour that a text such as #1f77b4 names; None when it names none."""
    digits = str(colour).lstrip("#")
    try:
        return int(digits[0:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)
    except ValueError:
        return None


def _near(first: tuple[int, int, int] | None, second: tuple[int, int, int] | None) -> bool:
    if first is None or second is None:
        return False
    return sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) <= _COLOUR_DISTANCE**2
