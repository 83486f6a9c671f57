"""Sentence vectors from an exported encoder, with a light runtime: onnxruntime and tokenizers, no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rubrics_gym.records.base import Record
from rubrics_gym.records.files import DamagedFile, read_json

if TYPE_CHECKING:
    from tokenizers import Encoding

Vectors = npt.NDArray[np.float32]


class EncoderManifest(Record):
    """What an exported encoder is, and where its weights came from."""

    source: str  # pinned package, or the name of a model on a hub
    weights_sha256: str | None  # of the original weights; None for a hub model
    model_sha256: str
    tokenizer_sha256: str
    dimensions: int
    max_tokens: int  # what lies beyond is not read
    pad_id: int


class Encoder:
    """Texts -> unit vectors. Loading takes a fraction of a second; one thread, so that two runs give the same bits."""

    def __init__(self, folder: str | Path):
        """Open `model.onnx`, `tokenizer.json` and `manifest.json` in `folder`. DamagedFile when one of them is missing."""
        import onnxruntime
        from tokenizers import Tokenizer

        folder = Path(folder)
        for name in ("manifest.json", "tokenizer.json", "model.onnx"):
            if not (folder / name).is_file():
                raise DamagedFile(f"{folder / name}: missing. Export the encoder again (rule export_encoder).")
        self.manifest = EncoderManifest.model_validate(read_json(folder / "manifest.json"))
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])

    def encode(self, texts: Sequence[str], batch: int = 32) -> Vectors:
        """Unit vectors, shape (len(texts), dimensions), float32, in the order given. Tokens beyond `max_tokens` are not read.

        Texts of similar length share a batch, because a batch is padded to its longest text.
        """
        vectors = np.empty((len(texts), self.manifest.dimensions), dtype=np.float32)
        tokens = [self._cut(encoding) for encoding in self._tokenizer.encode_batch([_clean(text) for text in texts])]
        by_length = sorted(range(len(texts)), key=lambda row: len(tokens[row]))
        for start in range(0, len(texts), batch):
            rows = by_length[start : start + batch]
            vectors[rows] = self._run([tokens[row] for row in rows])
        return vectors

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """For each text, whether it is longer than the encoder reads."""
        encodings = self._tokenizer.encode_batch([_clean(text) for text in texts])
        return [len(encoding.ids) > self.manifest.max_tokens for encoding in encodings]

    def _cut(self, encoding: Encoding) -> list[int]:
        """Token ids, at most `max_tokens`; the closing token stays, as in the original library."""
        ids: list[int] = encoding.ids
        limit = self.manifest.max_tokens
        return ids if len(ids) <= limit else ids[: limit - 1] + ids[-1:]

    def _run(self, tokens: list[list[int]]) -> Vectors:
        longest = max(len(ids) for ids in tokens)
        input_ids = np.full((len(tokens), longest), self.manifest.pad_id, dtype=np.int64)
        attention = np.zeros_like(input_ids)
        for row, ids in enumerate(tokens):
            input_ids[row, : len(ids)] = ids
            attention[row, : len(ids)] = 1
        vectors: Vectors = self._session.run(["vectors"], {"input_ids": input_ids, "attention_mask": attention})[0]
        return vectors


def _clean(text: str) -> str:
    """Text that UTF-8 can hold: lone surrogates (from undecodable output) become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
