"""Which files of a folder an import looks at, by their names alone; light, because every start of the workflow asks."""

from __future__ import annotations

from pathlib import Path

from rubrics_gym.settings.study import LogFormat

ENDINGS: dict[LogFormat, tuple[str, ...]] = {
    LogFormat.ATIF: (".json",),
    LogFormat.INSPECT: (".eval", ".json"),
    LogFormat.MINI_SWE_AGENT: (".traj.json", ".json"),
    LogFormat.SWE_AGENT: (".traj", ".json"),
    LogFormat.OPENHANDS: (".jsonl", ".json"),
    LogFormat.AIDE: (".json", ".log"),
    LogFormat.SUPER: (".ipynb",),
    LogFormat.AI_SCIENTIST: ("log.txt",),
}


def candidates(path: Path) -> list[Path]:
    """The files that an import of `path` looks at, sorted: the file itself, or those of a folder whose names end as a format's do.

    FileNotFoundError when there is nothing at `path`.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise FileNotFoundError(str(path))
    endings = {ending for ending_list in ENDINGS.values() for ending in ending_list}
    return sorted(one for one in path.rglob("*") if one.is_file() and any(one.name.endswith(ending) for ending in endings))
