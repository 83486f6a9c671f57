"""The simulated agent as a provider: what a request decides, and what it does not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.models.request import Message, ProviderError, Request, Response, ToolResult
from rubrics_gym.providers.simulated.agent import Agent, mistakes
from rubrics_gym.settings.study import AgentSimulation

ROOT = Path(__file__).resolve().parents[2]
PROMPT = load_prompt(str(ROOT / "resources/prompts/agent.yaml"))
FEEDBACK = load_prompt(str(ROOT / "resources/prompts/feedback.yaml"))

STATEMENT = """# Heights of trees

## Description
Trees of a park. Predict the height of a tree. {extra}
For each row of `data/test.csv`, predict `height`.

## Evaluation
Submissions are evaluated by **root mean squared error (RMSE)** between the predicted and the true `height`; lower is better.

## Submission format
For each `tree_id` in `data/test.csv`, write one line to `submission.csv`. Each prediction is a number.

## Files
- `data/train.csv`: 300 rows with the target
- `data/test.csv`: 100 rows without the target
- `data/sample_submission.csv`: a submission in the right format
"""
TRAIN = "tree_id,girth,kind,age,height\n" + "\n".join(
    f"{i},{10 + i % 7},{'oak' if i % 3 else 'elm'},{'' if i % 5 == 0 else 20 + i},{5 + i % 7}.5" for i in range(1, 20)
)
OTHERS = """==> data/test.csv <==
tree_id,girth,kind,age
401,12,oak,31

