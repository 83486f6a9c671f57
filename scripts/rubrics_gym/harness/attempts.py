"""Around an episode: the places it needs, and what it leaves in the folder of its attempt."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Self

from rubrics_gym.harness.artifacts import write_artifacts
from rubrics_gym.harness.episode import Attempt, run_episode
from rubrics_gym.harness.execution import Judge
from rubrics_gym.harness.recorder import Recorder
from rubrics_gym.harness.sandbox import Sandbox
from rubrics_gym.models.client import Client
from rubrics_gym.models.prompts import Prompt
from rubrics_gym.records.tasks import Task
from rubrics_gym.records.trajectory import EndEvent
from rubrics_gym.settings.places import wheel_folder
from rubrics_gym.settings.study import Sandbox as SandboxSettings
from rubrics_gym.tasks.bundles import unpack_public


def agent_seed(seed: int, *parts: str) -> int:
    """The agent's seed of one attempt: a function of the study's seed and the attempt's place, in [0, 2^31)."""
    return int.from_bytes(hashlib.sha256("/".join([str(seed), *parts]).encode()).digest()[:4]) >> 1


class WorkPlace:
    """Temporary folders of one attempt: the unpacked public bundle, the agent's work folder, the full outputs. Gone afterwards."""

    def __init__(self, public: str | Path):
        self._public = public

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="rubrics-gym-")
        top = Path(self._folder.name)
        self.task: Task = unpack_public(self._public, top)
        self.data, self.work, self.outputs = top / "data", top / "work", top / "outputs"
        self.work.mkdir()
        self.outputs.mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


def record_attempt(
    attempt: Attempt,
    client: Client,
    judge: Judge | None,
    settings: SandboxSettings,
    place: WorkPlace,
    folder: Path,
    agent_prompt: Prompt,
    feedback: Prompt,
) -> EndEvent:
    """Run an episode in a sandbox and leave trajectory.jsonl and artifacts.tar.gz in `folder`."""
    with (
        Sandbox(settings, attempt.limits, place.work, place.data, wheel_folder()) as sandbox,
        Recorder(folder / "trajectory.jsonl") as recorder,
    ):
        end = run_episode(attempt, client, judge, sandbox, recorder, agent_prompt, feedback, place.outputs)
    write_artifacts(folder / "artifacts.tar.gz", place.work, place.outputs)
    return end
