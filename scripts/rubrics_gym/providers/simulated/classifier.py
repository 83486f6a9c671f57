"""A simulated classifier: sorts a failed command or a reviewer's note into one of the categories that the request lists, by meaning."""

from __future__ import annotations

import hashlib
import json
import random
import re
from typing import Any, NamedTuple

from rubrics_gym.models.request import Request, Response, Usage
from rubrics_gym.settings.study import TextSimulation

# Weight of a phrase by the line of a note in which it stands: what the mistake is called says more than what follows from it.
LINE_WEIGHTS = (("Title: ", 3.0), ("Pattern: ", 2.0), ("Applies when: ", 0.5), ("Detect: ", 1.0), ("Consequence: ", 1.0))
# The second model reads otherwise: every line of a note alike, and of an output all of it where the first reads the last traceback.
CARELESS = "simulated-classifier-2"
EQUAL_WEIGHTS = tuple((start, 1.5) for start, _ in LINE_WEIGHTS)
ABSTAIN_BELOW = 1.0


class Notion(NamedTuple):
    """A kind of mistake: words that point to it in a text, and words by which its entry in a list of definitions is found."""

    signs: tuple[str, ...]
    entry: tuple[str, ...]


STOPPED = ("runtime", "environment failure", "prevents execution")

# Ways for a program to die; `entry` finds the runtime type.
DEATHS: tuple[Notion, ...] = (
    Notion(
        (
            r"ModuleNotFoundError",
            r"not installed",
            r"package .{0,40}(?:lacks|unavailable|being available|not (?:have|list))",
            r"(?:lacks|without) .{0,20}package",
            r"environment lacks",
            r"imports? .{0,60}(?:library|package)",
            r"No module named",
        ),
        ("missing package",),
    ),
    Notion(
        (
            r"no longer (?:has|have|exists|supported)",
            r"removed (?:or|and) renamed",
            r"renamed",
            r"(?:older|old|installed|particular) (?:library )?(?:version|release|name)",
            r"has removed",
            r"unexpected keyword",
            r"has no attribute",
            r"cannot import name",
            r"deprecat",
        ),
        ("api changed",),
    ),
    Notion(
        (
            r"FileNotFound",
            r"No such file",
            r"wrong (?:file )?path",
            r"path that does not exist",
            r"wrong folder",
            r"path is guessed",
            r"file name or folder",
        ),
        ("file not found",),
    ),
    Notion(
        (r"time limit", r"too (?:slow|expensive|long)", r"takes longer", r"Timeout", r"run ?time (?:of|limit)", r"number of fits"),
        ("time limit",),
    ),
    Notion((r"\bmemory\b", r"MemoryError", r"Killed"), ("out of memory",)),
    Notion((r"versions? (?:conflict|do not fit|incompatib)", r"incompatible", r"binary incompat"), ("dependency conflict",)),
    Notion((r"download", r"network (?:is )?unreach", r"could not be fetched", r"ConnectionError"), ("download failed",)),
    Notion((r"disk (?:is )?full", r"No space left", r"quota"), ("disk full",)),
    Notion((r"unrecognized arguments", r"command-line tool", r"usage:"), ("tool misused",)),
    Notion(
        (
            r"(?<!caught )(?<!a caught )\bexception(?! h)(?!s? are swallowed)",
            r"(?:Key|Type|Value|Name|Index|Attribute|Syntax|Indentation|Assertion|ZeroDivision|Unicode)Error",
            r"[Ss]yntax error",
            r"not valid Python",
            r"cannot parse",
            r"never (?:defined|imported)",
            r"before it is defined",
            r"refers to a column",
            r"wrong name",
            r"[Cc]olumn name",
            r"shapes?\b.{0,40}(?:fit|combined)",
            r"different (?:length|columns|shape)",
            r"numbers? only",
            r"where numbers are needed",
            r"enter arithmetic",
            r"[Ee]ncoder meets",
            r"unknown to the fitted",
            r"unhandled",
            r"ends the run",
            r"(?:run|program) (?:stops|dies)",
        ),
        ("own logic",),
    ),
)

