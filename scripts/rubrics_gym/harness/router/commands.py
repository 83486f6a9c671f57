"""Looking at the simple commands of a syntax tree, through wrappers, substitutions and nested shells."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import tree_sitter

from rubrics_gym.harness import shell
from rubrics_gym.harness.router.findings import CODE_RUN, EDIT, INSPECT, INSTALL, OTHER, Finding, Nested, strongest
from rubrics_gym.harness.router.installers import is_installer
from rubrics_gym.harness.router.options import after_options, has_option
from rubrics_gym.harness.router.programs import known
from rubrics_gym.harness.router.vocabulary import TEXT_EDITORS
from rubrics_gym.harness.router.wrappers import RUNNER_OPTIONS, RUNNERS, SHELLS, TASK_NAMES, TASK_RUNNERS, WRAPPERS, hook, program_name
from rubrics_gym.records.trajectory import CommandKind

_ASSIGNMENTS = {"variable_assignment", "variable_assignments", "declaration_command", "unset_command"}
_NO_FILE = re.compile(r"/dev/(null|stdout|stderr|tty|fd/\d+)|&?\d+|-")
_FROM_NETWORK = re.compile(r"\s*(sudo\s+)?(curl|wget)\b.*[\s\"'](https?://)?(?!localhost|127\.|\[?::1)[\w-]+\.\w")
_INSTALLS = re.compile(r"install|get-pip|setup|bootstrap|rustup|conda|mamba|pyenv|nvm|://(get|sh|deb|rpm)\.")
_SETS_UP_SHELL = re.compile(
    r"[\"']?(\$\(|`)\s*(\S*/)?(conda|mamba|micromamba|pyenv|rbenv|direnv|brew|ssh-agent|dircolors|starship|register-python-argcomplete)\b[^;|&]*[\"']?"
)
_OPERATORS = frozenset(["=", "+=", "-=", "*=", "/=", ":="])
_NO_PROGRAM = re.compile(r"[\s(){}\[\]|*?:<>^$]")  # characters that no program's name has


def functions_of(root: tree_sitter.Node, line: shell.CommandLine, known_before: Mapping[str, CommandKind]) -> dict[str, CommandKind]:
    """The functions that the line defines, and what calling each would do, beside those that are known before it."""
    kinds = dict(known_before)
    for node in _walk(root):
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if node.type == "function_definition" and name is not None and body is not None:
            found = [finding.kind for finding in Look(line, kinds).findings(body) if finding.kind is not None]
            kinds[shell.source(name)] = strongest(found or [OTHER])
    return kinds


def _walk(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    waiting = [node]
    while waiting:  # a chain of thousands of commands is a tree as deep
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


@dataclass(frozen=True)
class Look:
    """Finds what the simple commands below a node do. `functions` are names that mean something of their own here."""

    line: shell.CommandLine
    functions: Mapping[str, CommandKind] = field(default_factory=dict)

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
        elif node.type in _ASSIGNMENTS:
            yield from self._assignment(node)
        elif node.type == "test_command":
            yield Finding(INSPECT, "tests a condition")
            yield from self._below(node)
        else:
            yield from self._below(node, source_of_pipe)

    def _below(self, node: tree_sitter.Node, source_of_pipe: str = "") -> Iterator[Finding]:
        for child in node.children:
            yield from self.findings(child, source_of_pipe)

    def _assignment(self, node: tree_sitter.Node) -> Iterator[Finding]:
        yield Finding(None, "sets variables", sets_state=True)
        if node.type == "variable_assignment" and (reason := hook(_assigned(node))):
            yield Finding(CODE_RUN, reason)
        yield from self._below(node)

    def _command(self, node: tree_sitter.Node, source_of_pipe: str, whole: str) -> Iterator[Finding]:
        words: list[str] = []
        inside: list[Finding] = []  # what substitutions in the arguments do
        here: list[str] = [heredoc.body for heredoc in self.line.bodies(whole)]
        quoted = False
        for child in node.children:
            if child.type == "variable_assignment":
                name = shell.source(child).partition("=")[0]
                if name.startswith("-"):
                    yield Finding(None, "an option without a program")
                    return
                yield from (finding for finding in self._assignment(child) if finding.kind is not None)
            elif child.type == "herestring_redirect":
                yield from self._below(child)
                here += [shell.word(part) + "\n" for part in child.named_children[:1]]
            elif child.type in {"file_redirect", "heredoc_redirect"}:
                yield from self.findings(child)
            elif child.is_named:
                quoted = quoted or (not words and shell.source(child)[:1] in "\"'")
                words.append(shell.word(child))
                inside += self._below(child)
        if words[:1] == ["eval"] and _SETS_UP_SHELL.fullmatch(" ".join(words[1:])):
            yield Finding(None, "prepares the shell", sets_state=True)
            return
        yield from inside
        if quoted and _NO_PROGRAM.search(words[0]) and "/" not in words[0].split(" ")[0] and not words[0].startswith("$"):
            yield Finding(None, "a quoted text in the place of a program")
            return
        yield from self.words(words, source_of_pipe, here)

    def _redirect(self, node: tree_sitter.Node) -> Iterator[Finding]:
        target = node.child_by_field_name("destination")
        operator = next((child.type for child in node.children if not child.is_named), "")
        if target is not None:
            yield from self._substitutions(node)
            name = shell.word(target)
            if ">" in operator and not _NO_FILE.fullmatch(name) and target.type != "process_substitution":
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
        yield from Look(line, functions_of(root, line, self.functions)).findings(root)

    def words(self, words: list[str], source_of_pipe: str = "", here: list[str] | None = None) -> Iterator[Finding]:
        """What a simple command does, given its words without quotes; `here` are the texts of its heredocs and here-strings."""
        while words and re.match(r"\w+=", words[0]):
            if reason := hook(words[0]):
                yield Finding(CODE_RUN, reason)
            words = words[1:]
        if not words:
            yield Finding(None, "sets variables", sets_state=True)
            return
        name, arguments = program_name(words[0]), words[1:]
        if "$" in name or "`" in name:
            yield Finding(CODE_RUN, "the program's name is only known when it runs")
        elif arguments[:1] and arguments[0] in _OPERATORS and name not in {"sed", "gsed"}:  # `=` is a command of sed's
            yield Finding(CODE_RUN, "reads like a statement of another language")
        elif name in self.functions:
            yield Finding(self.functions[name], f"calls {name}")
        elif name in WRAPPERS or (name in RUNNERS and arguments[:1] == ["run"]):
            yield from self._wrapped(name, arguments, source_of_pipe, here)
        elif name in SHELLS:
            yield from self._shell(arguments, source_of_pipe, here or [])
        elif name in {"eval", "trap", "alias"}:
            yield from self._built_in(name, arguments)
        elif name == "find":
            yield from self._find(arguments)
        else:
            yield from self._program(name, arguments, source_of_pipe, here or [])

    def _program(self, name: str, arguments: list[str], source_of_pipe: str, here: list[str]) -> Iterator[Finding]:
        found = known(name, arguments)
        if isinstance(found, Nested):
            yield from self.script(found.text)
        elif found.reads_stdin and _is_installer_from_network(source_of_pipe):
            yield Finding(INSTALL, "an installer from the network, piped into an interpreter")
        elif name in TEXT_EDITORS and any(re.search(r"^\s*(\S+\s*)?[rw]?\s*!", line) for text in here for line in text.splitlines()):
            yield Finding(CODE_RUN, f"{name} runs commands that it is given as input")
        else:
            yield found

    def _built_in(self, name: str, arguments: list[str]) -> Iterator[Finding]:
        if name == "alias":
            yield Finding(None, "names an abbreviation", sets_state=True)
            for text in (item.partition("=")[2] for item in arguments if "=" in item):
                yield from (finding for finding in self.script(text) if finding.kind is CODE_RUN)
        elif name == "trap":
            yield Finding(None, "sets a trap")
            given = after_options(arguments) if arguments[:1] == ["--"] else arguments
            yield from self.script("".join(given[:1]) if given[1:] else "")
        else:
            yield from self.script(" ".join(arguments))

    def _wrapped(self, name: str, arguments: list[str], source_of_pipe: str, here: list[str] | None) -> Iterator[Finding]:
        valued, positional = WRAPPERS.get(name, (frozenset(), 0))
        if name in RUNNERS:
            arguments, valued = arguments[1:], RUNNER_OPTIONS
        if name == "command" and arguments[:1] in (["-v"], ["-V"]):
            yield Finding(INSPECT, "looks a program up")
            return
        if name == "env" and (split := _split_string(arguments)) is not None:
            yield from self.script(split)
            return
        rest = after_options(arguments, valued)
        inner = rest[positional:]
        if name in {"script", "flock", "su"} and (text := _option_value(arguments, "c", "--command")) is not None:
            yield from self.script(text)
        elif name == "watch":
            yield from self.script(" ".join(inner))
        elif name == "parallel" and inner and not inner[0].startswith(":"):
            yield from self.script(" ".join(itertools.takewhile(lambda item: not re.fullmatch(r":::?:?\+?", item), inner)))
        elif name in TASK_RUNNERS and inner[:1] and inner[0] in TASK_NAMES:
            yield Finding(CODE_RUN, f"{inner[0]} is a task of the project")
        elif name == "xargs" and inner and not has_option(arguments[: len(arguments) - len(inner)], "-I", "-i", "--replace"):
            yield from self.words([*inner, "{}"], source_of_pipe, here)
        elif name == "env" and not [item for item in inner if not re.match(r"\w+=", item)]:
            yield Finding(INSPECT, "prints the environment")
        elif inner:
            yield from self.words(inner, source_of_pipe, here)
        elif name == "exec":
            yield Finding(None, "redirects the shell")
        elif name == "parallel" or name in RUNNERS:
            yield Finding(CODE_RUN, "runs its input")
        elif name in {"sudo", "su", "chroot", "doas", "script"} and (source_of_pipe or here) and "-l" not in arguments:
            yield from self._shell([], source_of_pipe, here or [])
        elif name == "xargs":
            yield Finding(INSPECT, "prints its input")
        else:
            yield Finding(INSPECT, f"{name} without a command")

    def _shell(self, arguments: list[str], source_of_pipe: str, here: list[str]) -> Iterator[Finding]:
        checks = False
        for number, argument in enumerate(arguments):
            if argument in {"--version", "--help"}:
                yield Finding(INSPECT, "prints a version")
                return
            if re.fullmatch(r"-[a-zA-Z]*c", argument):
                rest = [item for item in arguments[number + 1 :] if not re.fullmatch(r"-[a-zA-Z]+", item)]
                if rest[:1] in ([], ["{}"]):
                    yield Finding(CODE_RUN, "a shell that is given its commands when it runs")
                else:
                    yield from self.script(rest[0])
                return
            checks = checks or bool(re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*", argument))
            if re.fullmatch(r"-[a-zA-Z]*s[a-zA-Z]*", argument) or argument == "-":
                break
            valued = arguments[number - 1 : number] in (["-o"], ["+o"], ["-O"], ["+O"], ["--rcfile"], ["--init-file"])
            if not re.match(r"[-+]", argument) and not (number and valued):
                yield self._shell_script(argument, checks)
                return
        if here:
            for body in here:
                yield from self.script(body)
        elif _is_installer_from_network(source_of_pipe):
            yield Finding(INSTALL, "an installer from the network, piped into a shell")
        else:
            yield Finding(CODE_RUN, "a shell that reads its commands from its input", reads_stdin=True)

    def _shell_script(self, script: str, checks: bool) -> Finding:
        if checks:
            return Finding(INSPECT, "checks the syntax of a script")
        if is_installer(script):
            return Finding(INSTALL, f"runs the installer {script}")
        return Finding(CODE_RUN, f"runs the script {script}", script=script)

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


def _assigned(node: tree_sitter.Node) -> str:
    """`NAME=value` of an assignment, the value without quotes as far as it is known."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    return f"{shell.source(name) if name else ''}={shell.word(value) if value else ''}"


def _is_installer_from_network(source_of_pipe: str) -> bool:
    """Whether what is piped into an interpreter is fetched from another machine and by its address sets something up."""
    return bool(_FROM_NETWORK.match(source_of_pipe) and _INSTALLS.search(source_of_pipe))


def _option_value(arguments: list[str], short: str, long: str) -> str | None:
    """The value of an option, also at the end of a bundle (`-qc TEXT`) or after `=`; None when it is not given."""
    for number, argument in enumerate(arguments):
        if argument == long or re.fullmatch(rf"-[a-zA-Z]*{short}", argument):
            return "".join(arguments[number + 1 : number + 2])
        if argument.startswith(long + "="):
            return argument.partition("=")[2]
    return None


def _split_string(arguments: list[str]) -> str | None:
    """The command line of `env -S`, which splits one text into words; None without that option."""
    for number, argument in enumerate(arguments):
        if match := re.fullmatch(r"-[iv0]*S(.*)|--split-string=(.*)", argument, re.DOTALL):
            text = match[1] or match[2] or "".join(arguments[number + 1 : number + 2])
            return " ".join([text, *arguments[number + (1 if match[1] or match[2] else 2) :]])
    return None
