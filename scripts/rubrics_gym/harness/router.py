"""What a command line would do: each of its parts is code_run, install, inspect, edit, submit or other.

The line is read as shell, and every simple command in it is looked at, through wrappers, substitutions and nested shells. A program
that is not known to be harmless runs code: taking an inspection for code costs a prediction, taking code for an inspection runs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

import tree_sitter

from rubrics_gym.harness import shell
from rubrics_gym.records.trajectory import CommandKind

CODE_RUN, INSTALL, INSPECT = CommandKind.CODE_RUN, CommandKind.INSTALL, CommandKind.INSPECT
EDIT, SUBMIT, OTHER = CommandKind.EDIT, CommandKind.SUBMIT, CommandKind.OTHER


@dataclass(frozen=True)
class Finding:
    """What one simple command does, and the program that it runs: a file, a module, or text that it brings along."""

    kind: CommandKind | None  # None: it only changes the state of the shell
    reason: str
    script: str | None = None  # path of a program file
    program: str | None = None  # text given with -c
    reads_stdin: bool = False  # the program comes from a heredoc or a pipe
    sets_state: bool = False  # later commands of the same line depend on it


@dataclass(frozen=True)
class Piece:
    """A pipeline or compound command of a chain; `operator` (&& or ||) joins it to what stands before it."""

    operator: str
    text: str
    kind: CommandKind
    reason: str
    compound: bool = False  # a loop, a condition or a job: its exit code may hide the failure of a program inside
    neutral: bool = False  # does nothing that counts (cd, export, sleep): says nothing about its neighbours
    state: str = ""  # the same text if later parts of the line need it (cd, export, a function), else empty
    scripts: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()  # texts given by heredoc or -c


@dataclass(frozen=True)
class Part:
    """What is decided at one time: a statement up to `;` or the end of its line. Its pieces hang together by && and ||."""

    text: str
    pieces: tuple[Piece, ...]

    @property
    def kind(self) -> CommandKind:
        return strongest([piece.kind for piece in self.pieces if not piece.neutral] or [OTHER])

    @property
    def reason(self) -> str:
        return next(piece.reason for piece in self.pieces if piece.kind is self.kind)

    @property
    def neutral(self) -> bool:
        return all(piece.neutral for piece in self.pieces)

    @property
    def hides_failure(self) -> bool:
        """Whether an exit code of 0 may stand for a program that failed (`python a.py || true`, a loop, a background job)."""
        runs = [number for number, piece in enumerate(self.pieces) if piece.kind is CODE_RUN]
        return bool(runs) and (
            any(piece.operator == "||" for piece in self.pieces[runs[0] + 1 :]) or any(self.pieces[number].compound for number in runs)
        )


_STRENGTH = [CODE_RUN, SUBMIT, INSTALL, EDIT, OTHER, INSPECT]


def strongest(kinds: list[CommandKind]) -> CommandKind:
    """The kind that decides for several commands together: whatever runs code, then whatever changes most."""
    return min(kinds, key=_STRENGTH.index)


def classify(line: str) -> tuple[Part, ...]:
    """Split a command line into its parts and classify each. What cannot be read as shell is one part that runs code, with the reason."""
    command_line = shell.take_heredocs(line)
    try:
        root = shell.parse(command_line.compact)
        return tuple(_parts(root, command_line))
    except (shell.Unparsable, RecursionError) as error:
        return (Part(line, (Piece("", line, CODE_RUN, str(error)),)),)


def kind_of(line: str) -> CommandKind:
    """The kind of a whole command line: the strongest of its parts. Also for imported logs: edit blocks and notebook cells are known.

    Those forms are for reading logs only; in the sandbox such a line would be run by the shell, so `classify` reads it as shell.
    """
    if re.match(r"\s*edit \d+:\d+\n|\s*(create|insert|str_replace) |\s*\S+\n<<<BEFORE_EDIT>>>\n", line):
        return EDIT
    if re.match(r"(\s*(#.*)?\n)*\s*(![^\s]|%%?[a-z])", line):
        return _kind_of_cell(line)
    return strongest([part.kind for part in classify(line) if not part.neutral] or [OTHER])


def _kind_of_cell(cell: str) -> CommandKind:
    """A notebook cell that starts with ! or %: its shell lines decide, unless there is a line of Python, which runs."""
    first, _, rest = cell.strip().partition("\n")
    if re.match(r"%%(writefile|file)\b", first):
        return EDIT
    if re.match(r"%%(bash|sh|script +(ba)?sh)\b", first):
        return kind_of(rest)
    commands: list[str] = []
    for text in (line.strip() for line in cell.replace("\\\n", " ").split("\n")):
        if text.startswith("!"):
            commands.append(text[1:])
        elif match := re.match(r"%(cd|pip|conda|env|run)\b(.*)", text):
            commands.append(_MAGICS[match[1]] + match[2])
        elif text and not re.match(r"#|%%?(matplotlib|load_ext|autoreload|pwd|ls|who|capture|time)\b", text):
            return CODE_RUN
    return kind_of("\n".join(commands))


_MAGICS = {"cd": "cd", "pip": "pip", "conda": "conda", "env": "export", "run": "python"}


# ---------------------------------------------------------------- parts and pieces


def _parts(root: tree_sitter.Node, line: shell.CommandLine) -> Iterator[Part]:
    look = _Look(line, _functions(root, line))
    statements = [child for child in root.children if child.is_named and child.type != "comment"]
    for number, statement in enumerate(statements):
        after = statement.next_sibling
        if after is not None and after.type == "&":  # a job that runs beside what follows cannot be cut from it
            text = line.compact.encode()[statement.start_byte : root.end_byte].decode().rstrip()
            yield _undivided(statements[number:], text, look)
            return
        yield Part(line.restore(shell.source(statement)), tuple(_pieces(statement, look)))


def _undivided(statements: list[tree_sitter.Node], text: str, look: _Look) -> Part:
    return Part(look.line.restore(text), (replace(_piece("", text, statements, look), compound=True, state=""),))


def _pieces(statement: tree_sitter.Node, look: _Look) -> Iterator[Piece]:
    """Cut a statement at && and ||. The tree nests pipes and chains either way, so it is flattened and grouped by the shell's precedence."""
    operator, group = "", []
    source = look.line.compact.encode()
    for item in [*_flat(statement), None]:
        if isinstance(item, tree_sitter.Node):
            group.append(item)
        elif item in {"&&", "||", None}:
            text = source[group[0].start_byte : group[-1].end_byte].decode()
            yield _piece(operator, text, group, look)
            operator, group = item or "", []


