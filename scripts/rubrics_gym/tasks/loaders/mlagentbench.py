"""MLAgentBench: a starter program with its data in env/, and scripts/eval.py that scores what lies there."""

from __future__ import annotations

from rubrics_gym.records.tasks import Metric, TaskKind
from rubrics_gym.tasks.built import BuiltTask, built, list_files, outside_task
from rubrics_gym.tasks.catalog import Entry
from rubrics_gym.tasks.sources import SourceFiles, SourceProblem

ROOT = "MLAgentBench/benchmarks"
METRICS = {  # task -> metric and direction, as its eval.py computes it
    "CLRS": ("score", True),
    "amp-parkinsons-disease-progression-prediction": ("smape_plus_1", False),
    "babylm": ("perplexity", False),
    "cifar10": ("accuracy", True),
    "fathomnet": ("map20_and_auc", True),
    "feedback": ("mean_columnwise_rmse", False),
    "house-price": ("mean_absolute_error", False),
    "identify-contrails": ("dice", True),
    "imdb": ("accuracy", True),
    "ogbn-arxiv": ("accuracy", True),
    "spaceship-titanic": ("accuracy", True),
    "vectorization": ("seconds", False),
}
PROGRAM_DELIVERABLES = {"CLRS": ("checkpoints",), "babylm": ("output",)}
PRIVATE_NAMES = ("answer.csv", "test_answer")  # what scripts/prepare.py leaves for scripts/eval.py


def load(source: SourceFiles, entry: Entry) -> BuiltTask:
    """Make one task. SourceProblem when it cannot be graded, or its data were not prepared."""
    top = f"{ROOT}/{entry.id}"
    if f"{top}/scripts/eval.py" not in source.hashes:
        raise SourceProblem(f"mlagentbench {entry.id}: there is no scripts/eval.py, so it cannot be graded")
    if f"{top}/scripts/prepare.py" in source.hashes and not source.exists(f"{top}/scripts/prepared"):
        raise SourceProblem(f"mlagentbench {entry.id}: its data were not prepared. {source.benchmark.source.by_hand}")
    files = {f"data/{path.removeprefix(f'{top}/env/')}": source.path(path) for path in source.below(f"{top}/env/")}
    scripts = {f"scripts/{path.removeprefix(f'{top}/scripts/')}": source.path(path) for path in source.below(f"{top}/scripts/")}
    # the starter files as shipped: what eval.py imports must come from here, never from what the agent left
    starter = {f"env/{path.removeprefix(f'{top}/env/')}": source.path(path) for path in source.hashes if path.startswith(f"{top}/env/")}
    leaked = [name for name in files if name.rsplit("/", 1)[-1] in PRIVATE_NAMES]
    if leaked:
        raise SourceProblem(f"mlagentbench {entry.id}: {leaked[0]} holds answers and lies in env/, where the agent would see it")
    name, greater = METRICS[entry.id]
    deliverables = ("submission.csv",) if entry.kind is TaskKind.PREDICTION else PROGRAM_DELIVERABLES[entry.id]
    asked = "\n".join(f"- `{each}`" for each in deliverables)
    statement = f"{research_problem(source, entry)}\n\n{list_files(files)}\n\n## What to hand in\n{asked}\n"
    task = outside_task(source.benchmark, entry, statement, files, Metric(name=name, greater_is_better=greater), deliverables)
    return built(task, files, {"baseline": entry.facts.get("baseline")}, {**scripts, **starter})


def research_problem(source: SourceFiles, entry: Entry) -> str:
    """What the task asks, and which of its files must be left as they are."""
    top = f"{ROOT}/{entry.id}/scripts"
    words = source.text(f"{top}/research_problem.txt").strip()
    listed = source.text(f"{top}/read_only_files.txt").split() if f"{top}/read_only_files.txt" in source.hashes else []
    kept = f"\n\nDo not change: {', '.join(f'`{name}`' for name in listed)}." if listed else ""
    return words + kept
