"""The type of a failure, by fixed regular expressions over what was recorded: no model.

What the recorder measured comes first (stopped at the limit, out of memory), then what an exhausted resource leaves in the output,
then the exception at the root of the failure, then errors of programs other than Python. The root is not the last line: wrappers that
only report another failure are passed over, and in a chain of exceptions the first one that names an outside cause decides.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
# Prefixes that launchers put before each line of a worker: [rank0]:, [1,0]<stderr>:, (RayWorker pid=7).
WORKER_PREFIX = re.compile(r"^(?:\[rank\d+\]:|\[\d+,\d+\]<std\w+>:|\(\w+ pid=\d+[^)]*\)) ?", re.MULTILINE)
TRACEBACK = re.compile(r"Traceback \(most recent call last\)")
CHAINED = re.compile(r"^[ \t]*(?:The above exception was the direct cause of|During handling of the above exception)", re.MULTILINE)
FRAME = re.compile(r"^[ \t|│]*File \"(?P<path>[^\"]+)\", line \d+(?:, in .*)?\n?(?P<code>.*)", re.MULTILINE)
EXCEPTION = re.compile(
    r"^[ \t|│]*(?P<name>(?:[A-Za-z_]\w*\.)*(?:[A-Z_]\w*(?:Error|Exception|Interrupt|Exit|Expired|Warning|Empty|Full|Iteration|NotFound|"
    r"Conflict|Refused|Disconnected|Timeout|Incomplete\w*|Invalid\w*|Trial\w*|Option|Parameter)|gaierror|timeout|error)|(?:[a-z_]\w*\.)+[A-Z]\w+)(?:: ?(?P<message>.*))?$",
    re.MULTILINE,
)
SHELL = re.compile(r"\S*sh: (?:line )?\d+: |\S+: line \d+: ")
MESSAGE_LINES = 12  # an exception's message may run over several lines
SITE_PACKAGES = re.compile(r"(?:site|dist)-packages[/\\](?P<package>\w+)|[/\\]lib[/\\]python[\d.]+[/\\](?!site-|dist-)")
EVIDENCE_CHARS = 300
OUTPUT_CHARS = 100_000
LINE_CHARS = 4000


class Rule(NamedTuple):
    type: str
    pattern: re.Pattern[str]


class Removed(NamedTuple):
    """Names that a class no longer has, or a function no longer takes."""

    of: re.Pattern[str]
    names: frozenset[str]


class Rules(NamedTuple):
    """The expressions of a failure-types file, compiled."""

    version: str
    error_text: tuple[re.Pattern[str], ...]
    error_step_text: re.Pattern[str]
    wrappers: frozenset[str]
    first: tuple[Rule, ...]
    exit_codes: dict[int, str]
    local_modules: frozenset[str]
    removed_modules: frozenset[str]
    removed_attributes: tuple[Removed, ...]
    removed_keywords: tuple[Removed, ...]
    removed_text: re.Pattern[str]
    exceptions: tuple[Rule, ...]
    text: tuple[Rule, ...]


class RaisedException(NamedTuple):
    """One exception in an output. `frames` are (path, line of code), outermost first; `chain` numbers the exceptions that belong together."""

    name: str
    message: str
    frames: tuple[tuple[str, str], ...]
    traced: bool
    chain: int

    @property
    def line(self) -> str:
        return f"{self.name}: {self.message}"


class Typed(NamedTuple):
    """A failure type (id) and the recorder fact or the text that decided it."""

    type: str
    evidence: str


@functools.cache
def load_rules(path: str | Path) -> Rules:
    """Read and compile resources/failure_types.yaml. A missing key or an invalid expression is an error that names the file."""
    content: dict[str, Any] = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    try:
        return Rules(
            version=content["version"],
            error_text=tuple(re.compile(pattern, re.MULTILINE) for pattern in content["error_text"]),
            error_step_text=re.compile(content["error_step_text"]),
            wrappers=frozenset(content["wrappers"]),
            first=_compile(content["first"]),
            exit_codes=dict(content["exit_codes"]),
            local_modules=frozenset(content["local_modules"]),
            removed_modules=frozenset(content["removed_modules"]),
            removed_attributes=_removed(content["removed_attributes"]),
            removed_keywords=_removed(content["removed_keywords"]),
            removed_text=re.compile("|".join(f"(?:{pattern})" for pattern in _inline(content["removed_text"]))),
            exceptions=_compile(content["exceptions"]),
            text=_compile(content["text"]),
        )
    except (KeyError, re.error) as error:
        raise ValueError(f"{path}: {error!r}; compare with the file in the repository") from None


def failure_type(output: str, rules: Rules, *, exit_code: int | None = None, timed_out: bool = False, out_of_memory: bool = False) -> Typed:
    """The type of a command that failed. `output` may hold colours, progress bars, worker prefixes and several tracebacks."""
    if timed_out:
        return Typed("time_limit", "recorder: stopped at the limit")
    if out_of_memory:
        return Typed("out_of_memory", "recorder: out of memory")
    text = clean(output)
    return (
        _first_match(rules.first, text)
        or _from_exceptions(text, rules)
        or _from_exit_code(exit_code, rules)
        or _first_match(rules.text, text)
        or Typed("other", _last_line(text))
    )


def clean(output: str) -> str:
    """Output without colours and worker prefixes; a carriage return starts a new line, because progress bars hide errors behind it.

    Of very long outputs and lines only the ends are kept: errors stand at the ends, and expressions stay fast.
    """
    text = ANSI.sub("", _ends(output, OUTPUT_CHARS)).replace("\r\n", "\n").replace("\r", "\n")
    text = re.sub(r"\n{3,}", "\n\n", text)
    if len(text) > LINE_CHARS:
        text = "\n".join(_ends(line, LINE_CHARS) for line in text.split("\n"))
    return WORKER_PREFIX.sub("", text)


def _ends(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 2 :]}"


def exceptions_in(text: str) -> list[RaisedException]:
    """The exceptions of a cleaned output in the order printed. Those joined by Python's chaining sentences share a chain number."""
    found: list[RaisedException] = []
    chain = 0
    previous_end = 0
    for match in EXCEPTION.finditer(text):
        between = text[previous_end : match.start()]
        if found and not CHAINED.search(between):
            chain += 1
        frames = tuple((frame["path"], frame["code"].strip()) for frame in FRAME.finditer(between))
        traced = bool(frames) or bool(TRACEBACK.search(between))
        found.append(RaisedException(match["name"], _message(text, match), frames, traced, chain))
        previous_end = match.end()
    return found