def _flat(node: tree_sitter.Node) -> Iterator[tree_sitter.Node | str]:
    body = node.child_by_field_name("body") if node.type == "redirected_statement" else None
    if node.type not in {"list", "pipeline"} and (body is None or body.type not in {"list", "pipeline"}):
        yield node
        return
    for child in node.children:
        if child.type in {"&&", "||"}:
            yield child.type
        elif child.is_named:
            yield from _flat(child)


def _piece(operator: str, text: str, nodes: list[tree_sitter.Node], look: _Look) -> Piece:
    findings = list(look.pipeline(nodes))
    kinds = [finding.kind for finding in findings if finding.kind is not None]
    kind = strongest(kinds) if kinds else OTHER
    reason = next((finding.reason for finding in findings if finding.kind is kind), "changes only the state of the shell")
    programs = [finding.program for finding in findings if finding.program]
    if any(finding.reads_stdin for finding in findings):
        programs += [heredoc.body for heredoc in look.line.bodies(text)]
    scripts = tuple(dict.fromkeys(finding.script for finding in findings if finding.script))
    restored = look.line.restore(text)
    # a state that is set inside a pipeline, a subshell or a loop is gone after it, or must not be set again
    keeps = (
        kind in {OTHER, INSPECT} and len(nodes) == 1 and nodes[0].type in _STATE_NODES and any(finding.sets_state for finding in findings)
    )
    compound = any(node.type not in _SIMPLE_NODES for node in nodes)
    return Piece(operator, restored, kind, reason, compound, not kinds, restored if keeps else "", scripts, tuple(programs))


_STATE_NODES = {"command", "declaration_command", "unset_command", "variable_assignment", "variable_assignments", "function_definition"}
_SIMPLE_NODES = _STATE_NODES | {"redirected_statement", "negated_command", "test_command"}


def _functions(root: tree_sitter.Node, line: shell.CommandLine) -> dict[str, CommandKind]:
    """The functions that the line defines, and what calling each would do."""
    kinds: dict[str, CommandKind] = {}
    for node in _walk(root):
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if node.type == "function_definition" and name is not None and body is not None:
            found = [finding.kind for finding in _Look(line, kinds).findings(body) if finding.kind is not None]
            kinds[shell.source(name)] = strongest(found or [OTHER])
    return kinds


