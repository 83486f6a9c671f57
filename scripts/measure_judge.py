"""Precision and recall of every judge and of the baselines, over the same commands, against what execution did."""

from pathlib import Path

from rubrics_gym.failures.types import load_rules
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.judge.baselines import baselines
from rubrics_gym.judge.columns import judged
from rubrics_gym.judge.exposure import by_category, by_rubric, confusion, funnel
from rubrics_gym.judge.measuring import calibration, curve, precision_recall, recall_by_type
from rubrics_gym.judge.noise import judge_noise
from rubrics_gym.judge.pairs import compare
from rubrics_gym.judge.replay import ReplayedVerdict, replay
from rubrics_gym.judge.static_checks import static_verdict
from rubrics_gym.judge.truth import command_bins, episode_endings
from rubrics_gym.judge.wrong_results import by_cause
from rubrics_gym.records.columns import read_columns
from rubrics_gym.records.failures import Categorized, Cause, FailureEvent
from rubrics_gym.records.files import iter_records, read_json, read_records
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.report import judge_specs, judges
from rubrics_gym.report.evaluation_specs import JUDGE_NOISE
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.slices import MeasureJudge
from rubrics_gym.settings.study import Sight

with job(snakemake, MeasureJudge) as (settings, log):
    rules = load_rules(snakemake.input.types)
    libraries = {Path(path).parent.name: {rubric.id: rubric for rubric in read_records(path, Rubric)} for path in snakemake.input.rubrics}
    sizes = {name: len(rubrics) for name, rubrics in libraries.items()}
    replayed = {
        name: judged(iter_records(path, ReplayedVerdict), libraries.get(settings.judges[name].library or ""))
        for name, path in zip(settings.order, snakemake.input.verdicts, strict=True)
    }
    trajectories = [read_trajectory(path) for path in snakemake.input.trajectories]
    static = judged(row for events in trajectories for row in replay(events, static_verdict, tuple(Sight), rules))
    simple = {"static_checks": static, **baselines(static)}
    confidence, competitions = settings.statistics.confidence, len(static.cluster_names)

    bins = command_bins(
        [event for path in snakemake.input.events for event in read_columns(path, FailureEvent)],
        [answer for path in snakemake.input.categories for answer in read_columns(path, Categorized)],
    )
    grades = [Grade.model_validate(read_json(path)) for path in snakemake.input.grades]
    causes = [cause for path in snakemake.input.causes for cause in read_columns(path, Cause)]
    endings = episode_endings([events[0].unit for events in trajectories], grades, causes)

    table = precision_recall({**replayed, **simple}, baselines=simple, confidence=confidence)
    held = [one for one in replayed.values() if one.library is not None]
    made = {
        "precision_recall": (judge_specs.PRECISION_RECALL, judges.precision_recall_rows(table, settings, sizes)),
        "measures": (judge_specs.JUDGE_MEASURES, judges.measure_rows(table, settings)),
        "by_type": (
            judge_specs.RECALL_BY_TYPE,
            judges.type_recall_rows([line for one in (*replayed.values(), static) for line in recall_by_type(one, confidence)], settings),
        ),
        "categories": (
            judge_specs.JUDGE_CATEGORIES,
            judges.category_rows([line for one in replayed.values() for line in by_category(one, bins, confidence)], settings, competitions),
        ),
        "confusion": (judge_specs.JUDGE_CONFUSION, judges.confusion_rows([cell for one in held for cell in confusion(one, bins)], settings)),
        "rubrics_table": (
            judge_specs.JUDGE_RUBRICS,
            judges.rubric_rows([line for one in held for line in by_rubric(one, bins, confidence)], settings, competitions),
        ),
        "pairs": (
            judge_specs.JUDGE_PAIRS,
            judges.pair_rows(compare(replayed, settings.pairs, confidence, settings.statistics.draws, settings.seed), settings),
        ),
        "curve": (judge_specs.CURVE, judges.curve_rows([point for one in (*replayed.values(), static) for point in curve(one, confidence)], settings)),
        "calibration": (judge_specs.CALIBRATION, judges.calibration_rows([bin for one in replayed.values() for bin in calibration(one, confidence)], settings)),
        "wrong_results": (
            judge_specs.WRONG_RESULTS,
            judges.wrong_result_rows([line for one in held for line in by_cause(one, endings, confidence)], settings),
        ),
        "funnel": (judge_specs.FUNNEL, judges.funnel_rows([line for one in held for line in funnel(one, bins, confidence)], settings)),
        "noise": (JUDGE_NOISE, judges.judge_noise_rows({name: judge_noise(one) for name, one in replayed.items()}, settings)),
    }  # fmt: skip
    for name, (spec, rows) in made.items():
        write_table(spec, rows, snakemake.output[name])
    log.info("%d judges and %d baselines over %d commands", len(replayed), len(simple), len(static))