def _message(text: str, match: re.Match[str]) -> str:
    """The message, with the lines that continue it."""
    following = text[match.end() : match.end() + 4000].split("\n")[1 : 1 + MESSAGE_LINES]
    lines = [match["message"] or ""]
    for line in following:
        if TRACEBACK.search(line) or CHAINED.match(line) or EXCEPTION.match(line) or set(line.strip()) <= set("-=") or SHELL.match(line):
            break
        lines.append(line)
    return "\n".join(lines).rstrip()


def _from_exceptions(text: str, rules: Rules) -> Typed | None:
    """The type of the last chain of traced exceptions, by the first of its members that names a cause outside the code's own logic."""
    raised = [exception for exception in exceptions_in(text) if exception.name.rsplit(".", 1)[-1] not in rules.wrappers]
    if any(exception.traced for exception in raised):
        raised = [exception for exception in raised if exception.traced]
    if not raised:
        return None
    members = [exception for exception in raised if exception.chain == raised[-1].chain]
    typed = [_exception_type(exception, rules) for exception in members]
    return next((one for one in typed if one.type not in ("own_logic", "other")), typed[0])


def _exception_type(exception: RaisedException, rules: Rules) -> Typed:
    kind = _import_type(exception, rules) or _interface_type(exception, rules)
    if kind is None:
        kind = next((rule.type for rule in rules.exceptions if rule.pattern.search(exception.line)), "own_logic")
    return Typed(kind, exception.line[:EVIDENCE_CHARS])


