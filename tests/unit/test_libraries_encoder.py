"""The exported encoder gives the vectors of the original library, and says what it did not read."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from rubrics_gym.libraries import encoder_export
from rubrics_gym.libraries.encoder import Encoder
from rubrics_gym.libraries.encoder_export import AGREEMENT, PROBES, EncoderExportError, export
from rubrics_gym.records.files import DamagedFile


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("encoder") / "export"
    export(target)
    return target


@pytest.mark.slow
def test_vectors_agree_with_the_original_library(folder: Path) -> None:
    from sentence_transformers import SentenceTransformer

    original = SentenceTransformer(encoder_export._local_weights(), device="cpu").encode(list(PROBES), normalize_embeddings=True)
    vectors = Encoder(folder).encode(PROBES)
    assert vectors.shape == (len(PROBES), 384) and vectors.dtype == np.float32
    assert (vectors * original).sum(axis=1).min() > AGREEMENT


@pytest.mark.slow
def test_order_and_batches_do_not_matter(folder: Path) -> None:
    encoder = Encoder(folder)
    texts = [f"{'word ' * (number % 7)}number {number}" for number in range(20)]
    assert np.allclose(encoder.encode(texts, batch=3), np.stack([encoder.encode([text])[0] for text in texts]), atol=1e-5)
    assert encoder.encode([]).shape == (0, 384)


@pytest.mark.slow
def test_truncation_is_reported_and_what_lies_beyond_is_not_read(folder: Path) -> None:
    encoder = Encoder(folder)
    long = "value " * 300
    assert encoder.truncated(["short", long]) == [False, True]
    assert np.allclose(encoder.encode([long]), encoder.encode([long + "something else entirely"]), atol=1e-5)


@pytest.mark.slow
def test_meaning_is_kept(folder: Path) -> None:
    rows = Encoder(folder).encode(
        ["a package that is not installed is imported", "imports a library the environment lacks", "the mean is taken over the wrong rows"]
    )
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2


def test_weights_with_another_digest_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_export, "PACKAGED_SHA256", "0" * 64)
    with pytest.raises(EncoderExportError, match="sha256"):
        encoder_export._local_weights()


def test_a_missing_export_is_named(tmp_path: Path) -> None:
    with pytest.raises(DamagedFile, match=r"manifest\.json"):
        Encoder(tmp_path)


def test_reading_vectors_needs_no_torch() -> None:
    import subprocess

    scripts = Path(encoder_export.__file__).parents[2]
    code = "import sys; import rubrics_gym.libraries.encoder, rubrics_gym.libraries.retrieval; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(scripts)}, check=False).returncode == 0
