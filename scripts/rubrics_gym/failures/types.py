"""The type of a failure, by fixed regular expressions over what was recorded: no model.

What the recorder measured comes first (stopped at the limit, out of memory), then what a limit or an exhausted resource leaves in the output,
then the exception at the root of the failure, then errors of programs other than Python. The root is not the last line: exceptions that
only report another failure are passed over, and in a chain of exceptions the first one that names an outside cause decides.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from rubrics_gym.failures.imports import attribute_type, import_type, keyword_type
from rubrics_gym.failures.interfaces import Interfaces
from rubrics_gym.failures.modules import Modules, is_installed
from rubrics_gym.failures.outputs import clean
from rubrics_gym.failures.prefilter import Sieve, sieve
from rubrics_gym.failures.tracebacks import Link, Raised, raised_in

EVIDENCE_CHARS = 300
END_LINES = 15  # a harness says that it stopped a command before or after the output, not in the midst of it
PYTHON_M = re.compile(r"^\S*python[\d.]*: No module named '?(?P<module>[\w.]+)", re.MULTILINE)
OWN = ("own_logic", "other")  # types that name no cause outside the code


class Rule(NamedTuple):
    type: str
    sieve: Sieve


class Logged(NamedTuple):
    """A logged line that says what an exception follows from."""

    type: str
    sieve: Sieve
    explains: re.Pattern[str]


class Rules(NamedTuple):
    """The expressions of a failure-types file, compiled."""

    version: str
    failure_text: tuple[Sieve, ...]
    no_failure_text: Sieve
    error_step_text: re.Pattern[str]
    reporters: frozenset[str]
    reports: Sieve
    stopped: tuple[Rule, ...]
    exhausted: tuple[Rule, ...]
    exit_codes: dict[int, str]
    modules: Modules
    interfaces: Interfaces
    changed_text: Sieve
    exceptions: tuple[Rule, ...]
    logged: tuple[Logged, ...]
    text: tuple[Rule, ...]


class Typed(NamedTuple):
    """A failure type (id) and the recorder fact or the text that decided it."""

    type: str
    evidence: str


@functools.cache
def load_rules(path: str | Path) -> Rules:
    """Read and compile resources/failure_types.yaml, and the table of changed interfaces beside it (api_changes.tsv). A missing key or an
    invalid expression is an error that names the file."""
    content: dict[str, Any] = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    try:
        return Rules(
            version=content["version"],
            failure_text=tuple(map(sieve, content["failure_text"])),
            no_failure_text=sieve("|".join(content["no_failure_text"])),
            error_step_text=re.compile(content["error_step_text"]),
            reporters=frozenset(content["reporters"]),
            reports=sieve("|".join(content["reports"])),
            stopped=_compile(content["stopped"]),
            exhausted=_compile(content["exhausted"]),
            exit_codes=dict(content["exit_codes"]),
            modules=Modules.of(content["modules"]),
            interfaces=Interfaces(Path(path).with_name("api_changes.tsv"), content["removed"], content["added"]),
            changed_text=sieve("|".join(content["changed_text"])),
            exceptions=_compile(content["exceptions"]),
            logged=tuple(Logged(one["type"], sieve(one["pattern"]), re.compile(one["explains"])) for one in content["logged"]),
            text=_compile(content["text"]),
        )
    except (KeyError, TypeError, re.error) as error:
        raise ValueError(f"{path}: {error!r}; compare with the file in the repository") from None


def failure_type(output: str, rules: Rules, *, exit_code: int | None = None, timed_out: bool = False, out_of_memory: bool = False) -> Typed:
    """The type of a command that failed. `output` may hold colours, progress bars, worker prefixes and several tracebacks."""
    if timed_out:
        return Typed("time_limit", "recorder: stopped at the limit")
    if out_of_memory:
        return Typed("out_of_memory", "recorder: out of memory")
    text = clean(output)
    lowered = text.lower()
    exhausted = _stopped(text, rules) or _first_match(rules.exhausted, text, lowered)
    if exhausted:
        return exhausted
    raised = _that_end_programs(text, rules)
    found = _from_exceptions(raised, rules)
    # A line of the form of an exception, without a traceback, may be another tool's: what is known of tools comes before "own logic".
    certain = found if found and (raised[-1].traced or found.type not in OWN) else None
    return (
        _logged_cause(raised, text, lowered, rules)
        or certain
        or _from_exit_code(exit_code, rules)
        or _own_module(text, rules)
        or _first_match(rules.text, text, lowered)
        or found
        or Typed("other", _last_line(text))
    )


def _stopped(text: str, rules: Rules) -> Typed | None:
    """A harness that stopped the command says so at an end of the output."""
    start = end = 0
    for _ in range(END_LINES):
        start = text.find("\n", start) + 1 or len(text)
        end = text.rfind("\n", 0, end if end else len(text))
        if end <= 0 or start >= len(text):
            break
    ends = text if start >= len(text) or end <= start else f"{text[:start]}\n{text[end:]}"
    return _first_match(rules.stopped, ends, ends.lower())


def _that_end_programs(text: str, rules: Rules) -> list[Raised]:
    """The exceptions that do not only report another: those of tracebacks, else those that a line names."""
    raised = [one for one in raised_in(text) if not one.harmless and not _reports_another(one, rules)]
    return [one for one in raised if one.traced] or raised


def _logged_cause(raised: list[Raised], text: str, lowered: str, rules: Rules) -> Typed | None:
    """What was logged before the last exception and explains it."""
    for one in rules.logged if raised else ():
        match = one.sieve.search(text, lowered) if one.explains.search(raised[-1].line) else None
        if match:
            return Typed(one.type, match[0])
    return None


def _from_exceptions(raised: list[Raised], rules: Rules) -> Typed | None:
    """The type of the exception at the root: of the last chain that ended a program, or of the program before it that it depends on."""
    if not raised:
        return None
    chains: dict[int, list[Raised]] = {}
    for one in raised:
        chains.setdefault(one.chain, []).append(one)
    *earlier, last = chains.values()
    found = _chain_type(last, rules)
    if found.type == "file_not_found":  # what an earlier program was to write
        programs = [chain for chain in earlier if chain[0].program and chain[0].program != last[0].program and last[0].program]
        found = _chain_type(programs[0], rules) if programs else found
    return found


def _reports_another(exception: Raised, rules: Rules) -> bool:
    if exception.kind in rules.reporters:
        return True
    return rules.reports.search(exception.line, exception.line.lower()) is not None


def _chain_type(chain: list[Raised], rules: Rules) -> Typed:
    """Of exceptions that hang together, the first that names a cause outside the code's own logic, else the first.

    Back to where a handler failed by itself: what it had caught before is not what ended the program.
    """
    first = len(chain) - 1
    while first > 0 and (chain[first].link is Link.CAUSE or _raised_on_purpose(chain[first])):
        first -= 1
    typed = [_exception_type(one, rules) for one in chain[first:]]
    return next((one for one in typed if one.type not in OWN), typed[0])


def _raised_on_purpose(exception: Raised) -> bool:
    """Whether an exception was raised by a `raise` (or inside a library): it passes on what was being handled."""
    if not exception.frames or not exception.frames[-1].code:
        return True
    return exception.frames[-1].code.startswith("raise") or is_installed(exception.frames[-1].path)


def _exception_type(exception: Raised, rules: Rules) -> Typed:
    kind = (
        _missing_program(exception)
        or import_type(exception, rules.modules, rules.interfaces)
        or attribute_type(exception, rules.modules, rules.interfaces)
        or keyword_type(exception, rules.interfaces)
    )
    line, lowered = exception.line, exception.line.lower()
    if kind is None and not _raised_by_own_code(exception) and rules.changed_text.search(line, lowered):
        kind = "api_changed"
    if kind is None:
        kind = next((rule.type for rule in rules.exceptions if rule.sieve.search(line, lowered)), "own_logic")
    return Typed(kind, line.split("\n", 1)[0][:EVIDENCE_CHARS])


def _own_module(text: str, rules: Rules) -> Typed | None:
    """`python -m` of a module of the project, which is not where it is looked for."""
    missing = PYTHON_M.search(text)
    if missing and rules.modules.is_own(missing["module"].split(".")[0], ()):
        return Typed("own_logic", missing[0])
    return None


def _missing_program(exception: Raised) -> str | None:
    """A program looked up by its bare name, and not installed: Python reports it as a file that is not there."""
    named = re.search(r"\[Errno 2\] No such file or directory: '[^'/\\.\s]+'$", exception.line)
    called = exception.frames and exception.frames[-1].function == "_execute_child"
    return "missing_package" if named and called else None


def _raised_by_own_code(exception: Raised) -> bool:
    return bool(exception.frames) and exception.frames[-1].code.startswith("raise") and not is_installed(exception.frames[-1].path)


def _from_exit_code(exit_code: int | None, rules: Rules) -> Typed | None:
    if exit_code in rules.exit_codes:
        return Typed(rules.exit_codes[exit_code], f"exit code {exit_code}")
    return None


def _first_match(rules: tuple[Rule, ...], text: str, lowered: str) -> Typed | None:
    for rule in rules:
        match = rule.sieve.search(text, lowered)
        if match:
            return Typed(rule.type, match[0].strip()[:EVIDENCE_CHARS])
    return None


def _last_line(text: str) -> str:
    return text.rstrip().rsplit("\n", 1)[-1].strip()[:EVIDENCE_CHARS]


def _compile(rules: list[dict[str, str]]) -> tuple[Rule, ...]:
    return tuple(Rule(rule["type"], sieve(rule["pattern"])) for rule in rules)