def _import_type(exception: RaisedException, rules: Rules) -> str | None:
    """Missing package, changed API, versions that do not fit, or a module of the project's own."""
    missing = re.match(r"No module named ['\"]?([\w.]+)['\"]?(; ['\"]?\w+['\"]? is not a package)?", exception.message)
    if missing and exception.name.endswith(("ModuleNotFoundError", "ImportError")):
        module, shadowed = missing[1], missing[2]
        top, _, rest = module.partition(".")
        if top in rules.removed_modules:
            return "api_changed"
        if shadowed or top in rules.local_modules or _is_own(top, exception):
            return "own_logic"
        if not rest:
            return "missing_package"
        # Python names the submodule only when the package itself was found: it is broken, or it lost that module.
        return "other" if rest.rsplit(".", 1)[-1].startswith("_") else "api_changed"
    unnamed = re.match(
        r"cannot import name ['\"](\w+)['\"] from (partially initialized module )?['\"]([\w.]+)['\"](?: \(([^)]*)\))?", exception.message
    )
    if unnamed:
        source, circular, where = unnamed[3], unnamed[2], unnamed[4] or ""
        top = source.split(".")[0]
        if circular or top in rules.local_modules or _is_own(top, exception) or (where.endswith(".py") and not SITE_PACKAGES.search(where)):
            return "own_logic"
        importer = SITE_PACKAGES.search(exception.frames[-1][0]) if exception.frames else None
        return "dependency_conflict" if importer and importer["package"] not in (None, top) else "api_changed"
    return None


def _interface_type(exception: RaisedException, rules: Rules) -> str | None:
    """Changed API when an attribute, keyword or name is known to have been removed, or the message says so."""
    of_module = re.search(r"(partially initialized )?module ['\"]([\w.]+)['\"] has no attribute ['\"](\w+)['\"]", exception.message)
    if of_module:
        top = of_module[2].split(".")[0]
        if of_module[3].startswith("__"):
            return "other"  # not even the module's own metadata: a broken or shadowed installation
        own = of_module[1] or top in rules.local_modules or _is_own(top, exception)
        return "own_logic" if own else "api_changed"
    of_object = re.search(r"['\"]([\w.]+)['\"] object has no attribute ['\"](\w+)['\"]", exception.message)
    if of_object and any(removed.of.fullmatch(of_object[1]) and of_object[2] in removed.names for removed in rules.removed_attributes):
        return "api_changed"
    keyword = re.search(r"([\w.]+)\(\) got an unexpected keyword argument ['\"](\w+)['\"]", exception.message)
    if keyword:
        function, name = keyword.groups()
        known = any(
            (function == "__init__" or removed.of.fullmatch(function)) and name in removed.names for removed in rules.removed_keywords
        )
        return "api_changed" if known else "own_logic"
    if rules.removed_text.search(exception.message):
        return "api_changed"
    return None


def _is_own(module: str, exception: RaisedException) -> bool:
    """Whether a file of the traceback outside the installed packages bears the module's name."""
    own = [path for path, _ in exception.frames if not SITE_PACKAGES.search(path)]
    return any(module in (Path(path).stem, *Path(path).parts[-3:-1]) for path in own)


def _from_exit_code(exit_code: int | None, rules: Rules) -> Typed | None:
    if exit_code in rules.exit_codes:
        return Typed(rules.exit_codes[exit_code], f"exit code {exit_code}")
    return None


def _first_match(rules: tuple[Rule, ...], text: str) -> Typed | None:
    for rule in rules:
        match = rule.pattern.search(text)
        if match:
            return Typed(rule.type, match[0].strip()[:EVIDENCE_CHARS])
    return None


def _last_line(text: str) -> str:
    return next((line.strip()[:EVIDENCE_CHARS] for line in reversed(text.split("\n")) if line.strip()), "")


def _compile(rules: list[dict[str, str]]) -> tuple[Rule, ...]:
    return tuple(Rule(rule["type"], re.compile(rule["pattern"], re.MULTILINE)) for rule in rules)


def _removed(rows: list[dict[str, Any]]) -> tuple[Removed, ...]:
    return tuple(Removed(re.compile(row["of"]), frozenset(str(name) for name in row["names"])) for row in rows)


def _inline(patterns: list[str]) -> Iterator[str]:
    """Expressions whose leading (?i) is turned into a group, so that they can be joined."""
    for pattern in patterns:
        yield f"(?i:{pattern[4:]})" if pattern.startswith("(?i)") else pattern
