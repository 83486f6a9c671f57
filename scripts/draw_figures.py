"""Draw the figures of the tables as SVG."""

from pathlib import Path

from rubrics_gym.records.files import write_text
from rubrics_gym.report import evaluation_figures as evaluation
from rubrics_gym.report.figures import contrasts_figure, failure_mix_figure, precision_recall_figure, validity_figure
from rubrics_gym.report.writing import read_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import Nothing

FIGURES = {
    "failure_mix": (failure_mix_figure, ("failure_mix",)),
    "validity": (validity_figure, ("arms",)),
    "runs": (evaluation.runs_figure, ("arms",)),
    "contrasts": (contrasts_figure, ("contrasts",)),
    "precision_recall": (precision_recall_figure, ("precision_recall",)),
    "pr_curve": (evaluation.pr_curve_figure, ("pr_curve",)),
    "reliability": (evaluation.reliability_figure, ("calibration",)),
    "exposure": (evaluation.exposure_figure, ("exposure",)),
    "funnel": (evaluation.funnel_figure, ("funnel",)),
    "time_validity": (evaluation.time_validity_figure, ("arms", "times")),
    "published": (evaluation.published_figure, ("published_results",)),
}

with job(snakemake, Nothing) as (settings, log):
    tables = {Path(path).stem: path for path in snakemake.input.tables}
    for name, (draw, needs) in FIGURES.items():
        if all(table in tables for table in needs):
            write_text(f"{snakemake.output.figures}/{name}.svg", draw(*(read_table(tables[table]) for table in needs)))
            log.info("drew %s", name)
