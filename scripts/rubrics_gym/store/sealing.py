"""A finished collection under seal: the hashes of its rollouts, checked whenever a workflow starts."""

from __future__ import annotations

import hashlib
from pathlib import Path

from rubrics_gym.records.files import DamagedFile, read_json, write_json

SEAL = "sealed.json"
KEPT = ("trajectory.jsonl", "artifacts.tar.gz", "requests.jsonl", "attempts.jsonl")


def seal(folder: Path) -> int:
    """Write the seal of a collection's folder (BENCHMARK/TASK/ATTEMPT below it); gives the number of rollouts. DamagedFile when it is unfinished."""
    rollouts = sorted(path.parent for path in folder.glob("*/*/*/trajectory.jsonl"))
    files = [rollout / name for rollout in rollouts for name in KEPT]
    missing = next((path for path in files if not path.exists()), None)
    if missing or not rollouts:
        raise DamagedFile(f"{missing or folder}: missing. Finish the collection before it is sealed: snakemake results/dashboard.html")
    write_json(folder / SEAL, {"rollouts": len(rollouts), "sha256": {str(path.relative_to(folder)): _sha256(path) for path in files}})
    return len(rollouts)


def check_seal(folder: Path) -> None:
    """DamagedFile names the first file of a sealed collection that is missing or not what was sealed."""
    for name, expected in read_json(folder / SEAL)["sha256"].items():
        path = folder / name
        if not path.exists() or _sha256(path) != expected:
            raise DamagedFile(
                f"{path}: not what was sealed. Restore it from a backup, or unseal the collection to take its rollouts from the store again."
            )


def _sha256(path: Path) -> str:
    with open(path, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
