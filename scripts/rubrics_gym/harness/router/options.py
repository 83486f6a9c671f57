"""Reading the arguments of a program: its options and the words between them."""

from __future__ import annotations

import re

VERSION_OPTIONS = frozenset({"--version", "--help", "-version", "-V", "-VV", "-h", "-help"})


def words(text: str) -> frozenset[str]:
    """A set of names written as one text."""
    return frozenset(text.split())


def after_options(arguments: list[str], valued: frozenset[str] = frozenset()) -> list[str]:
    """What follows the options in front; `valued` are the options whose value is a word of its own."""
    position = 0
    while position < len(arguments) and arguments[position].startswith("-"):
        if arguments[position] == "--":
            return arguments[position + 1 :]
        position += 2 if arguments[position] in valued else 1
    return arguments[position:]


def operands(arguments: list[str], valued: frozenset[str] = frozenset()) -> list[str]:
    """The words that are neither options nor values of options, wherever they stand. A lone `-` is one of them."""
    found: list[str] = []
    position = 0
    while position < len(arguments):
        argument = arguments[position]
        if argument == "--":
            return found + arguments[position + 1 :]
        if argument.startswith("-") and argument != "-":
            position += 2 if argument in valued else 1
        else:
            found.append(argument)
            position += 1
    return found


def first_word(arguments: list[str]) -> str:
    """The first word that is no option (the subcommand of most tools), else the first option, else an empty text."""
    return next((item for item in arguments if not item.startswith("-")), arguments[0] if arguments else "")


def has_option(arguments: list[str], *names: str) -> bool:
    """Whether one of the options is given: long ones also with `=value`, short ones also in a bundle (`-xzf`) or with their value attached."""
    for argument in arguments:
        if argument == "--":
            return False
        for name in names:
            if argument == name or (name.startswith("--") and argument.startswith(name + "=")):
                return True
            if len(name) == 2 and re.match(rf"-[a-zA-Z]*{re.escape(name[1])}", argument):
                return True
    return False
