"""The first steps of a command, before its boundary: it dies with the harness, is in its control group and under its limits, or does not begin.

A small shell takes these steps, not this process after a fork: a fork copies the page tables of a harness that may hold a language model.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

from rubrics_gym.settings.study import Limits

TOOLS = ("bash", "setpriv")
ENTERED = "entered"  # what the steps report, as JSON, when all of them are taken


def entry_words(parent: int, entrances: Iterable[Path], limits: Limits | None, gid: int | None) -> list[str]:
    """Words before a command (and its boundary). Their standard input is where they report ENTERED; the command's own is empty.

    `parent` is the process with which the command dies: the kernel is told first, so there is no moment at which the parent can end unseen.
    `entrances` are files of control groups, `limits` those of every process of the command (None: the boundary sets them), `gid` its group.
    A step that fails ends it all: a command outside its limits never runs.
    """
    steps = [f"[ $PPID = {parent} ]"]
    steps += [f"echo 0 > {shlex.quote(str(file))}" for file in entrances]
    steps += [_limit(limits)] if limits else []
    steps += [f"""echo '{{"{ENTERED}": 1}}' >&0""", 'exec "$@" < /dev/null']
    group = [] if gid is None else [f"--regid={gid}", "--keep-groups"]
    return ["setpriv", "--pdeathsig=KILL", *group, "bash", "-c", " && ".join(steps), "bash"]


def _limit(limits: Limits) -> str:
    kilobytes, processes, blocks = limits.memory_mb * 1024, limits.processes, limits.file_mb * 1024
    return f"ulimit -v {kilobytes} -u {processes} -f {blocks} -n {limits.open_files} -c 0"
