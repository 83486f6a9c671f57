"""Embed the texts of a library's rubrics, and build the index that look-ups map."""

from pathlib import Path

import numpy as np

from rubrics_gym.libraries.encoder import Encoder
from rubrics_gym.libraries.gates import require_lessons
from rubrics_gym.libraries.index import build
from rubrics_gym.records.files import read_records, whole_file
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import EmbedLibrary

with job(snakemake, EmbedLibrary) as (settings, log):
    rubrics = read_records(snakemake.input.rubrics, Rubric)
    for path, (name, fewest) in zip(snakemake.input.gated, settings.fewest.items(), strict=True):
        require_lessons(path, name, fewest)
    texts = [rubric.text for rubric in rubrics]
    encoder = Encoder(Path(snakemake.input.encoder).parent)
    vectors = encoder.encode(texts)
    build(snakemake.input.rubrics, rubrics, vectors, snakemake.output.index)
    with whole_file(snakemake.output.embeddings) as temporary, open(temporary, "wb") as file:
        np.save(file, vectors)
    log.info("%d rubrics, %d longer than the encoder reads", len(texts), sum(encoder.truncated(texts)))
