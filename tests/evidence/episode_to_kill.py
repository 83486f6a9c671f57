"""One attempt at a fixed unit, with a scripted agent whose commands never stop coming. Call: python episode_to_kill.py FOLDER MARK

Prints `running` when the first command runs. It is there to be killed; without that it would take ten minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from rubrics_gym.harness.episode import Attempt, run_episode
from rubrics_gym.harness.recorder import Recorder
from rubrics_gym.harness.sandbox import Sandbox
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.settings.study import Arm, CodeRuns, Limits, ModelSettings, SandboxPhase
from rubrics_gym.store.attempts import AttemptStore
from tests.unit.test_harness_episode import PROMPTS, TASK, ScriptedModel

UNIT, KEY = "episodes/execute/0/packaged/a-task", "0123456789abcdef"


def main(folder: Path, mark: str) -> None:
    (folder / "data").mkdir(exist_ok=True)
    turns = [f"echo step {number}; (setsid sleep {mark} &); sleep 0.3" for number in range(2000)]
    limits = Limits(steps=2000)
    with AttemptStore(folder / "store").begin(UNIT, KEY) as attempt:
        what = Attempt(
            UNIT, attempt.number, TASK, "execute", Arm(code_runs=CodeRuns.EXECUTE), limits, ModelSettings(model="scripted"), 1, "c"
        )
        with (
            Sandbox(SandboxPhase(), limits, folder / f"work{attempt.number}", folder / "data") as sandbox,
            Recorder(attempt.folder / "trajectory.jsonl") as recorder,
        ):
            print("running", flush=True)
            prompts = load_prompt(str(PROMPTS / "agent.yaml")), load_prompt(str(PROMPTS / "feedback.yaml"))
            run_episode(what, ScriptedModel(turns), None, sandbox, recorder, *prompts)  # type: ignore[arg-type]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
