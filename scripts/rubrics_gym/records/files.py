"""Reading and writing record files: outputs appear whole or not at all, JSON lines survive a cut."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from rubrics_gym.records.base import Record, canonical_json

R = TypeVar("R", bound=Record)


class DamagedFile(ValueError):
    """A record file that cannot be read; the message names the file, the line and what to do."""


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; on success it becomes `path` (fsynced, atomic), on an error it vanishes."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with open(temporary, "rb") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o644)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: str | Path, text: str) -> None:
    """Write a UTF-8 text file, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | Path, value: Any) -> None:
    """Write one JSON value (a Record or plain JSON), keys sorted, indented for people."""
    plain = value.model_dump(mode="json") if isinstance(value, Record) else value
    write_text(path, json.dumps(plain, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_json_lines(path: str | Path, records: Iterable[Record | dict[str, Any]]) -> None:
    """Write one canonical JSON line per record."""
    with whole_file(path) as temporary, open(temporary, "w", encoding="utf-8") as lines:
        for record in records:
            lines.write(canonical_json(record) + "\n")


def read_json(path: str | Path) -> Any:
    """Read one JSON value. DamagedFile names the file when it is not JSON."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise DamagedFile(f"{path}: not valid JSON ({error}). Delete the file and run the same command again.") from None


def iter_json_lines(path: str | Path) -> Iterator[Any]:
    """Yield the JSON values of a JSON-lines file. A cut last line (no newline, not JSON) is passed over: its writer was killed."""
    with open(path, encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield json.loads(line)
            except ValueError:
                if line.endswith("\n"):
                    raise DamagedFile(f"{path}, line {number}: not valid JSON. The file was changed after it was written.") from None


def read_records(path: str | Path, kind: type[R]) -> list[R]:
    """Read a JSON-lines file of one record kind; an invalid line raises DamagedFile with file, line and field."""
    return list(iter_records(path, kind))


def iter_records(path: str | Path, kind: type[R]) -> Iterator[R]:
    """Yield the records of a JSON-lines file of one kind; an invalid line raises DamagedFile with file, line and field."""
    from pydantic import ValidationError

    for number, value in enumerate(iter_json_lines(path), 1):
        try:
            yield kind.model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise DamagedFile(f"{path}, record {number}: {where or kind.__name__}: {first['msg']}") from None


def attempt_files(paths: Iterable[str], name: str) -> list[str]:
    """One file per attempt. A path that is a folder stands for the file `name` of every attempt in it, however deep, in sorted order."""
    return [str(file) for path in paths for file in (sorted(Path(path).rglob(name)) if Path(path).is_dir() else [Path(path)])]


def append_json_line(path: str | Path, record: Record | dict[str, Any]) -> None:
    """Append one canonical JSON line and wait until it is on disk."""
    with open(path, "a", encoding="utf-8") as lines:
        lines.write(canonical_json(record) + "\n")
        lines.flush()
        os.fsync(lines.fileno())
