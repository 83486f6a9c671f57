"""Looking at the simple commands of a syntax tree, through wrappers, substitutions and nested shells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import tree_sitter

from rubrics_gym.harness import shell
from rubrics_gym.harness.router.findings import CODE_RUN, EDIT, INSPECT, INSTALL, OTHER, Finding, strongest
from rubrics_gym.harness.router.programs import known
from rubrics_gym.harness.router.wrappers import HOOKS, RUNNER_OPTIONS, RUNNERS, SHELLS, WRAPPERS, after_options, program_name
from rubrics_gym.records.trajectory import CommandKind


def functions_of(root: tree_sitter.Node, line: shell.CommandLine) -> dict[str, CommandKind]:
    """The functions that the line defines, and what calling each would do."""
    kinds: dict[str, CommandKind] = {}
    for node in _walk(root):
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if node.type == "function_definition" and name is not None and body is not None:
            found = [finding.kind for finding in Look(line, kinds).findings(body) if finding.kind is not None]
            kinds[shell.source(name)] = strongest(found or [OTHER])
    return kinds


def _walk(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


@dataclass(frozen=True)
class Look:
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
                if name in HOOKS:
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
        yield from Look(line, {**self.functions, **functions_of(root, line)}).findings(root)

    def words(self, words: list[str], source_of_pipe: str = "", bodies: list[str] | None = None) -> Iterator[Finding]:
        """What a simple command does, given its words without quotes."""
        while words and re.match(r"\w+=", words[0]):
            words = words[1:]
        if not words:
            yield Finding(None, "sets variables", sets_state=True)
            return
        name, arguments = program_name(words[0]), words[1:]
        if "$" in name or "`" in name:
            yield Finding(CODE_RUN, "the program's name is only known when it runs")
        elif name in self.functions:
            yield Finding(self.functions[name], f"calls the function {name}")
        elif name in WRAPPERS or (name in RUNNERS and arguments[:1] == ["run"]):
            yield from self._wrapped(name, arguments, source_of_pipe, bodies)
        elif name in SHELLS:
            yield from self._shell(arguments, source_of_pipe, bodies or [])
        elif name in {"eval", "trap"}:
            text = " ".join(arguments) if name == "eval" else "".join(arguments[:1])
            yield from self.script(text)
        elif name == "find":
            yield from self._find(arguments)
        else:
            yield known(name, arguments)

    def _wrapped(self, name: str, arguments: list[str], source_of_pipe: str, bodies: list[str] | None) -> Iterator[Finding]:
        valued, positional = WRAPPERS.get(name, (frozenset(), 0))
        if name in RUNNERS:
            arguments, valued = arguments[1:], RUNNER_OPTIONS
        if name == "command" and arguments[:1] in (["-v"], ["-V"]):
            yield Finding(INSPECT, "looks a program up")
            return
        rest = after_options(arguments, valued)
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
