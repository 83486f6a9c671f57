"""One module per benchmark: from the files of a source to a task and the members of its two bundles.

The private bundle is the contract with the graders. It always holds `grading.json`, one JSON object with `benchmark`, `id`, `kind`, `metric`
({name, greater_is_better}) and `deliverables` (list of names), and beside these what the benchmark's grader needs:

| benchmark | in grading.json | other members |
|---|---|---|
| dabench | `tolerance` | `answers.json`: list of [name, value], texts, in the label's order with its repetitions |
| dacode | `evaluation`: the task's line of eval_all.jsonl (config, func, result, options) | `gold/FILE` for every gold file of the task |
| dsbench | `baseline`, `reference`: the published scores; `columns`: of the sample | `answers.csv`; `evaluate.py`: the competition's own script |
| mlgym | `entrypoint`, `baseline_scores`, `evaluation`: script names, `timeout_s` | `evaluation/FILE`: scripts and what they import; `gold/FILE` |
| mlagentbench | `baseline`: score of the starter code, or null | `scripts/FILE`: the task's scripts folder; `env/FILE`: the starter files as shipped |
| rebench | `family`, `start`, `reference`, `aggregate` (min, max, last), `resources` | none |
| openml | `id_column`, `target`, `classes`, `folds`: number | `answers.csv`: row_id, repeat, fold, target |
| mlebench | `competition`; `answers`, `gold_submission` (or null): below private/; `sample_submission`: a member, such as public/FILE | `private/FILE`; the sample; `upstream/FILE`: the modules that grade |
| paperbench | `code_development_only`: bool; `leaves`: number | `rubric.json`, `blacklist.txt`, `judge.addendum.md` where there is one |
"""

from __future__ import annotations

from collections.abc import Callable

from rubrics_gym.tasks.built import BuiltTask
from rubrics_gym.tasks.catalog import CatalogError, Entry
from rubrics_gym.tasks.sources import SourceFiles

Loader = Callable[[SourceFiles, Entry], BuiltTask]
ROOM = __name__


def loader_of(benchmark: str) -> Loader:
    """The loader of a benchmark whose files come from outside. Each is imported where it is used, so that an edit of one rebuilds no other."""
    match benchmark:
        case "dabench":
            from rubrics_gym.tasks.loaders.dabench import load
        case "dacode":
            from rubrics_gym.tasks.loaders.dacode import load
        case "dsbench":
            from rubrics_gym.tasks.loaders.dsbench import load
        case "mlagentbench":
            from rubrics_gym.tasks.loaders.mlagentbench import load
        case "mlebench":
            from rubrics_gym.tasks.loaders.mlebench import load
        case "mlgym":
            from rubrics_gym.tasks.loaders.mlgym import load
        case "openml":
            from rubrics_gym.tasks.loaders.openml import load
        case "paperbench":
            from rubrics_gym.tasks.loaders.paperbench import load
        case "rebench":
            from rubrics_gym.tasks.loaders.rebench import load
        case _:
            raise CatalogError(f"there is no loader for the benchmark {benchmark}: its tasks cannot be prepared")
    return load
