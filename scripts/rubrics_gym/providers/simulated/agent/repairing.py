"""Where to look in one's own code after a failure or a remark. Decided from that text and that code alone."""

from __future__ import annotations

import re

from rubrics_gym.providers.simulated.agent.drafting import Draft
from rubrics_gym.providers.simulated.agent.goals import PredictionGoal, QuestionGoal
from rubrics_gym.providers.simulated.agent.reading import Feedback

AT_HAND = {"numpy", "pandas", "scipy", "sklearn", "joblib", "threadpoolctl", "dateutil", "six"}  # what a session has without installing
STANDARD = {
    "os",
    "csv",
    "math",
    "json",
    "time",
    "re",
    "pathlib",
    "itertools",
    "collections",
    "warnings",
    "functools",
    "random",
    "statistics",
}
PIP_NAMES = {
    "sklearn": "scikit-learn",
    "cv2": "opencv-python",
    "yaml": "pyyaml",
    "PIL": "pillow",
    "imblearn": "imbalanced-learn",
    "janitor": "pyjanitor",
}

# What looks slow, hungry or old-fashioned when one reads one's own code again.
SLOW = r"GridSearch|RandomizedSearch|LeaveOneOut|Repeated\w*Fold|n_estimators=\d{5,}|range\(\d{3,}\)|iterrows|max_iter=\d{4,}, tol"
HUNGRY = r"\.outer\(|\[:, None\]|np\.ones\(|size=\(\d{6,}|np\.tile|np\.kron"
OLD = (
    r"applymap|\.append\(|iteritems|np\.(?:float|int|object|bool)\b(?!\d)|sparse=|squared=|fillna\(method|\"auto\"|penalty=\"none\"|multi_class|criterion=\"m|loss=\"(?:least|binary|auto)"
    r"|normalize=|base_estimator|cross_validation|\bImputer\(|error_bad_lines|warn_bad_lines|squeeze=|\], 1\)"
)

_ROLES_OF_PREDICTION = {
    "paths": ("load",), "gaps": ("preprocess", "load"), "speed": ("models", "validate"), "memory": ("target",), "old": ("preprocess",), "checking": ("validate", "models"),
    "metric": ("predict",), "order": ("predict",), "output": ("write",), "scope": ("load", "target"), "logic": ("target", "preprocess"), "parsing": ("features", "load"),
}  # fmt: skip


def _role(draft: Draft, role: str) -> tuple[str, ...]:
    """The parts that do a job in this kind of program."""
    names = draft.program.names
    if isinstance(draft.goal, PredictionGoal):
        return _ROLES_OF_PREDICTION[role]
    work = tuple(name for name in names if name.startswith("value" if isinstance(draft.goal, QuestionGoal) else "step"))
    table = {
        "paths": ("load",),
        "gaps": ("clean",),
        "speed": ("clean",),
        "memory": ("clean",),
        "old": ("load",),
        "output": ("write",),
        "parsing": ("clean",),
        "logic": ("load", *work[:1]),
    }
    return table.get(role, work)


# Words in a remark -> the job of the part that it is about. The first that fits counts.
_CUES: tuple[tuple[str, str], ...] = (
    (r"out of memory|\bmemory\b|\bRAM\b|allocat", "memory"),
    (
        r"time ?limit|time ?out|too (?:slow|long)|runs? (?:too )?long|takes (?:too )?long|\bslow|wall.?clock|exhaustive|grid search|thousands of (?:trees|fits|estimators)|number of fits|time budget|seconds",
        "speed",
    ),
    (r"packag|\bmodules?\b|not installed|\bimports?\b|\binstall|dependenc|third-party", "packages"),
    (r"deprecat|\bAPI\b|removed|renamed|older version|newer version|keyword argument|no longer|library version", "old"),
    (r"missing values?|\bNaN\b|\bnulls?\b|imput|empty cells|incomplete rows|missingness", "gaps"),
    (r"(?:input|data) (?:file|path)|file.{0,20}(?:not exist|not found|not there)|wrong path|FileNotFound|non-existent|\bpaths?\b", "paths"),
    (
        r"never writ|not writ|is written|written (?:to|under|some)|not sav|save|output file|deliverable|column names?|header|index column|id column|row count|number of rows|sample.submission|format|schema|separator",
        "output",
    ),
    (r"hold-?out|held-out|cross-?valid|baseline|validat|overfit|weak model|untuned|generaliz", "checking"),
    (r"\bmetric|threshold|probabilit|class labels|log scale|optimi[sz]", "metric"),
    (r"\border|align|shuffl|sorted|row-wise", "order"),
    (r"thousands separator|percent sign|as text|pars|numeric string|convert", "parsing"),
    (r"filter|subset|scope|condition|denominator|aggregat|group|statistic|ddof|outlier|dropp|duplicates|discard", "scope"),
    (
        r"exception|traceback|crash|raises?|KeyError|TypeError|ValueError|NameError|IndexError|AttributeError|UnboundLocal|undefined|not defined|shape|dtype|fails",
        "logic",
    ),
)