# Mistakes of programs that run.
FLAWS: tuple[Notion, ...] = (
    Notion(
        (r"[Mm]issing (?:values?|cells?)(?! (?:by|from|row))", r"\bNaN\b", r"[Ee]mpty cells", r"missing value", r"infinit"),
        ("missingness", "missing, infinite"),
    ),
    Notion(
        (
            r"never written",
            r"without saving",
            r"[Ff]ile is missing",
            r"saving step is missing",
            r"overwrit",
            r"no statement writes",
            r"nothing to grade",
        ),
        ("artifact missing", "not written"),
    ),
    Notion(
        (
            r"before the split",
            r"before they are separated",
            r"test rows (?:are )?(?:mixed|in)\b",
            r"[Tt]rain and test rows are mixed",
            r"leak",
        ),
        ("before the split", "before train and test"),
    ),
    Notion((r"[Cc]luster(?:s|ing)? .{0,40}(?:empty|degenerate|one member|number)",), ("clustering degeneracy",)),
    Notion(
        (
            r"required (?:columns|format|probabilit|number of decimal)",
            r"[Oo]utput format",
            r"format (?:section|asks)",
            r"prescrib",
            r"submission does not have",
            r"instead of (?:the required )?probabilities",
            r"where probabilities",
            r"required range",
            r"rounding",
            r"refused by the grader",
            r"breaks the",
        ),
        ("format or schema", "required form"),
    ),
    Notion(
        (
            r"leading zero",
            r"thousands separator",
            r"decimal comma",
            r"(?:parsed|read) (?:as|in) .{0,20}(?:integer|wrong|wrongly)",
            r"date format",
        ),
        ("parsing", "leading zeros"),
    ),
    Notion(
        (
            r"without (?:any )?(?:a )?validat(?:ion|ing)(?! (?:parameter|curve))",
            r"[Nn]o held-out",
            r"baseline",
            r"validation score",
            r"never measured?",
            r"rows it has not seen",
            r"worse than a constant",
            r"single (?:small )?(?:random )?split",
            r"one random split",
        ),
        ("against a baseline",),
    ),
    Notion(
        (r"configuration file", r"rules of (?:its|their) own", r"[Ii]nvents? (?:a )?rule", r"specification is ignored"),
        ("configuration file ignored", "rules invented"),
    ),
    Notion(
        (
            r"[Ss]cope",
            r"all rows instead",
            r"rows asked for",
            r"condition on (?:the )?rows",
            r"filter (?:of|named)",
            r"[Rr]ows are dropped .{0,80}",
            r"removes? a row",
            r"over the whole table",
            r"set of rows",
            r"describes other rows",
            r"left out of the aggregation",
            r"Grouping or filtering",
        ),
        ("unverified scope", "wrong rows"),
    ),
    Notion((r"transform(?:ed|ation)? .{0,60}(?:not asked|does not ask)", r"scaled .{0,40}although"), ("transformation without",)),
    Notion(
        (
            r"out of (?:order|step)",
            r"no longer match",
            r"[Rr]ows are (?:sorted|reordered|shuffled)",
            r"beside identifiers",
            r"belong to other (?:rows|identifiers)",
            r"by position",
        ),
        ("misaligned",),
    ),
    Notion(
        (r"extremum", r"[Mm]aximum and minimum", r"ranking", r"wrong end", r"[Ss]orting direction", r"\bties\b", r"highest|lowest"),
        ("extremum", "derived quantity"),
    ),
    Notion(
        (r"another metric", r"wrong metric", r"graded (?:one|metric)", r"[Ee]valuation metric", r"another measure", r"[Oo]ptimises"),
        ("wrong metric", "another measure"),
    ),
    Notion((r"one role", r"home and away", r"sender and receiver", r"only one of (?:the )?(?:two )?columns"), ("role column",)),
    Notion((r"figure is (?:made|saved) .{0,60}(?:numbers|data)", r"chart without"), ("visualization",)),
    Notion(
        (r"taken as a success", r"swallow", r"reports success", r"printed (?:message|output)", r"Success is concluded"),
        ("success of a script", "taken as done"),
    ),
    Notion(
        (
            r"definition of the statistic",
            r"variant of a statistical",
            r"[Aa]nother definition",
            r"population formula",
            r"method and its parameters",
            r"decides which definition",
        ),
        ("method or definition substituted", "another test"),
    ),
    Notion(
        (
            r"[Hh]yperparameters?",
            r"[Pp]arameter values?",
            r"[Mm]odel parameters",
            r"without comparison",
            r"rounds or iterations",
            r"number of rounds",
            r"iteration count",
            r"early stopping",
            r"[Ii]terations are fixed",
            r"tunable",
        ),
        ("parameter or threshold",),
    ),
    Notion(
        (r"[Oo]nly part of the data", r"sample of the rows", r"partial data", r"fabricat", r"made-up", r"cut for speed", r"first rows"),
        ("fabricated", "made-up"),
    ),
    Notion(
        (
            r"weak model",
            r"[Ss]core is left on the table",
            r"boosted trees",
            r"averaging",
            r"feature engineering",
            r"derived features",
            r"[Ff]eatures are made",
            r"[Cc]ategorical columns are dropped",
            r"numeric columns",
            r"arbitrary order",
            r"ordered numbers",
            r"[Ss]kewed",
            r"long-tailed",
            r"imbalance",
            r"[Rr]are classes",
            r"indicator",
            r"simple imputation",
            r"scale-sensitive",
            r"different scale",
            r"[Ss]caling is left out",
            r"[Oo]utliers",
            r"[Ee]xtreme values",
            r"modelling choice",
            r"single fit",
            r"[Ss]everal models",
        ),
        ("leaves score on the table",),
    ),
)

