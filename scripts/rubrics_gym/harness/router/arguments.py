"""Programs whose arguments decide: readers that can write or run commands."""

from __future__ import annotations

import re

from rubrics_gym.harness.router.findings import CODE_RUN, EDIT, INSPECT, OTHER, Finding
from rubrics_gym.harness.router.wrappers import after_options

_GIT_INSPECT = frozenset(
    "status log diff show branch remote blame ls-files ls-tree rev-parse describe tag shortlog grep reflog cat-file config version help".split()
)
_GIT_OTHER = frozenset(
    "clone pull fetch checkout switch restore commit add push reset stash merge rebase init lfs submodule clean mv rm cherry-pick revert worktree archive gc".split()
)
INSPECT_WORDS = frozenset(
    [
        "list",
        "ls",
        "show",
        "search",
        "info",
        "policy",
        "freeze",
        "tree",
        "outdated",
        "view",
        "version",
        "versions",
        "which",
        "help",
        "madison",
        "depends",
        "rdepends",
        "cache",
        "--version",
        "-V",
        "--help",
        "-h",
        "-l",
        "-q",
        "-s",
    ]
)


def first_word(arguments: list[str]) -> str:
    return next((item for item in arguments if not item.startswith("-")), arguments[0] if arguments else "")


def _sed(arguments: list[str]) -> Finding:
    if any(re.match(r"-[nErsuz]*i|--in-place", item) for item in arguments):
        return Finding(EDIT, "changes files in place")
    scripts = [item for item in arguments if not item.startswith("-")]
    if any(re.search(r"(^|[;{}\d$/])\s*e(\s|$)|/[gIp\d]*e[gIp\d]*\s*($|;)", item) for item in scripts[:1]):
        return Finding(CODE_RUN, "a sed program that runs commands")
    return Finding(INSPECT, "sed only prints")


def _awk(arguments: list[str]) -> Finding:
    program = " ".join(arguments)
    if re.search(r"system\s*\(|\|\s*&?\s*[\"']|[\"']\s*\|\s*getline", program) or "-f" in arguments:
        return Finding(CODE_RUN, "an awk program that runs commands or comes from a file")
    if re.search(r"print(f)?\b[^;}]*>\s*[\"$\w]", program) or "inplace" in arguments:
        return Finding(EDIT, "an awk program that writes files")
    return Finding(INSPECT, "awk only prints")


def _tee(arguments: list[str]) -> Finding:
    files = [item for item in arguments if not item.startswith("-") and item != "/dev/null"]
    return Finding(EDIT, f"writes {files[0]}") if files else Finding(INSPECT, "only copies its input")


def _git(arguments: list[str]) -> Finding:
    rest = after_options(arguments, frozenset({"-C", "-c", "--git-dir", "--work-tree"}))
    word = "".join(rest[:1])
    text = " ".join(arguments)
    if re.search(r"alias\.\S*=\S*!|\bbisect run\b|\bforeach\b|\bfilter-branch\b|--exec\b|\brebase\b.* -x\b|--ext-diff|--upload-pack", text):
        return Finding(CODE_RUN, "git runs commands")
    if word in {"apply", "am"}:
        return Finding(EDIT, "applies a patch")
    if word in _GIT_INSPECT or not word:
        return Finding(INSPECT, "git only reads")
    return Finding(OTHER, f"git {word}") if word in _GIT_OTHER else Finding(CODE_RUN, f"git {word} is not known")


def _tar(arguments: list[str]) -> Finding:
    if any(
        re.match(r"--(to-command|checkpoint-action|use-compress-program|rsh-command|info-script|new-volume-script)|-I", item)
        for item in arguments
    ):
        return Finding(CODE_RUN, "tar runs a program")
    lists = any(re.match(r"-?[a-zA-Z]*t", item) for item in arguments[:1])
    return Finding(INSPECT, "lists an archive") if lists else Finding(OTHER, "packs or unpacks")


def _sort(arguments: list[str]) -> Finding:
    if any(item.startswith("--compress-prog") for item in arguments):
        return Finding(CODE_RUN, "sort runs a program")
    return (
        Finding(EDIT, "writes a sorted file")
        if any(re.match(r"-[a-zA-Z]*o|--output", item) for item in arguments)
        else Finding(INSPECT, "sort only prints")
    )


def _split(arguments: list[str]) -> Finding:
    return (
        Finding(CODE_RUN, "split runs a filter")
        if any(item.startswith("--filter") for item in arguments)
        else Finding(OTHER, "writes parts of a file")
    )


def _rsync(arguments: list[str]) -> Finding:
    return (
        Finding(CODE_RUN, "rsync runs a program")
        if any(re.match(r"-[a-zA-Z]*e|--rsh|--rsync-path", item) for item in arguments)
        else Finding(OTHER, "copies files")
    )


def _dd(arguments: list[str]) -> Finding:
    return (
        Finding(EDIT, "writes a file")
        if any(item.startswith("of=") and item != "of=/dev/null" for item in arguments)
        else Finding(INSPECT, "dd only reads")
    )


def _container(arguments: list[str]) -> Finding:
    word = first_word(arguments)
    if word in {"ps", "images", "logs", "inspect", "version", "info", "stats", "top"} | INSPECT_WORDS:
        return Finding(INSPECT, "lists containers")
    return (
        Finding(OTHER, "fetches an image")
        if word in {"pull", "login", "stop", "rm", "rmi", "kill"}
        else Finding(CODE_RUN, "runs a container")
    )


def _dvc(arguments: list[str]) -> Finding:
    return (
        Finding(CODE_RUN, "runs a pipeline") if first_word(arguments) in {"repro", "exp", "run", "stage"} else Finding(OTHER, "moves data")
    )


def _jupyter(arguments: list[str]) -> Finding:
    return (
        Finding(INSPECT, "lists kernels")
        if arguments[:1] in (["--version"], ["kernelspec"], ["--paths"])
        else Finding(CODE_RUN, "runs a notebook or its server")
    )


SPECIAL = {
    "sed": _sed,
    "gsed": _sed,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "tee": _tee,
    "git": _git,
    "tar": _tar,
    "sort": _sort,
    "split": _split,
    "rsync": _rsync,
    "dd": _dd,
    "docker": _container,
    "podman": _container,
    "dvc": _dvc,
    "jupyter": _jupyter,
}
