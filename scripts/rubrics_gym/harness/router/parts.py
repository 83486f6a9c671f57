"""A command line cut into the parts that are decided one by one, and each part into its pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import tree_sitter

from rubrics_gym.harness import shell
from rubrics_gym.harness.router.commands import Look, functions_of
from rubrics_gym.harness.router.findings import CODE_RUN, INSPECT, OTHER, strongest
from rubrics_gym.records.trajectory import CommandKind


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


def classify(line: str, known: Mapping[str, CommandKind] | None = None) -> tuple[Part, ...]:
    """Split a command line into its parts and classify each. What cannot be read as shell is one part that runs code, with the reason.

    `known` are further names and what calling each does, where a log has commands of its own.
    """
    command_line = shell.take_heredocs(line)
    try:
        root = shell.parse(command_line.compact)
        return tuple(_parts(root, command_line, known or {}))
    except (shell.Unparsable, RecursionError) as error:
        return (Part(line, (Piece("", line, CODE_RUN, str(error)),)),)


def _parts(root: tree_sitter.Node, line: shell.CommandLine, known: Mapping[str, CommandKind]) -> Iterator[Part]:
    look = Look(line, functions_of(root, line, known))
    source = line.compact.encode()
    statements = [child for child in root.children if child.is_named and child.type != "comment"]
    for number, statement in enumerate(statements):
        text = source[statement.start_byte : statement.end_byte].decode()
        part = Part(line.restore(text), tuple(_pieces(statement, look)))
        if _binds(statement, part, number + 1 < len(statements), source):
            text = source[statement.start_byte : root.end_byte].decode().rstrip()
            yield _undivided(statements[number:], text, look)
            return
        yield part


def _binds(statement: tree_sitter.Node, part: Part, followed: bool, source: bytes) -> bool:
    """Whether what follows cannot be cut from a statement: a job that runs beside it, a value that a program gave it, a trap at its end."""
    after = statement.next_sibling
    if after is not None and after.type == "&":
        return True
    if not followed:
        return False
    if re.match(r"trap\s.*\bEXIT\b", part.text, re.DOTALL):
        return True
    names = (
        re.findall(r"(?:^|\s)([A-Za-z_]\w*)\+?=", part.text) if statement.type in _ASSIGNMENTS and part.kind not in {INSPECT, OTHER} else []
    )
    return any(re.search(rf"\$\{{?!?#?{name}\b".encode(), source[statement.end_byte :]) for name in names)


def _undivided(statements: list[tree_sitter.Node], text: str, look: Look) -> Part:
    return Part(look.line.restore(text), (replace(_piece("", text, statements, look), compound=True, state=""),))


def _pieces(statement: tree_sitter.Node, look: Look) -> Iterator[Piece]:
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
    waiting = [node]
    while waiting:  # a chain of thousands of commands is a tree as deep
        node = waiting.pop()
        body = node.child_by_field_name("body") if node.type == "redirected_statement" else node
        if node.type in {"&&", "||"}:
            yield node.type
        elif body is not None and body.type in {"list", "pipeline"}:
            waiting += reversed(node.children)
        elif node.is_named:
            yield node


def _piece(operator: str, text: str, nodes: list[tree_sitter.Node], look: Look) -> Piece:
    findings = list(look.pipeline(nodes))
    kinds = [finding.kind for finding in findings if finding.kind is not None]
    kind = strongest(kinds) if kinds else OTHER
    reason = next((finding.reason for finding in findings if finding.kind is kind), "changes only the state of the shell")
    programs = [finding.program for finding in findings if finding.program]
    if any(finding.reads_stdin for finding in findings):
        programs += [heredoc.body for heredoc in look.line.bodies(text)]
    scripts = tuple(dict.fromkeys(finding.script for finding in findings if finding.script))
    restored = look.line.restore(text)
    keeps = kind in {OTHER, INSPECT} and len(nodes) == 1 and _sets_state(nodes[0]) and any(finding.sets_state for finding in findings)
    compound = any(node.type not in _SIMPLE_NODES for node in nodes)
    return Piece(operator, restored, kind, reason, compound, not kinds, restored if keeps else "", scripts, tuple(programs))


_ASSIGNMENTS = {"variable_assignment", "variable_assignments", "declaration_command"}
_STATE_NODES = _ASSIGNMENTS | {"command", "unset_command", "function_definition"}
_SIMPLE_NODES = _STATE_NODES | {"redirected_statement", "negated_command", "test_command"}


def _sets_state(node: tree_sitter.Node) -> bool:
    """Whether a state that is set in this node outlives it. Inside a pipeline, a subshell or a loop it does not, or must not be set again."""
    body = node.child_by_field_name("body") if node.type == "redirected_statement" else node
    return body is not None and body.type in _STATE_NODES