def unusual_imports(draft: Draft) -> tuple[str, ...]:
    """Top-level packages that the program imports and that a session does not have by itself."""
    lines = [line for part in draft.program.parts for line in part.imports]
    tops = [found.group(1) for line in lines if (found := re.match(r"(?:import|from) (\w+)", line))]
    return tuple(dict.fromkeys(top for top in tops if top not in AT_HAND | STANDARD))


def parts_importing(draft: Draft, package: str) -> tuple[str, ...]:
    """Parts that need a package."""
    return tuple(
        part.name
        for part in draft.program.parts
        if any(re.match(rf"(?:import|from) {re.escape(package)}\b", line) for line in part.imports)
    )


def missing_module(output: str) -> str | None:
    """The package that an import did not find, where it is one that could be installed at all."""
    found = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", output)
    top = found.group(1).split(".")[0] if found else None
    return top if top and top not in AT_HAND else None


def _quoted_in_code(draft: Draft, text: str) -> tuple[str, ...]:
    """Parts that hold a name or a snippet that the text puts in quotes, when few do."""
    for snippet in re.findall(r"[`'\"]([^`'\"\n]{3,60})[`'\"]", text):
        parts = draft.program.parts_with(re.escape(snippet))
        if 0 < len(parts) <= 2 and snippet not in {"final.py", "train.csv", "test.csv"}:
            return parts
    return ()


def _line_in_code(draft: Draft, text: str) -> str | None:
    """The part at the last line of final.py that the text names; for an import line, the part that needs it."""
    found = re.findall(r"final\.py\", line (\d+)|final\.py:(\d+)|\bline (\d+)", text)
    if not found:
        return None
    line = int(next(number for number in found[-1] if number))
    part = draft.program.part_at(line)
    if part != "imports":
        return part
    module = re.match(r"(?:from|import) (\S+)", draft.text.splitlines()[line - 1])
    wanted = re.search(r"cannot import name '(\w+)'", text)
    needs = [(item.name, need) for item in draft.program.parts for need in item.imports if module and need.split()[1] == module.group(1)]
    return next((name for name, need in needs if not wanted or wanted.group(1) in need), None)


def after_failure(draft: Draft, feedback: Feedback) -> tuple[str, ...]:
    """The parts to rewrite after a real failure; empty when it cannot be told."""
    output = feedback.output
    if feedback.timed_out or re.search(r"\bKilled\b", output):
        return draft.program.parts_with(SLOW) or _role(draft, "speed")
    own = re.sub(r'(?m)^  File "(?!.*final\.py).*\n(?:    .*\n)?', "", output)
    place = _line_in_code(draft, own if "final.py" in own else output)
    last = output.strip().splitlines()[-2:] if output.strip() else []
    error = " ".join(line for line in last if not line.startswith("[exit"))
    prediction = isinstance(draft.goal, PredictionGoal)
    if prediction and re.search(r"contains NaN|Input \w+ contains", output):
        return ("preprocess",)
    if prediction and re.search(r"could not convert string to float", output) and place in {"validate", "predict"}:
        return ("preprocess",)
    if (
        prediction
        and re.search(r"parameter of (\w+) must be|unexpected keyword argument|has no attribute", error)
        and place in {"validate", "predict"}
    ):
        found = re.search(r"parameter of (\w+) must|(\w+)\.__init__|'(\w+)' object", error)
        named = next((name for name in found.groups() if name), "") if found else ""
        inside = (
            [name for name in draft.program.parts_with(re.escape(named)) if name in {"preprocess", "models", "validate", "predict"}]
            if named
            else []
        )
        return tuple(inside) or (place,)
    if prediction and re.search(r"[Ff]eature names|columns are missing", output):
        return ("target",)
    if prediction and re.search(r"inconsistent numbers of samples", output):
        return ("predict", "target")
    if prediction and re.search(r"No such file|non-existent", output) and place is None:
        return ("load",)
    return (place,) if place else ()


def from_remark(draft: Draft, text: str) -> tuple[str, ...]:
    """The parts that a remark in free English is about; ("packages",) stands for the imports; empty when it says nothing to the agent."""
    role = next((role for pattern, role in _CUES if re.search(pattern, text, flags=re.IGNORECASE)), None)
    if role == "packages":
        return ("packages",) if unusual_imports(draft) else ()
    seen = {"speed": SLOW, "memory": HUNGRY, "old": OLD}.get(role or "")
    if seen and (parts := draft.program.parts_with(seen)):
        return parts[:2]
    if line := _line_in_code(draft, text):
        return (line,)
    if quoted := _quoted_in_code(draft, text):
        return quoted
    return _role(draft, role)[:2] if role else ()
