"""Embed the texts of a library's rubrics for retrieval."""

from pathlib import Path

import numpy as np

from rubrics_gym.libraries.encoder import Encoder
from rubrics_gym.records.files import read_records, whole_file
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.settings.job import job
from rubrics_gym.settings.slices import Nothing

with job(snakemake, Nothing) as (settings, log):
    texts = [rubric.text for rubric in read_records(snakemake.input.rubrics, Rubric)]
    encoder = Encoder(Path(snakemake.input.encoder).parent)
    with whole_file(snakemake.output.embeddings) as temporary, open(temporary, "wb") as file:
        np.save(file, encoder.encode(texts))
    log.info("%d rubrics, %d longer than the encoder reads", len(texts), sum(encoder.truncated(texts)))
