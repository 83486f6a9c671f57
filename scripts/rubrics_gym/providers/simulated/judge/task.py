"""The task criterion: a few plain things that the task itself asks for, looked at without any rubric."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rubrics_gym.providers.simulated.judge.case import Case
from rubrics_gym.providers.simulated.judge.reading import base, normal

_DATA_PATH = re.compile(r"""["']([\w./-]+\.(?:csv|tsv|json|parquet|xlsx))["']""")


def complaints(case: Case) -> Iterator[str]:
    """What the task asks for and the programs do not do."""
    for source in case.sources:
        if source.error:
            yield f"{base(source.path)} does not parse ({source.error})"
    text = "\n".join(source.text for source in case.sources)
    yield from _unlisted(case, text)
    if case.is_hand_in and text:
        yield from _undelivered(case, text)


def _unlisted(case: Case, text: str) -> Iterator[str]:
    files = case.reading.files
    for path in sorted(set(_DATA_PATH.findall(text))) if files else []:
        known = normal(path) in files or base(path) in {base(file) for file in files} if files else True
        named = base(path) in case.deliverables or base(path) in case.reading.statement
        if not known and not named and re.search(rf"(read_\w+|open|load\w*)\([^)\n]*{re.escape(path)}", text):
            yield f"{path} is read, and no such file is listed"


def _undelivered(case: Case, text: str) -> Iterator[str]:
    for name in case.deliverables:
        if name not in text:
            yield f"{name} is asked for, and the program never names it"
        header = case.headers.get(name, ())
        if header and not re.search(r"sample\w*\.csv", text):
            absent = [column for column in header if column not in text]
            if absent:
                yield f"{name} wants the column {', '.join(absent)}, which the program never names"
