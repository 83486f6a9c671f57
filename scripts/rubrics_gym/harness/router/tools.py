"""Programs whose subcommand decides: version control, containers, terminals, notebooks, linters."""

from __future__ import annotations

import re
import shlex

from rubrics_gym.harness.router.findings import CODE_RUN, EDIT, INSPECT, OTHER, Finding, Nested
from rubrics_gym.harness.router.options import after_options, first_word, has_option, operands, words

_GIT_VALUED = words("-C -c --git-dir --work-tree --namespace --exec-path --config-env")
_GIT_READS = words(
    "status log diff show blame annotate ls-files ls-tree ls-remote rev-parse rev-list describe shortlog grep cat-file version help whatchanged count-objects "
    "for-each-ref merge-base name-rev check-ignore check-attr diff-tree diff-index diff-files show-ref show-branch fsck var cherry verify-commit"
)
_GIT_CHANGES = words(
    "clone pull fetch checkout switch restore commit add push reset stash merge rebase init lfs submodule clean mv rm cherry-pick revert worktree archive gc "
    "branch remote tag reflog config update-index prune bundle notes format-patch symbolic-ref hash-object commit-tree update-ref repack pack-objects sparse-checkout "
    "credential maintenance read-tree write-tree rerere request-pull range-diff"
)
_GIT_LISTS = {  # subcommands that change something, unless only these words and options follow
    "branch": r"(-[avrl]+|--(all|list|show-current|remotes|verbose|contains|merged|no-merged|sort|format|column|points-at)\b.*)",
    "remote": r"(-v|--verbose|show|get-url)",
    "tag": r"(-l|-n\d*|--(list|sort|contains|merged|points-at|format)\b.*)",
    "stash": r"(list|show)",
    "worktree": r"(list)",
    "submodule": r"(status|summary)",
    "reflog": r"(show|-\d+|-n|--\w.*)",
    "config": r"(-l|--(list|get|get-all|get-regexp|show-origin|show-scope|global|local|system|name-only)\b.*|list|get)",
    "lfs": r"(ls-files|env|status|version)",
    "notes": r"(list|show)",
}
_GIT_RUNS = re.compile(
    r"(^| )(-c|--config|config( --\w+)*) ?=?(core\.(pager|editor|sshcommand|fsmonitor|hookspath|askpass|gitproxy)|diff\.\S*(external|command|textconv)|pager"
    r"|credential|sequence|filter|merge\.\S*driver|difftool|mergetool|gpg\.\S*program|uploadpack|interactive\.difffilter)[.\w-]*[= ](?!(cat|less|more|store|cache|true|vi|vim|nvim|nano|emacs|code --wait)?( |$))"
    r"|\bbisect run\b|\bsubmodule foreach\b|\bfilter-(branch|repo)\b|--exec\b|\brebase\b.* (-x|--exec)|--ext-diff|--upload-pack|--receive-pack|--open-files-in-pager|--template\b|\bext::"
    r"|\bgrep\b.* -O|\balias\.\S*[= ]['\"]?!",
    re.IGNORECASE,
)


def git(arguments: list[str]) -> Finding:
    """git, by its subcommand; settings that make it run programs count as running them. An unknown subcommand may be an alias."""
    rest = after_options(arguments, _GIT_VALUED)
    word = "".join(rest[:1])
    said = [item for place, item in enumerate(arguments) if not re.fullmatch(r"-[a-z]*m|--message", "".join(arguments[place - 1 : place]))]
    if _GIT_RUNS.search(" ".join(said)):
        return Finding(CODE_RUN, "git runs commands")
    if word in {"apply", "am"}:
        reads = has_option(rest, "--check", "--stat", "--numstat", "--summary")
        return Finding(INSPECT, "looks at a patch") if reads else Finding(EDIT, "applies a patch")
    if word in _GIT_READS or not word:
        return (
            Finding(EDIT, "git writes a file") if any(item.startswith("--output") for item in rest) else Finding(INSPECT, "git only reads")
        )
    if word in _GIT_LISTS and _git_lists(word, rest[1:]):
        return Finding(INSPECT, f"git {word} only lists")
    return Finding(OTHER, f"git {word}") if word in _GIT_CHANGES else Finding(CODE_RUN, f"git {word} is not known")


def _git_lists(word: str, rest: list[str]) -> bool:
    """Whether a subcommand is called as a listing: with nothing, or beginning with a word or option that lists."""
    if not rest:
        return word in {"branch", "remote", "tag", "reflog", "submodule", "notes"}
    if word == "config" and not rest[0].startswith("-"):
        return len(rest) == 1 or rest[0] in {"list", "get"}
    if word == "config" and not any(re.match(r"-l|--(list|get)", item) for item in rest):
        return len(operands(rest)) == 1 and rest[-1] in operands(rest)
    return re.fullmatch(_GIT_LISTS[word], rest[0]) is not None


def container(arguments: list[str]) -> Finding:
    word = first_word(arguments)
    if word in words("ps images logs inspect version info stats top port events history search diff ls list") or word.startswith("-"):
        return Finding(INSPECT, "lists containers")
    fetches = words("pull push login logout stop rm rmi kill tag save load network volume system prune pause unpause rename")
    return Finding(OTHER, "handles images and containers") if word in fetches else Finding(CODE_RUN, "runs a container")


