"""One module per benchmark: from the files of a source to a task and the members of its two bundles.

The private bundle is the contract with the graders. It always holds `grading.json`, one JSON object with `benchmark`, `id`, `kind`, `metric`
({name, greater_is_better}) and `deliverables` (list of names), and beside these what the benchmark's grader needs:

| benchmark | in grading.json | other members |
|---|---|---|
| dabench | `tolerance` | `answers.json`: list of [name, value], texts, in the label's order with its repetitions |
| dacode | `evaluation`: the task's line of eval_all.jsonl (config, func, result, options) | `gold/FILE` for every gold file that is in the source |
| dsbench | `baseline`, `reference`: the published scores, or null | `answers.csv`, `evaluate.py`: the competition's own script |
| mlgym | `entrypoint`, `baseline_scores`, `evaluation`: script names, `timeout_s` | `evaluation/FILE`, `gold/FILE` |
| mlagentbench | `baseline`: score of the starter code, or null | `scripts/FILE`: the task's scripts folder, `env/FILE`: the starter files as shipped |
| rebench | `family`, `start`, `reference`, `aggregate` (min, max, last) | none |
| openml | `classes`, `folds`: number | `answers.csv`: row_id, repeat, fold, target |
| mlebench | `competition`, `answers`: name of the answers file, `sample_submission`, `gold_submission` (or null) | `private/FILE` |
| paperbench | `code_development_only`: bool | `rubric.json`, `blacklist.txt` |
"""
