"""Reading a command line: heredocs taken out, the rest as a syntax tree (tree-sitter-bash), words without their quotes."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import tree_sitter

_OPERATOR = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([\w.+-]+))")
_MARKER = re.compile(r"</__HEREDOC_(\d+)__")
_EXPANSIONS = {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"}


# The grammar's scanner crashes (a segmentation fault) on some sequences of characters outside ASCII, so it is given none: each is written as
# a word of letters of its own, and every text that leaves this module has its own characters again.
_FOREIGN = re.compile(r"[^\x00-\x7f]|_(?=_U)")  # and what would read as such a word
_WRITTEN = re.compile(r"__U([0-9a-f]{6})__")


def _in_ascii(text: str) -> str:
    return _FOREIGN.sub(lambda match: f"__U{ord(match[0]):06x}__", text)


def _as_given(text: str) -> str:
    return _WRITTEN.sub(lambda match: chr(int(match[1], 16)), text)


class Unparsable(ValueError):
    """Text that is not a shell command line; the message says where it stops making sense."""


@dataclass(frozen=True)
class Heredoc:
    operator: str  # as written, e.g. <<'EOF'
    end: str  # the closing line as written; empty when the text ends before it
    body: str
    expands: bool  # an unquoted delimiter: substitutions in the body run


@dataclass(frozen=True)
class CommandLine:
    """A command line without its heredoc bodies, and the bodies beside it. Each operator became a redirect from a marker.

    `compact` is in ASCII; slices of it go through `restore` before anybody reads them.
    """

    compact: str
    heredocs: tuple[Heredoc, ...]

    def restore(self, text: str) -> str:
        """A slice of `compact` as it was written, with its heredoc bodies."""
        lines = []
        for line in text.split("\n"):
            used = [self.heredocs[int(number)] for number in _MARKER.findall(line)]
            lines.append(_as_given(_MARKER.sub(lambda match: self.heredocs[int(match[1])].operator, line)))
            for heredoc in used:
                lines.append(heredoc.body.removesuffix("\n"))
                lines += [heredoc.end] if heredoc.end else []
        return "\n".join(lines)

    def bodies(self, text: str) -> list[Heredoc]:
        """The heredocs of a slice of `compact`."""
        return [self.heredocs[int(number)] for number in _MARKER.findall(text)]


def take_heredocs(text: str) -> CommandLine:
    """Take the heredoc bodies out of a command line. Quotes, comments and arithmetic are respected; a missing end is the end of the text."""
    text = _in_ascii(text)
    kept: list[str] = []
    heredocs: list[Heredoc] = []
    waiting: list[tuple[str, str, bool, bool]] = []  # operator, delimiter, strips tabs, expands
    quote = ""
    position = 0
    last_arithmetic = text.rfind("))")
    while position < len(text):
        char = text[position]
        if char == "\\" and quote != "'":
            kept.append(text[position : position + 2])
            position += 2
        elif quote:
            quote = "" if char == quote else quote
            kept.append(char)
            position += 1
        elif char in "'\"":
            quote = char
            kept.append(char)
            position += 1
        elif char == "#" and (not kept or kept[-1][-1:] in " \t\n;("):
            end = _end_of_line(text, position)
            kept.append(text[position:end])
            position = end
        elif text.startswith("((", position) or text.startswith("<<<", position):
            closes = char == "(" and position < last_arithmetic
            end = text.find("))", position) if closes else position + (2 if char == "(" else 3)
            kept.append(text[position:end])
            position = end
        elif match := _OPERATOR.match(text, position):
            delimiter = next(group for group in match.groups()[1:] if group is not None)
            quoted = match[4] is None or "\\" in match[0]
            kept.append(f"</__HEREDOC_{len(heredocs) + len(waiting)}__")
            waiting.append((match[0], delimiter, bool(match[1]), not quoted))
            position = match.end()
        elif char == "\n" and waiting:
            kept.append(char)
            position += 1
            for operator, delimiter, strips, expands in waiting:
                body, end_line, position = _read_body(text, position, delimiter, strips)
                heredocs.append(Heredoc(operator, _as_given(end_line), _as_given(body), expands))
            waiting = []
        else:
            kept.append(char)
            position += 1
    heredocs += [Heredoc(operator, "", "", expands) for operator, _, _, expands in waiting]
    return CommandLine("".join(kept), tuple(heredocs))


def _end_of_line(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _read_body(text: str, position: int, delimiter: str, strips: bool) -> tuple[str, str, int]:
    start = position
    while position < len(text):
        end = _end_of_line(text, position)
        line = text[position:end]
        if (line.lstrip("\t") if strips else line) == delimiter:
            return text[start:position], line, min(end + 1, len(text))
        position = end + 1
    return text[start:], "", len(text)


@functools.cache
def _parser() -> tree_sitter.Parser:
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parse(text: str) -> tree_sitter.Node:
    """The syntax tree of the `compact` form of a command line. Raises Unparsable where it is not shell."""
    root = _parser().parse(text.encode("ascii")).root_node
    if root.has_error:
        raise Unparsable(f"not readable as shell: {_first_error(root)}")
    return root


def is_whole(text: str) -> bool:
    """Whether a text reads as shell, with its quotes and brackets closed."""
    try:
        parse(take_heredocs(text).compact)
    except Unparsable:
        return False
    return True


def first_word(text: str) -> str:
    """The first word of a command line as the program would get it; empty when there is none."""
    try:
        node = parse(take_heredocs(text).compact)
    except Unparsable:
        return ""
    while node.type not in {"command_name", "variable_assignment"} and node.named_children:
        node = node.named_children[0]
    return word(node)


def _first_error(node: tree_sitter.Node) -> str:
    for child in node.children:
        if child.is_error or child.is_missing:
            return f"line {child.start_point[0] + 1}, near {source(child)[:40]!r}"
        if child.has_error:
            return _first_error(child)
    return f"line {node.start_point[0] + 1}"


def source(node: tree_sitter.Node) -> str:
    """The text of a node."""
    return _as_given((node.text or b"").decode())


def word(node: tree_sitter.Node) -> str:
    """A word as the program would get it, as far as that is known before running; expansions stay as written (`$X`)."""
    if node.type == "raw_string":
        return source(node)[1:-1]
    if node.type == "ansi_c_string":
        return re.sub(r"\\([\\'\"])", r"\1", source(node)[2:-1])
    if node.type == "string":
        return re.sub(r"\\([\\\"$`])", r"\1", source(node)[1:-1])
    if node.type in {"concatenation", "command_name"}:
        return "".join(word(child) for child in node.children)
    if node.type in _EXPANSIONS:
        return source(node)
    return re.sub(r"\\(.)", r"\1", source(node).replace("\\\n", ""))
