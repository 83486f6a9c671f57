"""The simulated agent at work on packaged tasks: its commands are really run, in a plain subprocess."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rubrics_gym.grading.attempts import grade
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.models.request import Message, Request, ToolResult
from rubrics_gym.providers.simulated.agent import Agent
from rubrics_gym.settings.study import AgentSimulation
from rubrics_gym.tasks.bundles import build_task
from rubrics_gym.tasks.unpacking import unpack_public

ROOT = Path(__file__).resolve().parents[2]
PROMPT = load_prompt(str(ROOT / "resources/prompts/agent.yaml"))
FEEDBACK = load_prompt(str(ROOT / "resources/prompts/feedback.yaml"))
FAULTLESS = AgentSimulation(mistakes_per_program=0)


class Bench:
    """A work folder with the public files of a task, and the agent's commands run in it."""

    def __init__(self, task_id: str, folder: Path):
        self.private, self.work = folder / "private.tar.gz", folder / "work"
        self.work.mkdir()
        build_task("packaged", task_id, folder / "public.tar.gz", self.private)
        self.task = unpack_public(folder / "public.tar.gz", self.work)
        self.plans: list[dict[str, object]] = []
        self.commands: list[str] = []

    def shell(self, command: str) -> str:
        """What the agent is shown for one command. Nothing can be installed here."""
        self.commands.append(command)
        if command.startswith("pip install"):
            return FEEDBACK.render("executed", output="ERROR: No matching distribution found", exit_code=1)
        environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
        command = command.replace("/workspace", str(self.work))
        done = subprocess.run(["bash", "-c", command], cwd=self.work, env=environment, capture_output=True, text=True, timeout=120)
        output = (done.stdout + done.stderr).replace(str(self.work), "/workspace")
        return FEEDBACK.render("executed", output=output.rstrip("\n"), exit_code=done.returncode)

    def episode(self, seed: int, settings: AgentSimulation) -> None:
        """Run an episode to its `submit`."""
        agent = Agent(settings, self.plans.append)
        system = PROMPT.render(
            "system", deliverable=self.task.deliverable, final_s="60", steps=30, command_s="60", memory_mb=3000, network="index"
        )
        messages: tuple[Message, ...] = (
            Message(role="user", text=PROMPT.render("user", statement=self.task.statement, files="\n".join(self.task.files))),
        )
        while "submit" not in self.commands:
            response = agent.answer(Request(purpose="agent", model="m", system=system, messages=messages, seed=seed))
            calls = response.tool_calls
            results = tuple(
                ToolResult(id=call.id, content="" if call.arguments["command"] == "submit" else self.shell(call.arguments["command"]))
                for call in calls
            )
            self.commands += [call.arguments["command"] for call in calls if call.arguments["command"] == "submit"]
            messages += (Message(role="assistant", text=response.text, tool_calls=calls), Message(role="user", tool_results=results))

    @property
    def ended_wrong(self) -> bool | None:
        return grade(self.private, self.work / self.task.deliverable, None).ended_wrong


@pytest.mark.parametrize(
    "task_id",
    [
        "gapminder-africa",
        "engel-food-spending",
        "star98-class-size",
        "continents-life-expectancy",
        "stocks-yearly-prices",
        "sf-temps-monthly",
    ],
)
def test_without_mistakes_it_answers_right(task_id: str, tmp_path: Path) -> None:
    bench = Bench(task_id, tmp_path)
    bench.episode(1, FAULTLESS)
    assert bench.ended_wrong is False
    assert all(plan["plants"] == [] for plan in bench.plans)


@pytest.mark.parametrize("task_id", ["penguins-body-mass", "default-card-holders"])
def test_without_mistakes_it_lands_above_the_median_of_the_references(task_id: str, tmp_path: Path) -> None:
    bench = Bench(task_id, tmp_path)
    bench.episode(2, FAULTLESS)
    assert bench.ended_wrong is False


@pytest.mark.parametrize(
    "kind", ["runtime:own_logic", "runtime:api_changed", "runtime:file_not_found", "output_missing_or_overwritten", "output_format"]
)
def test_what_is_shown_by_real_runs_is_repaired(kind: str, tmp_path: Path) -> None:
    """A first program with a mistake is written, its run shows it, and the last program is right."""
    settings = AgentSimulation(mix={kind: 1.0}, mistakes_per_program=2.0, repair_success=1.0)
    bench = Bench("gapminder-africa", tmp_path)
    bench.episode(3, settings)
    assert bench.plans[0]["plants"]
    assert bench.ended_wrong is False


def test_mistakes_that_nothing_shows_stay(tmp_path: Path) -> None:
    """A wrong scope runs through without a word, so the agent hands it in."""
    bench = Bench("gapminder-africa", tmp_path)
    bench.episode(3, AgentSimulation(mix={"statistic_wrong_scope": 1.0}, mistakes_per_program=3.0))
    assert bench.plans[0]["plants"]
    assert bench.ended_wrong is True
