"""Merge the candidates of one library that say the same thing."""

from pathlib import Path

from rubrics_gym.libraries.encoder import Encoder
from rubrics_gym.libraries.merging import merge, merging_text
from rubrics_gym.records.files import read_records, write_json_lines
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.settings.job import job
from rubrics_gym.settings.slices import MergeLibrary

with job(snakemake, MergeLibrary) as (settings, log):
    candidates = read_records(snakemake.input.candidates, Rubric)
    encoder = Encoder(Path(snakemake.input.encoder).parent)
    rubrics = merge(candidates, encoder.encode([merging_text(rubric) for rubric in candidates]), settings.merge)
    write_json_lines(snakemake.output.merged, rubrics)
    log.info("%d candidates became %d rubrics", len(candidates), len(rubrics))
