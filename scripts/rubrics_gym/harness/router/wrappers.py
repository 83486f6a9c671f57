"""Programs that run another program given in their arguments, and how to find it there."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from rubrics_gym.harness.router.options import words

SHELLS = words("bash sh zsh dash ksh ash rbash")

# wrapper -> options that take a value as a word of its own, and words before the command
WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    "timeout": (words("-s -k --signal --kill-after"), 1),
    "gtimeout": (words("-s -k --signal --kill-after"), 1),
    "nohup": (words(""), 0),
    "time": (words("-f -o --format --output"), 0),
    "nice": (words("-n --adjustment"), 0),
    "ionice": (words("-c -n --class --classdata"), 0),
    "stdbuf": (words("-i -o -e --input --output --error"), 0),
    "sudo": (words("-u -g -h -p -C -D -R -T -U -r -t --user --group --host --prompt --chdir --chroot"), 0),
    "doas": (words("-u -C"), 0),
    "su": (words("-s -g -G --shell --group"), 1),
    "env": (words("-u -C --unset --chdir"), 0),
    "exec": (words("-a"), 0),
    "command": (words(""), 0),
    "builtin": (words(""), 0),
    "coproc": (words(""), 0),
    "noglob": (words(""), 0),
    "setsid": (words(""), 0),
    "unbuffer": (words(""), 0),
    "busybox": (words(""), 0),
    "taskset": (words(""), 1),
    "chrt": (words(""), 1),
    "numactl": (words("-N -m -C -i -p"), 0),
    "flock": (words("-w -E --timeout --conflict-exit-code"), 1),
    "watch": (words("-n --interval"), 0),
    "script": (words(""), 1),
    "strace": (words("-o -e -p -s -P -u"), 0),
    "ltrace": (words("-o -e -p -s -u"), 0),
    "chroot": (words(""), 1),
    "xvfb-run": (words("-n -s -e -f -p -w --server-num --server-args --error-file"), 0),
    "fakeroot": (words("-s -i -l -f"), 0),
    "dumb-init": (words(""), 0),
    "tini": (words(""), 0),
    "caffeinate": (words("-t -w"), 0),
    "xargs": (
        words("-I -n -P -L -s -d -a -E --max-args --max-procs --max-lines --max-chars --replace --delimiter --arg-file --process-slot-var"),
        0,
    ),
    "parallel": (words("-j -a -n -N -L -S --jobs --arg-file --joblog --results --timeout --delay --retries --max-args --colsep"), 0),
}
RUNNERS = words("conda mamba micromamba poetry uv pipenv pdm rye hatch pixi")  # with the word `run`
RUNNER_OPTIONS = words(
    "-n -p --name --prefix --with --with-requirements --with-editable --python --cwd --directory --project --extra --group --env-file -e"
)
# What projects call their own tasks: `hatch run test` is no test of the shell's.
TASK_RUNNERS = words("poetry pipenv pdm rye hatch pixi")
TASK_NAMES = words("test install watch sync patch service info script time top view last size sum format check")

# Variables that make harmless programs run the agent's code.
_HOOKS = words(
    "LD_PRELOAD LD_AUDIT BASH_ENV ENV PYTHONSTARTUP PERL5OPT PERL5DB RUBYOPT NODE_OPTIONS GIT_SSH GIT_SSH_COMMAND GIT_EXTERNAL_DIFF "
    "GIT_PROXY_COMMAND GIT_ASKPASS SSH_ASKPASS LESSOPEN LESSCLOSE PROMPT_COMMAND TAR_OPTIONS"
)
_PAGERS = words("PAGER MANPAGER GIT_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR BROWSER SHELL")
_HARMLESS_PAGERS = words("cat less more most true : vi vim nvim nano emacs ed code bat") | {""} | {f"/bin/{shell}" for shell in SHELLS}
_TOOLS_BY_PATH = r"(python|pypy|pip|conda|mamba|micromamba|uv|poetry|rustup|cargo|npm|yarn|pnpm|gem|brew|R|Rscript)[\d.]*|activate"


def hook(assignment: str) -> str | None:
    """Why an assignment (`NAME=value`, quotes removed) makes other programs run code; None when it does not."""
    name, _, value = assignment.partition("=")
    if name.rstrip("+") in _HOOKS and value:
        return f"sets {name}, which makes other programs run code"
    if re.fullmatch(r"PS\d", name) and re.search(r"\$\(|`", value):
        return f"sets {name}, which runs a command at every prompt"
    if name in _PAGERS and value.split(" ")[0].removeprefix("/usr") not in _HARMLESS_PAGERS:
        return f"sets {name} to a program, which other programs run"
    if name == "PATH" and re.match(r"\.{1,2}(/|:|$)|:|\$PWD|\$\{PWD\}|\$\(pwd\)|`pwd`", value):
        return "puts the work folder in front of PATH, so that any name can be a program of the agent's"
    return None


def program_name(word: str) -> str:
    """A program's name without the folders where systems and virtual environments keep programs; any other path stays whole."""
    path = PurePosixPath(word)
    if str(path.parent) in {"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin"}:
        return path.name
    if path.parent.name in {"bin", "Scripts", "condabin"} and re.fullmatch(_TOOLS_BY_PATH, path.name):
        return path.name
    return word
