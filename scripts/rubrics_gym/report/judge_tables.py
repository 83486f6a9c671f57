"""Every table about the judges, from their verdicts on the commands that really ran."""

from __future__ import annotations

from collections.abc import Mapping

from rubrics_gym.judge.columns import Judged
from rubrics_gym.judge.curves import calibration, curve
from rubrics_gym.judge.exposure import Bins, by_category, by_rubric, confusion, funnel
from rubrics_gym.judge.measuring import precision_recall, recall_by_type
from rubrics_gym.judge.noise import judge_noise
from rubrics_gym.judge.pairs import compare
from rubrics_gym.judge.reweighting import Mix, categories, failure_types, reweighted
from rubrics_gym.judge.wrong_results import Ending, by_cause
from rubrics_gym.report import judge_specs as specs
from rubrics_gym.report import judges
from rubrics_gym.report.evaluation_specs import JUDGE_NOISE
from rubrics_gym.report.table_spec import TableSpec
from rubrics_gym.report.writing import Row
from rubrics_gym.settings.rules import MeasureJudge

JUDGE_TABLES: dict[str, TableSpec] = {
    spec.name: spec
    for spec in (
        specs.PRECISION_RECALL,
        specs.JUDGE_MEASURES,
        specs.RECALL_BY_TYPE,
        specs.JUDGE_CATEGORIES,
        specs.JUDGE_CONFUSION,
        specs.JUDGE_RUBRICS,
        specs.JUDGE_PAIRS,
        specs.CURVE,
        specs.CALIBRATION,
        specs.WRONG_RESULTS,
        specs.FUNNEL,
        JUDGE_NOISE,
        specs.REWEIGHTED,
    )
}


def judge_tables(
    replayed: Mapping[str, Judged],
    baselines: Mapping[str, Judged],
    bins: Bins,
    endings: Mapping[str, Ending],
    settings: MeasureJudge,
    sizes: Mapping[str, int],
    mixes: Mapping[str, Mix],
    shadows: Mapping[str, Mix],
) -> dict[str, list[Row]]:
    """Table name -> rows. `replayed` are the judges in the order of the evaluation, `baselines` what needs no judge, over the same commands;
    `bins` are the categories of the commands that failed, `endings` how the episodes ended, `sizes` the rubrics of each library, `mixes` the study's
    distributions by category, `shadows` the judges' own arms by type of failure."""
    confidence, statistics = settings.statistics.confidence, settings.statistics
    judged = list(replayed.values())
    held = [one for one in judged if one.library is not None]
    scored = [*judged, *(one for name, one in baselines.items() if name == "static_checks")]
    competitions = max((len(one.cluster_names) for one in scored), default=0)
    table = precision_recall({**replayed, **baselines}, baselines=baselines, confidence=confidence)
    pairs = compare(replayed, settings.pairs, confidence, statistics.draws, settings.seed)
    return {
        "precision_recall": judges.precision_recall_rows(table, settings, sizes),
        "judge_measures": judges.measure_rows(table, settings),
        "recall_by_type": judges.type_recall_rows([line for one in scored for line in recall_by_type(one, confidence)], settings),
        "judge_categories": judges.category_rows(
            [line for one in judged for line in by_category(one, bins, confidence)], settings, competitions
        ),
        "judge_confusion": judges.confusion_rows([cell for one in held for cell in confusion(one, bins)], settings),
        "judge_rubrics": judges.rubric_rows([line for one in held for line in by_rubric(one, bins, confidence)], settings, competitions),
        "judge_pairs": judges.pair_rows(pairs, settings),
        "pr_curve": judges.curve_rows([point for one in scored for point in curve(one, confidence)], settings),
        "calibration": judges.calibration_rows([bin for one in judged for bin in calibration(one, confidence)], settings),
        "wrong_results": judges.wrong_result_rows([line for one in held for line in by_cause(one, endings, confidence)], settings),
        "funnel": judges.funnel_rows([line for one in held for line in funnel(one, bins, confidence)], settings),
        "reweighted": judges.reweighted_rows(
            [
                line
                for name, one in replayed.items()
                for line in [
                    *(reweighted(one, categories(one, bins), target, "category", mix, confidence) for target, mix in mixes.items()),
                    *(
                        reweighted(one, failure_types(one), "shadow", "failure type", shadows[name], confidence)
                        for _ in shadows.keys() & {name}
                    ),
                ]
            ],
            settings,
        ),
        "judge_noise": judges.judge_noise_rows({name: judge_noise(one, confidence) for name, one in replayed.items()}, settings),
    }