EMPTY_CELLS = re.compile(r"contains? (?:NaN|missing|infinity)|float NaN to integer|non-finite values|cannot convert NA\b|NaN values")


class Entry(NamedTuple):
    id: str
    words: str  # title and definition, lower case


class Classifier:
    """Stateless: the answer follows from the request alone. `settings.error` is the chance of another category than the one found."""

    def __init__(self, settings: TextSimulation):
        self._error = settings.error

    def answer(self, request: Request) -> Response:
        """A category, its runtime type, a confidence; or an abstention when no word of the text says anything. Asked for a taxonomy: entries."""
        text = request.messages[-1].text
        if "categories" in (request.output_schema or {}).get("properties", {}):
            return _answer(request, {"categories": _proposed(text)})
        dice = random.Random(hashlib.sha256(f"{request.seed}\n{request.system}\n{text}".encode()).digest())
        categories, types = _listed(request.system)
        category, kind, score = _sorted_out(text, categories, types, careless=request.model == CARELESS)
        if category and dice.random() < self._error:
            category = dice.choice([entry.id for entry in categories if entry.id != category])
            kind = None
        stopped = _find(categories, STOPPED)
        body: dict[str, Any] = {
            "category": category or categories[-1].id,
            "runtime_type": (kind or types[-1].id) if category == stopped else None,
            "confidence": round(score / (score + 2), 2),
            "abstain": category is None,
        }
        return _answer(request, body)


def _answer(request: Request, body: dict[str, Any]) -> Response:
    answer = json.dumps(body)
    read = len(request.system) + len(request.messages[-1].text)
    return Response(text=answer, model=request.model, usage=Usage(input_tokens=read // 4, output_tokens=len(answer) // 4))


def _proposed(text: str) -> list[dict[str, Any]]:
    """Categories for the mistakes that the cases of a batch speak of and that are not among the categories so far."""
    above, _, cases = text.partition("<case>")
    entries = []
    for notion in FLAWS:
        sign = next((match[0] for match in (re.search(sign, cases) for sign in notion.signs) if match), None)
        title = notion.entry[0]
        if sign is not None and title not in above:
            entries.append(
                {
                    "id": re.sub(r"\W+", "_", title),
                    "title": title.capitalize(),
                    "definition": f"What goes wrong is best said as: {title}.",
                    "positive": [f"A case that speaks of {sign!r}."],
                    "negative": ["A program that stops before it comes to that."],
                }
            )
    return entries


def _listed(system: str) -> tuple[list[Entry], list[Entry]]:
    """The categories and the runtime types that the request lists, each as `- id: words`."""
    above, _, below = system.partition("Runtime types:")
    parts = [[Entry(name, words.lower()) for name, words in re.findall(r"^- (\w+): (.*)$", part, re.MULTILINE)] for part in (above, below)]
    return parts[0], parts[1]


def _find(entries: list[Entry], words: tuple[str, ...]) -> str:
    """The entry whose definition speaks of these words; the last (a remainder) when none does."""
    best = max(entries, key=lambda entry: sum(word in entry.words for word in words))
    return best.id if any(word in best.words for word in words) else entries[-1].id


def _sorted_out(text: str, categories: list[Entry], types: list[Entry], careless: bool) -> tuple[str | None, str | None, float]:
    """Category, runtime type and strength of the evidence."""
    note = re.search(r"<rubric>\n(.*)\n</rubric>", text, re.DOTALL)
    if note is None:
        return _failed_command(text, categories, types, careless)
    weights = EQUAL_WEIGHTS if careless else LINE_WEIGHTS
    scored = [(_score(note[1], notion, weights), notion in DEATHS, notion) for notion in (*DEATHS, *FLAWS)]
    score, deadly, notion = max(scored, key=lambda one: one[0])
    if score < ABSTAIN_BELOW:
        return None, None, score
    if deadly:
        return _find(categories, STOPPED), _find(types, notion.entry), score
    return _find(categories, notion.entry), None, score


def _failed_command(text: str, categories: list[Entry], types: list[Entry], careless: bool) -> tuple[str, str | None, float]:
    """A failed command was stopped, unless what stopped it was an empty cell."""
    output = text[text.find("<output>") :]
    last = output[output.rfind("Traceback") :] if "Traceback" in output and not careless else output
    if EMPTY_CELLS.search(last):
        return _find(categories, FLAWS[0].entry), None, 6.0
    if "stopped at the time limit" in text:
        return _find(categories, STOPPED), _find(types, ("time limit",)), 20.0
    death = next((notion for notion in DEATHS if any(re.search(sign, last) for sign in notion.signs)), DEATHS[-1])
    return _find(categories, STOPPED), _find(types, death.entry), 8.0


def _score(note: str, notion: Notion, weights: tuple[tuple[str, float], ...]) -> float:
    return sum(
        weight * sum(re.search(sign, line) is not None for sign in notion.signs)
        for line in note.split("\n")
        for start, weight in weights
        if line.startswith(start)
    )