==> data/sample_submission.csv <==
tree_id,height
401,0
"""


def first_message(
    statement: str = STATEMENT.format(extra=""), files: str = "data/train.csv\ndata/test.csv\ndata/sample_submission.csv"
) -> Message:
    return Message(role="user", text=PROMPT.render("user", statement=statement, files=files))


def request(messages: tuple[Message, ...], seed: int) -> Request:
    system = PROMPT.render("system", deliverable="submission.csv", final_s="12", steps=30, command_s="8", memory_mb=3000, network="index")
    return Request(purpose="agent", model="simulated-agent-1", system=system, messages=messages, seed=seed)


def executed(output: str, exit_code: int = 0) -> str:
    return FEEDBACK.render("executed", output=output, exit_code=exit_code)


def inspect(command: str) -> str | None:
    """What the commands that look at files print; None for the others."""
    if command.startswith("head -n 20"):
        return executed(TRAIN)
    if command.startswith("head -n 8"):
        return executed(OTHERS)
    if command.startswith("grep"):
        return executed("\n".join(line for line in TRAIN.splitlines() if ",," in line))
    return None if "python" in command or command.startswith("pip install") else executed("")


class Episode:
    """Drives an agent with made-up tool results. `shown` gives what comes of a command that is no inspection."""

    def __init__(
        self, seed: int, shown: str, settings: AgentSimulation | None = None, statement: str | None = None, installs: bool = False
    ):
        self.plans: list[dict[str, object]] = []
        self.agent = Agent(settings or AgentSimulation(), self.plans.append)
        self.seed, self.shown, self.installs = seed, shown, installs
        self.messages: tuple[Message, ...] = (first_message() if statement is None else first_message(statement),)
        self.responses: list[Response] = []

    def result(self, command: str) -> str:
        seen = inspect(command)
        if seen is not None:
            return seen
        if command.startswith("pip install"):
            return executed(
                "Successfully installed" if self.installs else "ERROR: No matching distribution found", 0 if self.installs else 1
            )
        return self.shown

    def turn(self) -> Response:
        response = self.agent.answer(request(self.messages, self.seed))
        results = tuple(ToolResult(id=call.id, content=self.result(call.arguments["command"])) for call in response.tool_calls)
        self.messages += (
            Message(role="assistant", text=response.text, tool_calls=response.tool_calls),
            Message(role="user", tool_results=results),
        )
        self.responses.append(response)
        return response

    def run(self, most: int = 30) -> list[str]:
        """Commands until `submit`."""
        commands: list[str] = []
        while len(self.responses) < most and "submit" not in commands:
            commands += [call.arguments["command"] for call in self.turn().tool_calls]
        return commands

    @property
    def programs(self) -> list[str]:
        commands = [call.arguments["command"] for response in self.responses for call in response.tool_calls]
        return [
            found.group(1) for command in commands if (found := re.search(r"cat > final\.py <<'EOF'\n(.*?)EOF", command, flags=re.DOTALL))
        ]


NOTICE = FEEDBACK.render("notice")


@pytest.mark.isolation
def test_the_same_request_gives_the_same_response() -> None:
    first, second = Episode(3, NOTICE), Episode(3, NOTICE)
    assert first.run() == second.run()
    assert first.responses == second.responses


@pytest.mark.isolation
def test_another_process_with_another_hash_seed_gives_the_same_response() -> None:
    episode = Episode(5, NOTICE)
    episode.run()
    asked = request(episode.messages[:-2], 5)
    script = (
        "import sys; from rubrics_gym.models.request import Request; from rubrics_gym.providers.simulated.agent import Agent;"
        "from rubrics_gym.settings.study import AgentSimulation;"
        "print(Agent(AgentSimulation(), lambda entry: None).answer(Request.model_validate_json(sys.stdin.read())).model_dump_json())"
    )
    answers = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT / "scripts")}
        done = subprocess.run(
            [sys.executable, "-c", script], input=asked.model_dump_json(), capture_output=True, text=True, env=environment, check=True
        )
        answers.add(done.stdout.strip())
    assert answers == {episode.responses[-1].model_dump_json()}


def test_different_seeds_give_different_programs() -> None:
    programs = set()
    for seed in range(8):
        episode = Episode(seed, NOTICE)
        episode.run()
        programs.add(episode.programs[0])
    assert len(programs) == 8


@pytest.mark.isolation
def test_without_the_task_in_the_prompt_the_agent_cannot_solve_it() -> None:
    episode = Episode(1, NOTICE, statement="")
    commands = episode.run()
    assert "submit" in commands
    assert episode.plans == []
    assert all("submission.csv" not in program for program in episode.programs)


@pytest.mark.isolation
def test_renaming_the_labels_of_the_plan_changes_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = AgentSimulation(mistakes_per_program=4)
    crash = executed("Traceback (most recent call last):\n  File \"/workspace/final.py\", line 12, in <module>\nKeyError: 'x'", 1)
    before = Episode(11, crash, settings)
    before.run()
    monkeypatch.setattr(mistakes, "LABELS", {kind: f"label {number}" for number, kind in enumerate(reversed(sorted(mistakes.LABELS)))})
    after = Episode(11, crash, settings)
    after.run()
    assert after.responses == before.responses
    assert before.plans != after.plans and len(before.plans) == len(after.plans)


def test_the_plan_names_every_program_that_is_written() -> None:
    import hashlib

    episode = Episode(2, executed("Killed", 137), AgentSimulation(mistakes_per_program=3))
    episode.run()
    assert [plan["sha256"] for plan in episode.plans] == [hashlib.sha256(program.encode()).hexdigest() for program in episode.programs]
    turns = [
        number
        for number, response in enumerate(episode.responses)
        if any("cat > final.py" in call.arguments["command"] for call in response.tool_calls)
    ]
    assert [plan["turn"] for plan in episode.plans] == turns
    assert json.loads(json.dumps(episode.plans)) == episode.plans


def test_a_history_of_another_seed_is_refused() -> None:
    episode = Episode(1, NOTICE)
    for _ in range(4):
        episode.turn()
    with pytest.raises(ProviderError, match="seed 99"):
        episode.agent.answer(request(episode.messages, 99))


def test_usage_grows_with_the_text() -> None:
    episode = Episode(1, NOTICE)
    episode.run()
    tokens = [response.usage.input_tokens for response in episode.responses]
    assert tokens == sorted(tokens) and tokens[0] > 0
    assert all(response.usage.output_tokens > 0 for response in episode.responses)


# ---------------------------------------------------------------- the mix


def kinds(count: int, settings: AgentSimulation, extra: str = "") -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in range(count):
        episode = Episode(seed, NOTICE, settings, statement=STATEMENT.format(extra=extra))
        while not episode.plans:
            episode.turn()
        found.update(str(plant["label"]) for plant in episode.plans[0]["plants"])  # type: ignore[attr-defined]
    return found


def test_the_published_mix_follows_the_phrasing_of_the_task() -> None:
    settings = AgentSimulation(mistakes_per_program=1)
    pool, competition = kinds(120, settings), kinds(120, settings, extra="This is a competition with medals.")
    share = {name: found["runtime:time_limit"] / found.total() for name, found in (("pool", pool), ("competition", competition))}
    assert share["competition"] > 0.35 > 0.25 > share["pool"]
    assert pool["output_missing_or_overwritten"] > 0 == competition["output_missing_or_overwritten"]


@pytest.mark.parametrize("kind", sorted({*mistakes.POOL_MIX, *mistakes.COMPETITION_MIX} - {"statistic_wrong_scope"}))
def test_a_mix_of_one_kind_plants_that_kind(kind: str) -> None:
    found = kinds(3, AgentSimulation(mix={kind: 1.0}, mistakes_per_program=5))
    assert set(found) == {kind}


def test_no_mistakes_when_they_are_switched_off() -> None:
    assert kinds(5, AgentSimulation(mistakes_per_program=0)) == Counter()


# ---------------------------------------------------------------- reacting to what is shown


def test_without_feedback_it_submits_soon() -> None:
    assert len(Episode(4, NOTICE).run()) < 12


def of_kind(kind: str) -> AgentSimulation:
    return AgentSimulation(mix={kind: 1.0}, mistakes_per_program=1.5, repair_success=1.0, spoil_on_false_alarm=0.0)


def seeds_with_a_plant(settings: AgentSimulation, count: int) -> list[int]:
    found: list[int] = []
    for seed in range(50):
        episode = Episode(seed, NOTICE, settings)
        episode.run()
        if len(episode.plans[0]["plants"]) == 1:  # type: ignore[arg-type]
            found.append(seed)
    return found[:count]


@pytest.mark.parametrize(
    ("kind", "remark"),
    [
        ("runtime:time_limit", "Search too large for the time limit. The script takes too long."),
        ("output_format", "Column names differ from the sample. The submission's header is not as required."),
        ("output_missing_or_overwritten", "Deliverable never written: the output file is not saved where it is expected."),
        ("not_validated_against_baseline", "No hold-out check: the model is not compared with a baseline."),
        ("runtime:missing_package", "Imports a package that is not installed in the environment."),
        ("runtime:api_changed", "Uses a keyword argument that was removed in newer versions of the library."),
    ],
)
def test_a_remark_in_plain_words_leads_to_the_part_at_fault(kind: str, remark: str) -> None:
    shown = FEEDBACK.render("verdict", preamble=True, predicted_reward=0.0, criteria=[{"violated": True, "text": remark}])
    settings = of_kind(kind)
    seeds = seeds_with_a_plant(settings, 5)
    cured = []
    for seed in seeds:
        episode = Episode(seed, shown, settings)
        episode.run()
        cured.append(any(not plan["plants"] for plan in episode.plans[1:]))
    assert seeds and sum(cured) >= len(cured) - 1


def test_a_false_alarm_can_spoil_correct_code() -> None:
    shown = FEEDBACK.render(
        "verdict",
        preamble=True,
        predicted_reward=0.0,
        criteria=[{"violated": True, "text": "The metric of the task is not what the predictions serve."}],
    )
    spoilt = {}
    for chance in (0.0, 1.0):
        settings = AgentSimulation(mistakes_per_program=0, spoil_on_false_alarm=chance)
        episodes = [Episode(seed, shown, settings) for seed in range(6)]
        for episode in episodes:
            episode.run()
        spoilt[chance] = sum(bool(plan["plants"]) for episode in episodes for plan in episode.plans)
    assert spoilt[0.0] == 0 < spoilt[1.0]


def test_a_clean_verdict_is_taken_as_done() -> None:
    shown = FEEDBACK.render(
        "verdict", preamble=True, predicted_reward=1.0, criteria=[{"violated": False, "text": "All columns are there."}]
    )
    episode = Episode(6, shown)
    episode.run()
    assert len(episode.programs) == 1


@pytest.mark.parametrize("installs", [True, False])
def test_a_missing_module_is_installed_or_done_without(installs: bool) -> None:
    settings = of_kind("runtime:missing_package")
    for seed in seeds_with_a_plant(settings, 3):
        first = Episode(seed, NOTICE, settings)
        first.run()
        module = next(
            found.group(1)
            for line in first.programs[0].splitlines()
            if (found := re.match(r"(?:import|from) (\w+)", line)) and found.group(1) not in {"numpy", "pandas", "sklearn", "pathlib", "os"}
        )
        episode = Episode(
            seed,
            executed(f"Traceback (most recent call last):\nModuleNotFoundError: No module named '{module}'", 1),
            settings,
            installs=installs,
        )
        commands = episode.run()
        assert any(command.startswith("pip install") for command in commands)
        assert (module in episode.programs[1]) == installs


def test_a_traceback_leads_to_the_line_that_it_names() -> None:
    first = Episode(8, NOTICE, AgentSimulation(mistakes_per_program=0))
    first.run()
    program = first.programs[0]
    line = next(number for number, text in enumerate(program.splitlines(), 1) if "to_csv" in text)
    crash = executed(
        f"Traceback (most recent call last):\n  File \"/workspace/final.py\", line {line}, in <module>\n    x\nKeyError: 'height'", 1
    )
    episode = Episode(8, crash, AgentSimulation(mistakes_per_program=0))
    episode.run()
    before, after = program.splitlines(), episode.programs[1].splitlines()
    assert before[: line - 8] == after[: line - 8]  # what lies well above was left alone


def test_held_submissions_are_worked_on_again() -> None:
    episode = Episode(9, NOTICE, AgentSimulation(mistakes_per_program=0))
    episode.run()
    output = FEEDBACK.render(
        "check",
        seconds="8",
        result="It ended with exit code 1.",
        output='  File "/workspace/final.py", line 20, in <module>\nValueError: x',
    )
    held = FEEDBACK.render("held", reason="final.py ended with an error", output=output)
    last = episode.messages[-1].tool_results[0]
    episode.messages = (*episode.messages[:-1], Message(role="user", tool_results=(ToolResult(id=last.id, content=held),)))
    written = len(episode.programs)
    episode.turn()
    assert len(episode.programs) == written + 1
