"""Small questions about a piece of a program: what is called, with which keyword, and which names occur."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def called(node: ast.Call) -> str:
    """The last name of what is called: `read_csv` for `pd.read_csv(...)`."""
    match node.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def keyword(node: ast.Call, name: str) -> ast.expr | None:
    """The expression given for a keyword, or None."""
    return next((item.value for item in node.keywords if item.arg == name), None)


def words(tree: ast.AST | None) -> set[str]:
    """Every name and attribute in a piece of syntax."""
    if tree is None:
        return set()
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return found | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
