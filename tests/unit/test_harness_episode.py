"""The episode loop under every kind of arm, with a scripted model, real commands and a scripted judge."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rubrics_gym.harness.artifacts import write_artifacts
from rubrics_gym.harness.episode import Attempt, run_episode
from rubrics_gym.harness.final import is_lost, run_final
from rubrics_gym.harness.outcomes import attempt_outcome, final_outcome
from rubrics_gym.harness.recorder import Recorder, read_trajectory
from rubrics_gym.harness.sandbox import Sandbox, SandboxDied, SandboxRefused
from rubrics_gym.harness.view import JudgeView
from rubrics_gym.models.client import Answer
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.models.request import ProviderError, Request, Response, ToolCall, Usage
from rubrics_gym.records.archives import read_archive
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.records.tasks import Metric, Task, TaskKind
from rubrics_gym.records.trajectory import (
    CheckEvent,
    CommandEvent,
    CommandKind,
    Event,
    FileEvent,
    FinalEvent,
    MessageEvent,
    Route,
    VerdictEvent,
    WorldEvent,
)
from rubrics_gym.records.verdicts import Criterion, JudgedAction, Verdict
from rubrics_gym.settings.study import Arm, Checks, CodeRuns, Escalate, FinalStart, JudgeSettings, Limits, ModelSettings, Submit
from rubrics_gym.settings.study import Sandbox as Settings

PROMPTS = Path(__file__).parents[2] / "resources" / "prompts"
TASK = Task(
    benchmark="packaged",
    id="a-task",
    kind=TaskKind.QUESTION,
    title="A task",
    statement="How many rows?",
    files=("train.csv",),
    metric=Metric(name="accuracy", greater_is_better=True),
    source="a test",
)
LIMITS = Limits(steps=8, command_s=5, final_s=5, output_chars=1000)
EXECUTE = Arm(code_runs=CodeRuns.EXECUTE)
JUDGED = Arm(code_runs=CodeRuns.JUDGE, judge=JudgeSettings())
WRITE_FINAL = "cat > final.py <<'EOF'\nopen('answer.txt', 'w').write('@rows[2]')\nprint('done')\nEOF"

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


class ScriptedModel:
    """Answers turn by turn with the given command lines; stands in for the client."""

    def __init__(self, turns: Sequence[Any], usage: Usage | None = None):
        self.turns = list(turns)
        self.usage = usage or Usage()
        self.requests: list[Request] = []

    def ask(self, request: Request, occurrence: int = 0) -> Answer:
        self.requests.append(request)
        turn = self.turns[len(self.requests) - 1] if len(self.requests) <= len(self.turns) else "submit"
        if isinstance(turn, Exception):
            raise turn
        lines = [turn] if isinstance(turn, str) else turn
        calls = tuple(ToolCall(id=f"call_{number}", name="bash", arguments={"command": line}) for number, line in enumerate(lines))
        return Answer(Response(tool_calls=calls, usage=self.usage), "key", 5, "live")

    def shown(self) -> list[str]:
        """All tool results of the conversation."""
        return [result.content for message in self.requests[-1].messages for result in message.tool_results]


class ScriptedJudge:
    """Flags programs that hold the word `bad`, and keeps what it saw."""

    def __init__(self) -> None:
        self.actions: list[JudgedAction] = []

    def __call__(self, action: JudgedAction) -> Verdict:
        self.actions.append(action)
        bad = any("bad" in text for text in action.programs.values())
        criterion = Criterion(rubric_id="r1", title="t", text="Says bad. Never say bad.", applicable=True, violated=bad)
        return Verdict(judge="scripted", library=None, criteria=(criterion,), predicted_reward=float(not bad), flagged=bad)


class Run:
    """One finished episode."""

    def __init__(self, folder: Path, arm: Arm, turns: Sequence[Any], limits: Limits = LIMITS, seed: int = 1, usage: Usage | None = None):
        self.folder = folder
        (folder / "data").mkdir(parents=True)
        (folder / "data" / "train.csv").write_text("a,b\n1,2\n3,\n")
        self.model, self.judge = ScriptedModel(turns, usage), ScriptedJudge()
        attempt = Attempt(
            unit="rollouts/x",
            number=1,
            task=TASK,
            arm_name="arm",
            arm=arm,
            limits=limits,
            model=ModelSettings(model="scripted"),
            seed=seed,
            code="c",
        )
        (folder / "outputs").mkdir()
        try:
            with (
                Sandbox(Settings(), limits, folder / "work", folder / "data") as sandbox,
                Recorder(folder / "trajectory.jsonl") as recorder,
            ):
                self.end = run_episode(
                    attempt,
                    self.model,  # type: ignore[arg-type]
                    self.judge,
                    sandbox,
                    recorder,
                    load_prompt(str(PROMPTS / "agent.yaml")),
                    load_prompt(str(PROMPTS / "feedback.yaml")),
                    folder / "outputs",
                )
        except SandboxRefused as refused:
            pytest.skip(str(refused))
        self.events = read_trajectory(folder / "trajectory.jsonl")

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def commands(self) -> list[tuple[CommandKind, Route, int | None]]:
        return [(event.kind, event.route, event.exit_code) for event in self.of(CommandEvent)]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    count = iter(range(100))
    yield lambda *arguments, **named: Run(tmp_path / str(next(count)), *arguments, **named)


def executed(events: list[Event]) -> list[CommandEvent]:
    return [event for event in events if isinstance(event, CommandEvent) and event.route is Route.EXECUTED]


def test_execute(run: Callable[..., Run]) -> None:
    done = run(EXECUTE, ["head -1 data/train.csv; " + WRITE_FINAL, ["python final.py", "cat answer.txt"], "submit"])
    assert done.end.reason == "submitted"
    assert done.end.outcome is None
    assert (done.end.steps, done.end.cost_microdollars) == (3, 15)
    assert done.model.shown() == ["a,b\n[exit code 0]\n[exit code 0]", "done\n[exit code 0]", "@rows[2]\n[exit code 0]"]
    assert done.commands == [
        (CommandKind.INSPECT, Route.EXECUTED, 0),
        (CommandKind.EDIT, Route.EXECUTED, 0),
        (CommandKind.CODE_RUN, Route.EXECUTED, 0),
        (CommandKind.INSPECT, Route.EXECUTED, 0),
        (CommandKind.SUBMIT, Route.EXECUTED, 0),
    ]
    files = {event.path: event for event in done.of(FileEvent)}
    assert set(files) == {"final.py", "answer.txt"}
    assert "print('done')" in files["final.py"].text
    assert files["answer.txt"].sha256 == hashlib.sha256(b"@rows[2]").hexdigest()
    assert attempt_outcome(done.events) is None


def test_notice_withholds_code_alone(run: Callable[..., Run]) -> None:
    done = run(Arm(code_runs=CodeRuns.NOTICE), ['ls data && python -c \'open("x", "w")\' && ls; ls -a'])
    assert done.commands[:4] == [
        (CommandKind.INSPECT, Route.EXECUTED, 0),
        (CommandKind.CODE_RUN, Route.WITHHELD, None),
        (CommandKind.INSPECT, Route.WITHHELD, None),
        (CommandKind.INSPECT, Route.EXECUTED, 0),
    ]
    assert not (done.folder / "work" / "x").exists()
    assert [event.text for event in executed(done.events)] == ["ls data", "ls -a", "submit"]


def test_judge_predicts_and_sees_no_output(run: Callable[..., Run]) -> None:
    turns = [
        "echo 'print(\"bad\" + str(40 + 2))' > a.py",
        "python a.py",
        "echo 'print(1)' > b.py; cd .. && cd workspace && python b.py | tail -1",
        "submit",
    ]
    done = run(JUDGED, turns)
    first, second = done.judge.actions
    assert first.programs == {"a.py": 'print("bad" + str(40 + 2))\n'}
    assert second.programs == {"b.py": "print(1)\n"}
    assert "bad42" not in (done.folder / "trajectory.jsonl").read_text()
    assert first.packages is not None and "pandas" in first.packages
    assert first.files == {"data/train.csv": 11, "a.py": 27}
    assert "'b': int, 1 missing (50.0%)" in (first.data_profile or "")
    shown = done.model.shown()
    assert "Predicted reward: 0.00\n1. [0] Says bad. Never say bad." in shown[1]
    assert "Predicted reward: 1.00\n1. [1]" in shown[2]
    assert [event.route for event in done.of(CommandEvent) if event.kind is CommandKind.CODE_RUN] == [Route.PREDICTED] * 2


def test_a_replay_of_the_record_shows_the_judge_the_same(run: Callable[..., Run]) -> None:
    turns = [
        WRITE_FINAL,
        "python final.py",
        "echo 'x = 1' > m.py && python - <<'EOF'\nimport m\nEOF",
        "echo '1' > final.py; python final.py",
        "submit",
    ]
    done = run(Arm(code_runs=CodeRuns.JUDGE, judge=JudgeSettings(), escalate=Escalate(clean=0.5)), turns)
    view, replayed = JudgeView(JudgeSettings().sees), []
    for event in done.events:
        if isinstance(event, VerdictEvent):
            command = next(e for e in done.of(CommandEvent) if (e.step, e.index) == (event.step, event.index))
            replayed.append(view.action(command.text))
        view.observe(event)
    assert replayed == done.judge.actions
    assert len(replayed) == 3


@pytest.mark.parametrize(("chance", "route"), [(1.0, Route.EXECUTED), (0.0, Route.PREDICTED)])
def test_a_clean_verdict_may_escalate(run: Callable[..., Run], chance: float, route: Route) -> None:
    arm = Arm(code_runs=CodeRuns.JUDGE, judge=JudgeSettings(), escalate=Escalate(clean=chance))
    done = run(arm, ["python -c 'print(6 * 7)' && echo after"])
    code = next(event for event in done.of(CommandEvent) if event.kind is CommandKind.CODE_RUN)
    assert code.route is route
    assert ("draw" in code.reason) == (chance > 0)
    assert ("42" in done.model.shown()[0]) == (route is Route.EXECUTED)
    assert ("after" in done.model.shown()[0]) == (route is Route.EXECUTED)
    assert len(done.of(VerdictEvent)) == 1


def test_checks_run_on_schedule(run: Callable[..., Run]) -> None:
    arm = Arm(code_runs=CodeRuns.CHECKS, checks=Checks(every=2, cap_s=5))
    done = run(arm, [WRITE_FINAL, "python final.py", "python final.py", "python x.py; python y.py", "submit"])
    checks = done.of(CheckEvent)
    assert [(check.step, check.exit_code, check.reason) for check in checks] == [(3, 0, "schedule"), (4, 0, "schedule")]
    assert "It ended with exit code 0.]\ndone" in done.model.shown()[2]
    assert "Check" not in done.model.shown()[1]
    assert not [event for event in executed(done.events) if event.kind is CommandKind.CODE_RUN]


def test_a_crash_holds_the_submission_twice_at_most(run: Callable[..., Run]) -> None:
    arm = Arm(code_runs=CodeRuns.NOTICE, submit=Submit(run_final=True, cap_s=5, hold_on=("crash",), max_holds=2))
    done = run(arm, ["echo 'raise ValueError(\"no\")' > final.py", "submit", "submit", "submit"])
    assert [event.route for event in done.of(CommandEvent) if event.kind is CommandKind.SUBMIT] == [Route.HELD, Route.HELD, Route.EXECUTED]
    assert "sent back: final.py ended with an error" in done.model.shown()[1]
    assert "ValueError: no" in done.model.shown()[1]
    assert done.end.reason == "submitted"


def test_a_check_that_is_cut_off_is_censored(run: Callable[..., Run]) -> None:
    arm = Arm(code_runs=CodeRuns.NOTICE, submit=Submit(run_final=True, cap_s=0.5, hold_on=("crash",)))
    done = run(arm, ["echo 'import time; time.sleep(30)' > final.py", "submit"])
    (check,) = done.of(CheckEvent)
    assert (check.exit_code, check.timed_out) == (None, True)
    assert done.end.reason == "submitted"


def test_a_flag_holds_the_submission(run: Callable[..., Run]) -> None:
    arm = Arm(code_runs=CodeRuns.JUDGE, judge=JudgeSettings(), submit=Submit(hold_on=("flag",), max_holds=1))
    done = run(arm, ["echo 'print(\"bad\")' > final.py", "submit", "echo 'print(1)' > final.py", "submit"])
    assert [event.route for event in done.of(CommandEvent) if event.kind is CommandKind.SUBMIT] == [Route.HELD, Route.EXECUTED]


@pytest.mark.parametrize(
    ("turns", "limits", "reason", "outcome"),
    [
        (["ls"] * 20, Limits(steps=3), "limit:steps", Outcome.LIMIT_REACHED),
        (["sleep 30"] * 20, Limits(wall_s=1.0, command_s=20), "limit:wall", Outcome.LIMIT_REACHED),
        ([[], [], [], "ls"], LIMITS, "no_commands", None),
        ([ProviderError("budget", "too dear")], LIMITS, "limit:cost", Outcome.LIMIT_REACHED),
        ([ProviderError("no_price", "not in the table")], LIMITS, "provider_error:no_price", Outcome.PROVIDER_ERROR),
        (["ls", ProviderError("overloaded", "busy")], LIMITS, "provider_error:overloaded", Outcome.PROVIDER_ERROR),
    ],
)
def test_ends(run: Callable[..., Run], turns: list[Any], limits: Limits, reason: str, outcome: Outcome | None) -> None:
    done = run(EXECUTE, turns, limits)
    assert (done.end.reason, done.end.outcome) == (reason, outcome)
    assert done.events[-1] == done.end


def test_a_turn_without_command_is_answered(run: Callable[..., Run]) -> None:
    done = run(EXECUTE, [[], [], "ls", [], [], "submit"])
    assert done.end.reason == "submitted"
    assert "No command was found" in done.model.requests[1].messages[-1].text


def test_a_dead_sandbox_is_a_loss_and_no_output(run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Sandbox.run

    def dies(self: Sandbox, command: str, *arguments: Any, **named: Any) -> Any:
        if command == "ls":
            raise SandboxDied("the sandbox is gone")
        return whole(self, command, *arguments, **named)

    monkeypatch.setattr(Sandbox, "run", dies)
    done = run(EXECUTE, ["ls"])
    assert (done.end.reason, done.end.outcome) == ("sandbox_died", Outcome.SANDBOX_DIED)
    assert not done.of(CommandEvent)


def test_the_shell_keeps_its_state_within_a_line(run: Callable[..., Run]) -> None:
    done = run(
        EXECUTE,
        [
            "mkdir d; cd d; export X=5; f() { echo f$1; }; pwd; echo $X; f 3",
            "pwd",
            "set -e; false; echo not reached",
            "[ -f no ] || exit 3\necho not reached",
        ],
    )
    shown = done.model.shown()
    assert [line for line in shown[0].splitlines() if not line.startswith("[")] == ["/workspace/d", "5", "f3"]
    assert shown[1].startswith("/workspace\n")
    assert "not reached" not in shown[2] + shown[3]


def test_masked_failures_are_marked(run: Callable[..., Run]) -> None:
    done = run(EXECUTE, ["python -c 'raise ValueError(1)' || echo went on", "python -c 'print(1)' || echo went on"])
    assert [event.masked_pipe for event in done.of(CommandEvent)][:2] == [True, False]


def test_a_world_is_recorded_when_it_changes(run: Callable[..., Run]) -> None:
    done = run(EXECUTE, ["ls", "python -c 'print(1)'", "python -c 'print(2)'", "touch a; python -c 'print(3)'"])
    assert [world.step for world in done.of(WorldEvent)] == [0, 4]


def test_links_out_of_the_work_folder_are_not_followed(run: Callable[..., Run]) -> None:
    done = run(EXECUTE, ["ln -s /etc/shadow answer.txt; ln -s / root; mkfifo pipe; echo 1 > a.txt; ln a.txt b.txt"])
    assert {event.path for event in done.of(FileEvent)} == {"a.txt", "b.txt"}
    write_artifacts(done.folder / "artifacts.tar.gz", done.folder / "work", done.folder / "outputs")
    assert {name for name in read_archive(done.folder / "artifacts.tar.gz") if not name.startswith(".harness")} == {"a.txt", "b.txt"}


def test_same_seed_same_conversation(run: Callable[..., Run]) -> None:
    turns = ["ls; cat data/train.csv", WRITE_FINAL, "python final.py", "python -c 'import time; time.sleep(0.1); 1/0'"]
    arm = Arm(code_runs=CodeRuns.JUDGE, judge=JudgeSettings(), escalate=Escalate(clean=0.5))
    assert run(arm, turns).model.requests == run(arm, turns).model.requests


# ---------------------------------------------------------------- the final run


def _final(done: Run, limits: Limits = LIMITS, start: FinalStart = FinalStart.CLEAN, deliverable: str = "answer.txt") -> FinalEvent:
    write_artifacts(done.folder / "artifacts.tar.gz", done.folder / "work", done.folder / "outputs")
    return run_final(
        deliverable,
        done.folder / "data",
        done.folder / "artifacts.tar.gz",
        Settings(),
        limits,
        start,
        done.folder / "final_run.log",
        done.folder / "final.tar.gz",
    )


def test_final_runs_in_a_clean_sandbox(run: Callable[..., Run]) -> None:
    program = "cat > final.py <<'EOF'\nimport helper, os\nprint(os.listdir('/tmp'))\nassert not os.path.exists('answer.txt')\nopen('answer.txt', 'w').write(helper.text())\nEOF"
    done = run(
        Arm(code_runs=CodeRuns.NOTICE),
        ["touch /tmp/left; echo stale > answer.txt; echo 'text = lambda: open(\"data/train.csv\").readline()' > helper.py", program],
    )
    final = _final(done)
    assert (final.exit_code, final.timed_out, final.deliverable_present) == (0, False, True)
    assert read_archive(done.folder / "final.tar.gz")["answer.txt"] == b"a,b\n"
    log = (done.folder / "final_run.log").read_text()
    assert log.startswith("[]\n")
    assert json.loads(log.splitlines()[-1].removeprefix("[exit] "))["exit_code"] == 0
    assert final_outcome(done.events, final) is None


def test_a_final_run_may_begin_with_all_that_the_agent_left(run: Callable[..., Run]) -> None:
    done = run(EXECUTE, ["echo mine > answer.txt; echo 'print(open(\"answer.txt\").read())' > final.py"])
    assert _final(done).exit_code == 1
    kept = _final(done, start=FinalStart.AS_LEFT)
    assert (kept.exit_code, kept.deliverable_present) == (0, True)


def test_the_agent_is_told_what_is_left(run: Callable[..., Run]) -> None:
    done = run(EXECUTE, ["ls", "ls"], Limits(steps=8, tokens=500))
    told = [event.text for event in done.of(MessageEvent) if event.text.startswith("[Left")]
    assert told == [f"[Left: {left} turns, $3.00, 500 tokens, more than half of the time.]" for left in (7, 6)]


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"working_s": 0.01}, "limit:working"),
        ({"wall_s": 0.01}, "limit:wall"),
        ({"tokens": 100}, "limit:tokens"),
        ({"steps": 2}, "limit:steps"),
    ],
)
def test_each_limit_ends_the_episode(run: Callable[..., Run], limits: dict[str, Any], reason: str) -> None:
    done = run(EXECUTE, ["ls"] * 6, Limits(**limits), usage=Usage(input_tokens=30, output_tokens=5))
    assert (done.end.reason, done.end.outcome) == (reason, Outcome.LIMIT_REACHED)


def test_turns_without_a_command_end_the_episode(run: Callable[..., Run]) -> None:
    assert run(EXECUTE, [[], "ls", [], []], Limits(malformed_turns=2)).end.reason == "no_commands"


def test_a_command_that_no_program_can_be_given_is_malformed(run: Callable[..., Run]) -> None:
    done = run(EXECUTE, ["echo a\0b", "echo fine"])
    assert [event.output_tail for event in done.of(CommandEvent)][:1] == ["fine\n"]


def test_folders_nested_beyond_reach_are_the_agents_failure(run: Callable[..., Run]) -> None:
    nest = "python -c \"import os\nfor i in range(60):\n os.mkdir('d' * 100); os.chdir('d' * 100)\""
    done = run(EXECUTE, [nest, "sleep 0.3"])
    assert done.end.reason == "submitted"
    killed, following, *_ = done.of(CommandEvent)
    assert (killed.exit_code, following.exit_code) == (137, 0)
    assert "quota" in killed.output_tail


def test_a_deliverable_behind_a_link_is_none(run: Callable[..., Run], tmp_path: Path) -> None:
    """A link to a folder leads the harness, which reads it from outside the sandbox, to other files than the program."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "answer.txt").write_text("of the host")
    done = run(EXECUTE, [f'echo \'import os; os.symlink("{tmp_path}/secret", "out")\' > final.py'])
    final = _final(done, deliverable="out/answer.txt")
    assert (final.exit_code, final.deliverable_present) == (0, False)
    assert "out/answer.txt" not in read_archive(done.folder / "final.tar.gz")


