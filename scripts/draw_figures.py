"""Draw the figures of the tables as SVG."""

from pathlib import Path

from rubrics_gym.records.files import write_text
from rubrics_gym.report.figures import contrasts_figure, failure_mix_figure, precision_recall_figure, validity_figure
from rubrics_gym.report.writing import read_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.slices import Nothing

FIGURES = {
    "failure_mix": (failure_mix_figure, "failure_mix"),
    "validity": (validity_figure, "arms"),
    "contrasts": (contrasts_figure, "contrasts"),
    "precision_recall": (precision_recall_figure, "precision_recall"),
}

with job(snakemake, Nothing) as (settings, log):
    tables = {Path(path).stem: path for path in snakemake.input.tables}
    for name, (draw, table) in FIGURES.items():
        if table in tables:
            write_text(f"{snakemake.output.figures}/{name}.svg", draw(read_table(tables[table])))
            log.info("drew %s", name)
