"""Known programs: what each does by its name and arguments. A program that is not known runs code."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from rubrics_gym.harness.router import vocabulary
from rubrics_gym.harness.router.findings import CODE_RUN, EDIT, INSPECT, INSTALL, OTHER, SUBMIT, Finding, Nested
from rubrics_gym.harness.router.installers import INSTALLERS, is_installer, package_tool, pip, system_installer
from rubrics_gym.harness.router.options import VERSION_OPTIONS, has_option, operands, words
from rubrics_gym.harness.router.readers import READERS_BY_ARGUMENTS
from rubrics_gym.harness.router.tools import TOOLS, formatter, linter, text_editor

_BY_ARGUMENTS = {**READERS_BY_ARGUMENTS, **TOOLS, **INSTALLERS}


def known(name: str, arguments: list[str]) -> Finding | Nested:
    """What a program does by its name and arguments. A program that is not known runs code."""
    if name in {"hash", "mapfile", "readarray"} and has_option(arguments, "-p", "-C"):
        return Finding(CODE_RUN, f"{name} is given a program to run")
    if name == "submit":
        return Finding(SUBMIT, "submits")
    if re.fullmatch(r"(python|pypy)[\d.]*", name):
        return _python(arguments)
    if re.fullmatch(r"pip[\d.]*", name):
        return pip(arguments)
    if name in {".", "source"}:
        return _sourced(arguments)
    if by_arguments := _BY_ARGUMENTS.get(name):
        return by_arguments(arguments)
    if name in vocabulary.SYSTEM_INSTALLERS:
        return system_installer(name, arguments)
    if name in vocabulary.PACKAGE_TOOLS:
        return package_tool(name, arguments)
    if name in vocabulary.LINTERS:
        return linter(arguments)
    if name in vocabulary.FORMATTERS:
        return formatter(arguments)
    if name in vocabulary.TEXT_EDITORS:
        return text_editor(arguments)
    return _by_name(name, arguments)


def _by_name(name: str, arguments: list[str]) -> Finding:
    if name in vocabulary.STATE or name in vocabulary.IDLE:
        return Finding(None, "changes only the state of the shell", sets_state=name in vocabulary.STATE)
    if name in vocabulary.READERS:
        return Finding(INSPECT, f"{name} only reads")
    if name in vocabulary.EDITORS:
        return Finding(EDIT, f"{name} changes files")
    if name.startswith("-"):
        return Finding(None, "an option without a program")
    if name == "activate":
        return Finding(None, "prepares the shell", sets_state=True)
    versions = VERSION_OPTIONS | ({"-v"} if name in _VERSION_BY_V else set())
    if "/" not in name and arguments and set(arguments) <= versions and not name.endswith((".py", ".sh")):
        return Finding(INSPECT, f"prints the version or the help of {name}")
    if name in vocabulary.MOVERS and any(_RUNS_OPTION.match(item) for item in arguments):
        return Finding(CODE_RUN, f"{name} is given a program to run")
    if name in vocabulary.MOVERS:
        return Finding(OTHER, f"{name} runs no code of the agent's")
    if "/" in name or name.endswith((".py", ".sh")):  # the latter behind a runner: `uv run train.py`
        return Finding(CODE_RUN, f"runs the file {name}", script=name)
    return Finding(CODE_RUN, f"runs {name}")


_VERSION_BY_V = words("node npm ruby perl php lua java cmake deno")
_RUNS_OPTION = re.compile(r"--(exec|on-[\w-]+|rsh|rsh-command|external-downloader)(=|$)|-oProxyCommand|ProxyCommand=")
_STANDARD_READERS = words("json.tool site sysconfig platform calendar tokenize ast dis tabnanny pyclbr")


def _python(arguments: list[str]) -> Finding:
    position = 0
    while position < len(arguments):
        argument = arguments[position]
        following = "".join(arguments[position + 1 : position + 2])
        if argument in {"--version", "-V", "-VV", "--help", "-h"}:
            return Finding(INSPECT, "prints the version of Python")
        if match := re.fullmatch(r"-[bBdEiIOPqRsSuvx]*c(.*)", argument, re.DOTALL):
            return Finding(CODE_RUN, "runs Python code given with -c", program=match[1] or following)
        if match := re.fullmatch(r"-[bBdEiIOPqRsSuvx]*m(.*)", argument, re.DOTALL):
            module = match[1] or following
            rest = arguments[position + (1 if match[1] else 2) :]
            return _python_module(module, rest)
        if argument in {"-W", "-X", "--check-hash-based-pycs"}:
            position += 2
        elif argument == "-":
            break
        elif argument.startswith("-"):
            position += 1
        else:
            return _python_script(argument, arguments[position + 1 :])
    return Finding(CODE_RUN, "runs Python code from its input", reads_stdin=True)


def _python_script(script: str, arguments: list[str]) -> Finding:
    if PurePosixPath(script).name == "setup.py" and {"install", "develop"} & set(arguments):
        return Finding(INSTALL, "installs a local project; its set-up may run code", script=script)
    if is_installer(script):
        return Finding(INSTALL, f"runs the installer {script}")
    return Finding(CODE_RUN, f"runs {script}", script=script)


def _python_module(module: str, arguments: list[str]) -> Finding:
    if module in {"pip", "pip3"}:
        return pip(arguments)
    if module in {"venv", "virtualenv", "ensurepip"}:
        return Finding(INSTALL, "makes a virtual environment")
    if module in {"uv", "poetry", "pipx", "conda", "playwright"}:
        return package_tool(module, arguments)
    if module == "spacy" and arguments[:1] == ["download"]:
        return Finding(INSTALL, "installs a language model as a package")
    if module in vocabulary.LINTERS:
        return linter(arguments)
    if module in vocabulary.FORMATTERS:
        return formatter(arguments)
    if module == "json.tool" and operands(arguments)[1:2]:
        return Finding(EDIT, f"writes {operands(arguments)[1]}")
    if module in _STANDARD_READERS:
        return Finding(INSPECT, f"{module} only reads")
    if module in {"zipfile", "tarfile"}:
        lists = bool({"-l", "--list", "-t", "--test"} & set(arguments))
        return Finding(INSPECT, "lists an archive") if lists else Finding(OTHER, "packs or unpacks")
    return Finding(CODE_RUN, f"runs the module {module}", script=module.replace(".", "/") + ".py" if module else None)


def _sourced(arguments: list[str]) -> Finding:
    script = "".join(arguments[:1])
    if re.search(
        r"(^|/)(activate|env|\.env|\.bashrc|\.bash_profile|\.profile|\.zshrc|conda\.sh|mamba\.sh|nvm\.sh|os-release|profile)$", script
    ):
        return Finding(None, "prepares the shell", sets_state=True)
    return Finding(CODE_RUN, f"runs the script {script}", script=script)