def dvc(arguments: list[str]) -> Finding:
    runs = first_word(arguments) in {"repro", "exp", "run", "stage"}
    return Finding(CODE_RUN, "runs a pipeline") if runs else Finding(OTHER, "moves data")


def jupyter(arguments: list[str]) -> Finding:
    lists = arguments[:1] in (["--version"], ["kernelspec"], ["--paths"], ["--help"]) or arguments[1:2] in (
        ["list"],
        ["--version"],
        ["--help"],
    )
    if first_word(arguments) == "nbconvert" and not re.search(r"--execute|Execute", " ".join(arguments)):
        return Finding(OTHER, "converts a notebook")
    return Finding(INSPECT, "lists what Jupyter has") if lists else Finding(CODE_RUN, "runs a notebook or its server")


def _as_line(started: list[str]) -> str:
    """The command line of a terminal: one word is a line of its own, several are the words of a command."""
    return started[0] if len(started) == 1 else shlex.join(started)


_KEYS = words("Enter C-m C-j Escape C-c C-d C-z C-l Space Tab BSpace Up Down Left Right KPEnter q")


def tmux(arguments: list[str]) -> Finding | Nested:
    """tmux: what is typed into a pane, or started in one, is a command line."""
    rest = after_options(arguments, words("-L -S -f -c"))
    word, following = "".join(rest[:1]), rest[1:]
    valued = words("-t -s -n -c -x -y -F -e -l -p -N -T -E")
    if word in {"send-keys", "send"}:
        typed = [item for item in operands(following, words("-t -N -c")) if item not in _KEYS and not re.fullmatch(r"(C|M|S)-\S+", item)]
        return Nested(" ".join(typed)) if typed else Finding(OTHER, "presses a key")
    if word in words(
        "new-session new new-window neww split-window splitw respawn-pane respawn-window run-shell run if-shell pipe-pane popup display-popup"
    ):
        started = _as_line(operands(following, valued))
        return Nested(started) if started else Finding(OTHER, "opens a terminal")
    if word in words(
        "ls list-sessions list-windows list-panes capture-pane capturep display-message display show-buffer showb has-session has info"
    ):
        return Finding(INSPECT, "looks at terminals")
    known = words(
        "kill-session kill-server kill-pane kill-window select-pane selectp select-window attach attach-session a detach rename-window set set-option resize-pane swap-pane"
    )
    return Finding(OTHER, "arranges terminals") if word in known or not word else Finding(CODE_RUN, f"tmux {word} is not known")


def screen(arguments: list[str]) -> Finding | Nested:
    """screen: `-X stuff TEXT` types a command line, other words after the options are a command."""
    if "stuff" in arguments:
        return Nested(re.sub(r"(\\n|\\r|\^M|\n|\r)+$", "", " ".join(arguments[arguments.index("stuff") + 1 :])))
    if has_option(arguments, "-ls", "-list", "-v") and "-dmS" not in arguments:
        return Finding(INSPECT, "lists terminals")
    started = after_options(arguments, words("-S -dmS -t -c -e -h -p -s -T -Logfile -X"))
    return Nested(_as_line(started)) if started else Finding(OTHER, "opens a terminal")


def linter(arguments: list[str]) -> Finding:
    """Programs that read code without running it; those that can repair or format what they read edit it."""
    edits = has_option(arguments, "--fix", "--fix-only", "--in-place", "-w") or first_word(arguments) == "format"
    edits = edits and not has_option(arguments, "--check", "--diff", "--show-fixes")
    loads = any(re.match(r"--(init-hook|load-plugins|plugins)", item) for item in arguments)
    if loads:
        return Finding(CODE_RUN, "the linter loads code")
    return Finding(EDIT, "changes code") if edits else Finding(INSPECT, "reads code without running it")


def formatter(arguments: list[str]) -> Finding:
    reads = has_option(arguments, "--check", "--check-only", "--diff", "--dry-run")
    return Finding(INSPECT, "reads code without running it") if reads else Finding(EDIT, "formats code")


def text_editor(arguments: list[str]) -> Finding:
    """Editors edit, unless they are given a script, an evaluation, or a command (`-c`, `+`) that can run programs."""
    commands = [
        item
        for place, item in enumerate(arguments)
        if item.startswith("+") or re.fullmatch(r"-[a-zA-Z]*c|--cmd", "".join(arguments[place - 1 : place]))
    ]
    scripted = any(item in {"-S", "-l", "-f"} or re.match(r"--?(batch|eval|load|funcall|script)", item) for item in arguments)
    if scripted or any(re.search(r"!|\bsystem\(|\b(py|lua|perl|ruby|term|source|so)", text) for text in commands):
        return Finding(CODE_RUN, "the editor runs commands")
    return Finding(EDIT, "edits a file")


TOOLS = {
    "git": git,
    "docker": container,
    "podman": container,
    "nerdctl": container,
    "dvc": dvc,
    "jupyter": jupyter,
    "jupyter-notebook": jupyter,
    "jupyter-lab": jupyter,
    "tmux": tmux,
    "screen": screen,
}
