"""Programs that install packages, and the other things that they do."""

from __future__ import annotations

import re

from rubrics_gym.harness.router.findings import CODE_RUN, INSPECT, INSTALL, OTHER, Finding
from rubrics_gym.harness.router.options import VERSION_OPTIONS, after_options, first_word, has_option, operands, words
from rubrics_gym.harness.router.vocabulary import INSTALL_WORDS, QUERY_WORDS

_INSTALLER_SCRIPT = re.compile(
    r"(^|/)(get-pip|get-poetry|install-poetry|ez_setup)\.py$|(^|/)(mini(conda|forge|mamba)|anaconda|mambaforge)[^/]*\.sh$", re.IGNORECASE
)


def is_installer(script: str) -> bool:
    """Whether a script is, by its published name, the installer of a package manager (get-pip.py, Miniconda3-latest-Linux-x86_64.sh)."""
    return bool(_INSTALLER_SCRIPT.search(script))


def pip(arguments: list[str]) -> Finding:
    word = first_word(after_options(arguments, words("--python --proxy --log --cert --cache-dir --timeout --retries")) or arguments)
    if word in {"install", "uninstall", "wheel"} and not has_option(arguments, "--help"):
        local = any(re.match(r"(\.|/|\./|file:)", item) and not item.endswith((".txt", ".whl")) for item in arguments)
        return Finding(INSTALL, "installs a local project; its set-up may run code" if local else f"pip {word}")
    if word in {"cache", "config"} and operands(arguments)[1:2] and operands(arguments)[1] in words("dir info list get debug"):
        return Finding(INSPECT, f"pip {word} only reads")
    if word in {"download", "cache", "config"}:
        return Finding(OTHER, f"pip {word}")
    return Finding(INSPECT, "pip only reads")


def system_installer(name: str, arguments: list[str]) -> Finding:
    """Package managers of a system (apt, yum, brew ...)."""
    if first_word(arguments) in {"run", "exec", "x", "shell"}:
        return Finding(CODE_RUN, f"{name} runs a program")
    asks = first_word(arguments) in QUERY_WORDS or (name == "pacman" and any(re.match(r"-(Q|Ss|Si)", item) for item in arguments))
    return Finding(INSPECT, f"{name} lists") if asks else Finding(INSTALL, f"{name} installs")


def dpkg(arguments: list[str]) -> Finding:
    asks = any(re.match(r"-[lLsSpcI]|--(list|listfiles|status|search|print|get|info|contents|version|verify)", item) for item in arguments)
    return Finding(INSPECT, "lists packages") if asks else Finding(INSTALL, "installs packages")


def rpm(arguments: list[str]) -> Finding:
    asks = any(re.match(r"-[a-z]*q|-V|--(query|verify|version)", item) for item in arguments)
    return Finding(INSPECT, "lists packages") if asks else Finding(INSTALL, "installs packages")


def package_tool(name: str, arguments: list[str]) -> Finding:
    """Package managers of languages: conda, npm, cargo, uv ... `run`-like words and unknown ones run code."""
    word = first_word(arguments)
    following = operands(arguments)[1:2]
    if word == "pip" and name == "uv":
        return pip(arguments[arguments.index("pip") + 1 :])
    if name == "virtualenv":
        return Finding(INSPECT if set(arguments) & VERSION_OPTIONS else INSTALL, "virtualenv")
    if name == "cargo" and word == "check":
        return Finding(CODE_RUN, "cargo check runs the build scripts of the project")
    if word == "cache" and following and following[0] in words("clean clear purge prune rm remove verify"):
        return Finding(OTHER, f"{name} {word} {following[0]}")
    if word == "tool" and following and following[0] in INSTALL_WORDS:
        return Finding(INSTALL, f"{name} tool {following[0]}")
    if word in {"activate", "deactivate", "use", "shell"}:
        return Finding(None, "prepares the shell", sets_state=True)
    if (
        word in {"env", "kernel", "config", "tool", "python", "self"} and following and following[0] in QUERY_WORDS | {"export"}
    ) or word in QUERY_WORDS:
        return Finding(INSPECT, f"{name} {word} only reads")
    if (name in {"conda", "mamba"} and word == "config" and has_option(arguments, "--show", "--get")) or word == "export":
        return Finding(INSPECT, f"{name} {word} only reads")
    if (
        word in INSTALL_WORDS
        and following != ["run"]
        and not (name in {"npm", "yarn", "pnpm", "bun"} and word in {"create", "init"} and following)
    ):
        return Finding(INSTALL, f"{name} {word}")
    if name in {"yarn", "bundle"} and not arguments:
        return Finding(INSTALL, f"{name} installs what the project lists")
    if name == "rustup" or (name == "nvm" and word == "alias"):
        return Finding(INSTALL, f"{name} {word}")
    return Finding(CODE_RUN, f"{name} {word} runs code")


_R_INSTALLS = r"((utils::)?install\.packages|(BiocManager|remotes|devtools|pak)::\w*(install|pkg_install)\w*)\s*\("
_R_HARMLESS = r"\s*((if\s*\(!?\s*)?(library|require|requireNamespace|suppressPackageStartupMessages|options|update\.packages)\b.*)?\s*"


def r_language(arguments: list[str]) -> Finding:
    """R: expressions that only install packages are an install; everything else is a program."""
    given = [arguments[place + 1] for place, item in enumerate(arguments[:-1]) if item == "-e"]
    statements = [text for expression in given for text in re.split(r"[;\n]", expression) if text.strip()]
    installs = [bool(re.match(rf"\s*(if\s*\(.*\)\s*)?{_R_INSTALLS}", text)) for text in statements]
    if any(installs) and all(sure or re.fullmatch(_R_HARMLESS, text) for sure, text in zip(installs, statements, strict=True)):
        return Finding(INSTALL, "installs R packages")
    if arguments[:1] == ["CMD"] and arguments[1:2] == ["INSTALL"]:
        return Finding(INSTALL, "installs an R package")
    if arguments and set(arguments) <= VERSION_OPTIONS:
        return Finding(INSPECT, "prints the version of R")
    return Finding(
        CODE_RUN,
        "runs R code",
        program="\n".join(given) or None,
        script=None if given else first_word(arguments) or None,
        reads_stdin=not arguments,
    )


def julia(arguments: list[str]) -> Finding:
    given = [arguments[place + 1] for place, item in enumerate(arguments[:-1]) if item in {"-e", "-E", "--eval"}]
    statements = [text.strip() for expression in given for text in re.split(r"[;\n]", expression) if text.strip()]
    installs = r"(using|import) Pkg|Pkg\.(add|instantiate|update|build|develop|activate|precompile|resolve|rm)\(.*\)"
    if statements and all(re.fullmatch(installs, text) for text in statements):
        return Finding(INSTALL, "installs Julia packages")
    if arguments and set(arguments) <= VERSION_OPTIONS | {"-v"}:
        return Finding(INSPECT, "prints the version of Julia")
    return Finding(
        CODE_RUN,
        "runs Julia code",
        program="\n".join(given) or None,
        script=None if given else first_word(arguments) or None,
        reads_stdin=not arguments,
    )


INSTALLERS = {"dpkg": dpkg, "dpkg-deb": dpkg, "rpm": rpm, "R": r_language, "Rscript": r_language, "julia": julia}
