"""Known programs: what each does by its name and arguments. A program that is not known runs code."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from rubrics_gym.harness.router.arguments import INSPECT_WORDS, SPECIAL, first_word
from rubrics_gym.harness.router.findings import CODE_RUN, EDIT, INSPECT, INSTALL, OTHER, SUBMIT, Finding
from rubrics_gym.harness.router.wrappers import after_options


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STATE = _words("cd pushd popd export unset set shopt alias unalias umask ulimit readonly local declare typeset let")
_IDLE = _words("true false : sleep wait exit return break continue shift read getopts disown jobs fg bg dirs deactivate clear reset")
_INSPECT = _words(
    "ls ll dir tree cat tac head tail less more wc grep egrep fgrep zgrep rg ag ack file stat du df pwd which whereis type whoami who w id groups "
    "uname hostname arch date cal uptime printenv echo printf nvidia-smi nvcc rocm-smi gpustat free top htop ps pgrep pstree lscpu lsblk lspci lsmod "
    "lsof nproc getconf locale diff sdiff cmp comm uniq cut paste join column nl tr rev fold fmt expand unexpand od hexdump xxd hd strings base64 "
    "md5sum sha1sum sha256sum sha512sum cksum sum b2sum basename dirname realpath readlink history man info help apropos whatis jq yq xq "
    "csvlook csvstat csvcut csvgrep csvhead xsv mlr test [ [[ seq expr bc numfmt shuf zcat bzcat xzcat zless zipinfo look dmesg netstat ss ifconfig "
    "lsb_release vmstat iostat pygmentize bat batcat exa eza fd fdfind open goto scroll_up scroll_down search_dir search_file find_file "
    "ldd objdump nm readelf identify mediainfo tabulate"
)
_EDIT = _words("touch truncate patch ed vi vim nvim nano pico emacs create edit insert str_replace ex dos2unix unix2dos")
_OTHER = _words(
    "cp mv rm rmdir mkdir ln chmod chown chgrp install zip unzip gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd 7z 7za unrar rar cpio mkfifo mktemp "
    "shred kill pkill killall wget curl aria2c axel gdown kaggle hf huggingface-cli aws gsutil gcloud az rclone scp sftp ftp yt-dlp youtube-dl "
    "ping nslookup dig host traceroute systemctl service nginx apache2 apachectl exit_context exit_format exit_cost sync mount umount tput stty "
    "logger screen tmux export-env git-lfs"
)
_INSTALLERS = {
    "apt",
    "apt-get",
    "aptitude",
    "yum",
    "dnf",
    "apk",
    "brew",
    "pacman",
    "zypper",
    "snap",
    "dpkg",
    "rpm",
    "easy_install",
    "cpan",
    "cpanm",
    "rustup",
}
_TOOLS = {
    "conda",
    "mamba",
    "micromamba",
    "npm",
    "yarn",
    "pnpm",
    "gem",
    "cargo",
    "go",
    "poetry",
    "pipenv",
    "pdm",
    "uv",
    "rye",
    "pipx",
    "pixi",
    "pyenv",
    "nvm",
    "opam",
}
_INSTALL_WORDS = _words(
    "install uninstall update upgrade add remove create sync i ci get mod reinstall venv self tool env config lock init clean python virtualenv"
)


def known(name: str, arguments: list[str]) -> Finding:
    """What a program does by its name and arguments. A program that is not known runs code."""
    if name == "submit":
        return Finding(SUBMIT, "submits")
    if re.fullmatch(r"(python|pypy)[\d.]*", name):
        return _python(arguments)
    if re.fullmatch(r"pip[\d.]*", name):
        return _pip(arguments)
    if name in {".", "source"}:
        return _sourced(arguments)
    if special := SPECIAL.get(name):
        return special(arguments)
    if name in _STATE or name in _IDLE:
        return Finding(None, "changes only the state of the shell", sets_state=name in _STATE)
    if name in _INSPECT:
        return Finding(INSPECT, f"{name} only reads")
    if name in _EDIT:
        runs = any(item == "--batch" or (item.startswith(("--eval", "-c", "+")) and "!" in item + "".join(arguments)) for item in arguments)
        return Finding(CODE_RUN, f"{name} runs commands") if runs else Finding(EDIT, f"{name} changes files")
    if name in _OTHER:
        return Finding(OTHER, f"{name} runs no code of the agent's")
    if name in _INSTALLERS:
        return Finding(INSPECT, f"{name} lists") if first_word(arguments) in INSPECT_WORDS else Finding(INSTALL, f"{name} installs")
    if name in _TOOLS:
        return _package_tool(name, arguments)
    if name.startswith("-"):
        return Finding(None, "an option without a program")
    if "/" in name:
        return Finding(CODE_RUN, f"runs the file {name}", script=name)
    return Finding(CODE_RUN, f"runs {name}")


def _python(arguments: list[str]) -> Finding:
    position = 0
    while position < len(arguments):
        argument = arguments[position]
        following = "".join(arguments[position + 1 : position + 2])
        if argument in {"--version", "-V", "-VV", "--help", "-h"}:
            return Finding(INSPECT, "prints the version of Python")
        if re.fullmatch(r"-[a-zA-Z]*c", argument):
            return Finding(CODE_RUN, "runs Python code given with -c", program=following)
        if match := re.fullmatch(r"-[a-zA-Z]*m(.*)", argument):
            module = match[1] or following
            rest = arguments[position + (1 if match[1] else 2) :]
            return _python_module(module, rest)
        if argument in {"-W", "-X"}:
            position += 2
        elif argument == "-":
            break
        elif argument.startswith("-"):
            position += 1
        else:
            if PurePosixPath(argument).name == "setup.py" and {"install", "develop"} & set(arguments[position + 1 :]):
                return Finding(INSTALL, "installs a local project; its set-up may run code", script=argument)
            return Finding(CODE_RUN, f"runs {argument}", script=argument)
    return Finding(CODE_RUN, "runs Python code from its input", reads_stdin=True)


def _python_module(module: str, arguments: list[str]) -> Finding:
    if module in {"pip", "pip3"}:
        return _pip(arguments)
    if module in {"venv", "virtualenv", "ensurepip"}:
        return Finding(INSTALL, "makes a virtual environment")
    if module == "uv":
        return _package_tool("uv", arguments)
    return Finding(CODE_RUN, f"runs the module {module}", script=module.replace(".", "/") + ".py" if module else None)


def _pip(arguments: list[str]) -> Finding:
    word = first_word(after_options(arguments, frozenset({"--python", "--proxy", "--log", "--cert"})) or arguments)
    if word in {"install", "uninstall", "wheel"}:
        local = any(re.match(r"(\.|/|\./|file:)", item) and not item.endswith((".txt", ".whl")) for item in arguments)
        return Finding(INSTALL, "installs a local project; its set-up may run code" if local else f"pip {word}")
    if word == "download":
        return Finding(OTHER, "downloads packages")
    return Finding(INSPECT, "pip only reads")


def _sourced(arguments: list[str]) -> Finding:
    script = "".join(arguments[:1])
    if re.search(r"(^|/)(activate|env|\.env|\.bashrc|\.bash_profile|\.profile|\.zshrc|conda\.sh|nvm\.sh)$", script):
        return Finding(None, "prepares the shell", sets_state=True)
    return Finding(CODE_RUN, f"runs the script {script}", script=script)


def _package_tool(name: str, arguments: list[str]) -> Finding:
    word = first_word(arguments)
    if word == "pip" and name == "uv":
        return _pip(arguments[arguments.index("pip") + 1 :])
    if word in {"activate", "deactivate", "use", "shell"}:
        return Finding(None, "prepares the shell", sets_state=True)
    if (name == "conda" and arguments[:2] == ["env", "list"]) or word in INSPECT_WORDS:
        return Finding(INSPECT, f"{name} {word} only reads")
    if word in _INSTALL_WORDS and not (name in {"npm", "yarn", "pnpm"} and word == "create"):
        return Finding(INSTALL, f"{name} {word}")
    return Finding(CODE_RUN, f"{name} {word} runs code")