def test_a_part_knows_how_the_one_before_it_ended(run: Callable[..., Run]) -> None:
    done = run(EXECUTE, ['sh -c "exit 3"; echo "code $?"; echo $?'])
    assert [event.output_tail for event in done.of(CommandEvent)][1:3] == ["code 3\n", "0\n"]


def test_a_missing_final_py_is_no_submission(run: Callable[..., Run]) -> None:
    done = run(EXECUTE, ["echo '@rows[2]' > answer.txt"])
    final = _final(done)
    assert (final.exit_code, final.deliverable_present) == (2, False)
    assert final_outcome(done.events, final) is Outcome.NO_SUBMISSION


def test_a_lost_final_run_is_not_the_agents_failure(run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(EXECUTE, [WRITE_FINAL])

    def dies(*_: Any) -> Any:
        raise SandboxDied("gone")

    monkeypatch.setattr("rubrics_gym.harness.final.Sandbox.run", dies)
    monkeypatch.setattr("rubrics_gym.harness.sandbox.sandbox.check", lambda *_: None)
    final = _final(done)
    assert is_lost(final)
    assert "[exit]" not in (done.folder / "final_run.log").read_text()
    assert final_outcome(done.events, final) is Outcome.LOST_FINAL


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"exit_code": 1, "timed_out": False, "out_of_memory": True, "deliverable_present": False}, Outcome.AGENT_OUT_OF_MEMORY),
        ({"exit_code": None, "timed_out": True, "deliverable_present": True}, Outcome.LIMIT_REACHED),
        ({"exit_code": 1, "timed_out": False, "deliverable_present": True}, None),
    ],
)
def test_outcomes_of_final_runs(run: Callable[..., Run], fields: dict[str, Any], outcome: Outcome | None) -> None:
    done = run(EXECUTE, ["ls"], Limits(steps=1))
    assert final_outcome(done.events, FinalEvent(cap_s=1, duration_s=1, **fields)) is outcome
    assert attempt_outcome(done.events) is Outcome.LIMIT_REACHED
    cut: list[Event] = done.events[:-1]
    assert attempt_outcome(cut) is Outcome.UNKNOWN