def _walk(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


# ---------------------------------------------------------------- looking at one command


@dataclass(frozen=True)
class _Look:
    """Finds what the simple commands below a node do."""

    line: shell.CommandLine
    functions: dict[str, CommandKind] = field(default_factory=dict)

    def pipeline(self, stages: list[tree_sitter.Node], source_of_pipe: str = "") -> Iterator[Finding]:
        for stage in stages:
            yield from self.findings(stage, source_of_pipe)
            source_of_pipe = shell.source(stage)

    def findings(self, node: tree_sitter.Node, source_of_pipe: str = "") -> Iterator[Finding]:
        if node.type == "function_definition":
            yield Finding(None, "defines a function", sets_state=True)
        elif node.type == "pipeline":
            yield from self.pipeline(node.named_children, source_of_pipe)
        elif node.type == "command":
            yield from self._command(node, source_of_pipe, shell.source(node))
        elif node.type == "redirected_statement" and node.named_children[0].type == "command":
            yield from self._command(node.named_children[0], source_of_pipe, shell.source(node))
            for redirect in node.named_children[1:]:
                yield from self.findings(redirect)
        elif node.type == "file_redirect":
            yield from self._redirect(node)
        elif node.type in {"variable_assignment", "variable_assignments", "declaration_command", "unset_command"}:
            yield Finding(None, "sets variables", sets_state=True)
            yield from self._below(node)
        elif node.type == "test_command":
            yield Finding(INSPECT, "tests a condition")
            yield from self._below(node)
        else:
            yield from self._below(node, source_of_pipe)

    def _below(self, node: tree_sitter.Node, source_of_pipe: str = "") -> Iterator[Finding]:
        for child in node.children:
            yield from self.findings(child, source_of_pipe)

    def _command(self, node: tree_sitter.Node, source_of_pipe: str, whole: str) -> Iterator[Finding]:
        words: list[str] = []
        for child in node.children:
            if child.type == "variable_assignment":
                name = shell.source(child).partition("=")[0]
                if name.startswith("-"):
                    yield Finding(None, "an option without a program")
                    return
                if name in _HOOKS:
                    yield Finding(CODE_RUN, f"sets {name}, which makes other programs run code")
                yield from self._below(child)
            elif child.type in {"file_redirect", "herestring_redirect", "heredoc_redirect"}:
                yield from self.findings(child)
            elif child.is_named:
                words.append(shell.word(child))
                yield from self._below(child)
        yield from self.words(words, source_of_pipe, [heredoc.body for heredoc in self.line.bodies(whole)])

    def _redirect(self, node: tree_sitter.Node) -> Iterator[Finding]:
        target = node.child_by_field_name("destination")
        operator = next((child.type for child in node.children if not child.is_named), "")
        if target is not None:
            yield from self._substitutions(node)
            name = shell.word(target)
            if (
                ">" in operator
                and not re.fullmatch(r"/dev/(null|stdout|stderr|tty|fd/\d+)|&?\d+|-", name)
                and target.type != "process_substitution"
            ):
                yield Finding(EDIT, f"writes {name}")
            yield from self.findings(target)

    def _substitutions(self, node: tree_sitter.Node) -> Iterator[Finding]:
        """Commands inside an unquoted heredoc: the shell runs them to fill it."""
        for heredoc in self.line.bodies(shell.source(node)):
            if heredoc.expands and re.search(r"\$\(|`", heredoc.body):
                yield from self.script('echo "' + heredoc.body.replace('"', '\\"') + '"')

    def script(self, text: str) -> Iterator[Finding]:
        """What a nested command line does (bash -c, eval, a heredoc given to a shell)."""
        line = shell.take_heredocs(text)
        try:
            root = shell.parse(line.compact)
        except shell.Unparsable as error:
            yield Finding(CODE_RUN, str(error), program=text)
            return
        yield from _Look(line, {**self.functions, **_functions(root, line)}).findings(root)

    def words(self, words: list[str], source_of_pipe: str = "", bodies: list[str] | None = None) -> Iterator[Finding]:
        """What a simple command does, given its words without quotes."""
        while words and re.match(r"\w+=", words[0]):
            words = words[1:]
        if not words:
            yield Finding(None, "sets variables", sets_state=True)
            return
        name, arguments = _program_name(words[0]), words[1:]
        if "$" in name or "`" in name:
            yield Finding(CODE_RUN, "the program's name is only known when it runs")
        elif name in self.functions:
            yield Finding(self.functions[name], f"calls the function {name}")
        elif name in _WRAPPERS or (name in _RUNNERS and arguments[:1] == ["run"]):
            yield from self._wrapped(name, arguments, source_of_pipe, bodies)
        elif name in _SHELLS:
            yield from self._shell(arguments, source_of_pipe, bodies or [])
        elif name in {"eval", "trap"}:
            text = " ".join(arguments) if name == "eval" else "".join(arguments[:1])
            yield from self.script(text)
        elif name == "find":
            yield from self._find(arguments)
        else:
            yield _known(name, arguments)

    def _wrapped(self, name: str, arguments: list[str], source_of_pipe: str, bodies: list[str] | None) -> Iterator[Finding]:
        valued, positional = _WRAPPERS.get(name, (frozenset(), 0))
        if name in _RUNNERS:
            arguments, valued = arguments[1:], _RUNNER_OPTIONS
        if name == "command" and arguments[:1] in (["-v"], ["-V"]):
            yield Finding(INSPECT, "looks a program up")
            return
        rest = _after_options(arguments, valued)
        inner = rest[positional:]
        if name in {"watch", "script", "flock", "su"} and ("-c" in arguments or name == "watch"):
            text = arguments[arguments.index("-c") + 1 :][:1] if "-c" in arguments else inner
            yield from self.script(" ".join(text))
        elif name == "env" and not [item for item in inner if not re.match(r"\w+=", item)]:
            yield Finding(INSPECT, "prints the environment")
        elif inner:
            yield from self.words(inner, source_of_pipe, bodies)
        elif name == "exec":
            yield Finding(None, "redirects the shell")
        elif name in {"xargs", "parallel"}:
            yield Finding(INSPECT, "prints its input") if name == "xargs" else Finding(CODE_RUN, "runs its input")
        else:
            yield Finding(INSPECT, f"{name} without a command")

    def _shell(self, arguments: list[str], source_of_pipe: str, bodies: list[str]) -> Iterator[Finding]:
        for number, argument in enumerate(arguments):
            if argument in {"--version", "--help"}:
                yield Finding(INSPECT, "prints a version")
                return
            if re.fullmatch(r"-[a-zA-Z]*c", argument):
                yield from self.script("".join(arguments[number + 1 : number + 2]))
                return
            if re.fullmatch(r"-[a-zA-Z]*n", argument):
                yield Finding(INSPECT, "checks the syntax of a script")
                return
            if re.fullmatch(r"-[a-zA-Z]*s", argument) or argument == "-":
                break
            if not re.match(r"[-+]", argument) and arguments[number - 1 : number] not in (
                ["-o"],
                ["+o"],
                ["-O"],
                ["--rcfile"],
                ["--init-file"],
            ):
                yield Finding(CODE_RUN, f"runs the script {argument}", script=argument)
                return
        if bodies:
            for body in bodies:
                yield from self.script(body)
        elif re.match(r"\s*(sudo\s+)?(curl|wget)\b.*\bhttps?://(?!localhost|127\.|\[?::1)", source_of_pipe):
            yield Finding(INSTALL, "an installer from the network, piped into a shell")
        else:
            yield Finding(CODE_RUN, "a shell that reads its commands from its input", reads_stdin=True)

    def _find(self, arguments: list[str]) -> Iterator[Finding]:
        yield Finding(INSPECT, "lists files")
        for number, argument in enumerate(arguments):
            if argument in {"-exec", "-execdir", "-ok", "-okdir"}:
                inner = arguments[number + 1 :]
                end = next((place for place, item in enumerate(inner) if item in {";", "+"}), len(inner))
                yield from self.words(inner[:end])
            elif argument == "-delete":
                yield Finding(OTHER, "deletes files")
            elif argument.startswith(("-fprint", "-fls")):
                yield Finding(EDIT, "writes a listing")


def _after_options(arguments: list[str], valued: frozenset[str]) -> list[str]:
    """What follows the options of a wrapper; `valued` are the options whose value is a word of its own."""
    position = 0
    while position < len(arguments) and (arguments[position].startswith("-") or re.match(r"\w+=", arguments[position])):
        if arguments[position] == "--":
            return arguments[position + 1 :]
        position += 2 if arguments[position] in valued else 1
    return arguments[position:]


def _program_name(word: str) -> str:
    """A program's name without the folders where systems and virtual environments keep programs; any other path stays whole."""
    path = PurePosixPath(word)
    if str(path.parent) in {"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin"}:
        return path.name
    if path.parent.name == "bin" and re.fullmatch(r"(python|pip|conda|mamba|uv)[\d.]*", path.name):
        return path.name
    return word


# ---------------------------------------------------------------- known programs


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SHELLS = {"bash", "sh", "zsh", "dash", "ksh"}
_HOOKS = {
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
_WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
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
_RUNNERS = {"conda", "mamba", "micromamba", "poetry", "uv", "pipenv", "pdm", "rye", "hatch", "pixi"}
_RUNNER_OPTIONS = frozenset({"-n", "-p", "--name", "--prefix", "--with", "--python", "--cwd", "--directory", "--project"})

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
_INSPECT_WORDS = _words(
    "list ls show search info policy freeze tree outdated view version versions which help madison depends rdepends cache --version -V --help -h -l -q -s"
)
_GIT_INSPECT = _words(
    "status log diff show branch remote blame ls-files ls-tree rev-parse describe tag shortlog grep reflog cat-file config version help"
)
_GIT_OTHER = _words(
    "clone pull fetch checkout switch restore commit add push reset stash merge rebase init lfs submodule clean mv rm cherry-pick revert worktree archive gc"
)


def _known(name: str, arguments: list[str]) -> Finding:
    """What a program does by its name and arguments. A program that is not known runs code."""
    if name == "submit":
        return Finding(SUBMIT, "submits")
    if re.fullmatch(r"(python|pypy)[\d.]*", name):
        return _python(arguments)
    if re.fullmatch(r"pip[\d.]*", name):
        return _pip(arguments)
    if name in {".", "source"}:
        return _sourced(arguments)
    if special := _SPECIAL.get(name):
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
        return Finding(INSPECT, f"{name} lists") if _first_word(arguments) in _INSPECT_WORDS else Finding(INSTALL, f"{name} installs")
    if name in _TOOLS:
        return _package_tool(name, arguments)
    if name.startswith("-"):
        return Finding(None, "an option without a program")
    if "/" in name:
        return Finding(CODE_RUN, f"runs the file {name}", script=name)
    return Finding(CODE_RUN, f"runs {name}")


def _first_word(arguments: list[str]) -> str:
    return next((item for item in arguments if not item.startswith("-")), arguments[0] if arguments else "")


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
    word = _first_word(_after_options(arguments, frozenset({"--python", "--proxy", "--log", "--cert"})) or arguments)
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
    word = _first_word(arguments)
    if word == "pip" and name == "uv":
        return _pip(arguments[arguments.index("pip") + 1 :])
    if word in {"activate", "deactivate", "use", "shell"}:
        return Finding(None, "prepares the shell", sets_state=True)
    if (name == "conda" and arguments[:2] == ["env", "list"]) or word in _INSPECT_WORDS:
        return Finding(INSPECT, f"{name} {word} only reads")
    if word in _INSTALL_WORDS and not (name in {"npm", "yarn", "pnpm"} and word == "create"):
        return Finding(INSTALL, f"{name} {word}")
    return Finding(CODE_RUN, f"{name} {word} runs code")


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
    rest = _after_options(arguments, frozenset({"-C", "-c", "--git-dir", "--work-tree"}))
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
    word = _first_word(arguments)
    if word in {"ps", "images", "logs", "inspect", "version", "info", "stats", "top"} | _INSPECT_WORDS:
        return Finding(INSPECT, "lists containers")
    return (
        Finding(OTHER, "fetches an image")
        if word in {"pull", "login", "stop", "rm", "rmi", "kill"}
        else Finding(CODE_RUN, "runs a container")
    )


def _dvc(arguments: list[str]) -> Finding:
    return (
        Finding(CODE_RUN, "runs a pipeline") if _first_word(arguments) in {"repro", "exp", "run", "stage"} else Finding(OTHER, "moves data")
    )


def _jupyter(arguments: list[str]) -> Finding:
    return (
        Finding(INSPECT, "lists kernels")
        if arguments[:1] in (["--version"], ["kernelspec"], ["--paths"])
        else Finding(CODE_RUN, "runs a notebook or its server")
    )


_SPECIAL = {
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
