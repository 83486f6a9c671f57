"""Merge the candidates of one library that say the same thing, and show what other thresholds would do."""

from pathlib import Path

from rubrics_gym.libraries.calibration import calibration, write_calibration
from rubrics_gym.libraries.encoder import Encoder
from rubrics_gym.libraries.merging import merge, merging_text, tfidf_vectors
from rubrics_gym.records.files import read_records, write_json_lines
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import MergeLibrary
from rubrics_gym.settings.study import Likeness

with job(snakemake, MergeLibrary) as (settings, log):
    candidates = read_records(snakemake.input.candidates, Rubric)
    if settings.merge.by is Likeness.TFIDF:
        vectors = tfidf_vectors(candidates)
    else:
        vectors = Encoder(Path(snakemake.input.encoder).parent).encode([merging_text(rubric) for rubric in candidates])
    rubrics = merge(candidates, vectors, settings.merge)
    write_json_lines(snakemake.output.merged, rubrics)
    write_calibration(snakemake.output.calibration, calibration(candidates, vectors, settings.merge.rounds))
    log.info("%d candidates became %d rubrics", len(candidates), len(rubrics))
