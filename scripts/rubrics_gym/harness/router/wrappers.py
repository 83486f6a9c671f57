"""Programs that run another program given in their arguments, and how to find it there."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

SHELLS = {"bash", "sh", "zsh", "dash", "ksh"}
HOOKS = {
    "LD_PRELOAD",
    "LD_AUDIT",
    "BASH_ENV",
    "ENV",
    "PYTHONSTARTUP",
    "PERL5OPT",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "LESSOPEN",
    "PROMPT_COMMAND",
}

# wrapper -> options that take a value as a word of its own, and words before the command
WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    "timeout": (frozenset({"-s", "-k", "--signal", "--kill-after"}), 1),
    "nohup": (frozenset(), 0),
    "time": (frozenset({"-f", "-o", "--format", "--output"}), 0),
    "nice": (frozenset({"-n", "--adjustment"}), 0),
    "ionice": (frozenset({"-c", "-n", "--class", "--classdata"}), 0),
    "stdbuf": (frozenset({"-i", "-o", "-e"}), 0),
    "sudo": (frozenset({"-u", "-g", "-h", "-p", "-C", "-D", "--user", "--group"}), 0),
    "doas": (frozenset({"-u", "-C"}), 0),
    "su": (frozenset(), 1),
    "env": (frozenset({"-u", "-C", "--unset", "--chdir"}), 0),
    "exec": (frozenset({"-a"}), 0),
    "command": (frozenset(), 0),
    "builtin": (frozenset(), 0),
    "coproc": (frozenset(), 0),
    "setsid": (frozenset(), 0),
    "unbuffer": (frozenset(), 0),
    "busybox": (frozenset(), 0),
    "taskset": (frozenset(), 1),
    "chrt": (frozenset(), 1),
    "numactl": (frozenset({"-N", "-m", "-C", "-i"}), 0),
    "flock": (frozenset({"-w", "-E"}), 1),
    "watch": (frozenset({"-n", "--interval"}), 0),
    "script": (frozenset(), 1),
    "strace": (frozenset({"-o", "-e", "-p", "-s"}), 0),
    "xargs": (frozenset({"-I", "-n", "-P", "-L", "-s", "-d", "-a", "-E", "--max-args", "--max-procs", "--delimiter", "--arg-file"}), 0),
    "parallel": (frozenset({"-j", "-a", "--jobs"}), 0),
}
RUNNERS = {"conda", "mamba", "micromamba", "poetry", "uv", "pipenv", "pdm", "rye", "hatch", "pixi"}
RUNNER_OPTIONS = frozenset({"-n", "-p", "--name", "--prefix", "--with", "--python", "--cwd", "--directory", "--project"})


def after_options(arguments: list[str], valued: frozenset[str]) -> list[str]:
    """What follows the options of a wrapper; `valued` are the options whose value is a word of its own."""
    position = 0
    while position < len(arguments) and (arguments[position].startswith("-") or re.match(r"\w+=", arguments[position])):
        if arguments[position] == "--":
            return arguments[position + 1 :]
        position += 2 if arguments[position] in valued else 1
    return arguments[position:]


def program_name(word: str) -> str:
    """A program's name without the folders where systems and virtual environments keep programs; any other path stays whole."""
    path = PurePosixPath(word)
    if str(path.parent) in {"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin"}:
        return path.name
    if path.parent.name == "bin" and re.fullmatch(r"(python|pip|conda|mamba|uv)[\d.]*", path.name):
        return path.name
    return word
