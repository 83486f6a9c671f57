"""The recorder, the world as read from outside, the policies, outputs and the conversation's size."""

import hashlib
import os
from pathlib import Path

import pytest

from rubrics_gym.harness import policies
from rubrics_gym.harness.attempts import PLAN, complete_plan
from rubrics_gym.harness.conversation import ContextFull, fitted, size
from rubrics_gym.harness.data_profile import profile_folder
from rubrics_gym.harness.output import Collector, readable
from rubrics_gym.harness.policies import Treatment
from rubrics_gym.harness.recorder import Recorder, is_truncated, read_trajectory
from rubrics_gym.harness.world import WorkFolder
from rubrics_gym.models.request import Message, ToolCall, ToolResult
from rubrics_gym.records.files import DamagedFile, append_json_line, iter_json_lines
from rubrics_gym.records.trajectory import CommandEvent, CommandKind, FileEvent, MessageEvent, Route
from rubrics_gym.records.verdicts import Verdict
from rubrics_gym.settings.study import Arm, Checks, CodeRuns, Escalate, JudgeSettings, Sandbox, Submit


def _command(route: Route, **fields: object) -> CommandEvent:
    return CommandEvent(step=1, index=0, text="python x.py", kind=CommandKind.CODE_RUN, route=route, **fields)  # type: ignore[arg-type]


# ---------------------------------------------------------------- recorder


def test_events_come_back_as_they_were_written(tmp_path: Path) -> None:
    events = [MessageEvent(step=0, role="user", text="é\u2028\n"), _command(Route.EXECUTED, exit_code=0)]
    with Recorder(tmp_path / "t.jsonl") as recorder:
        for event in events:
            recorder.append(event)
            assert read_trajectory(tmp_path / "t.jsonl")[-1] == event  # on disk at once
    assert read_trajectory(tmp_path / "t.jsonl") == events


def test_a_cut_last_line_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "t.jsonl"
    with Recorder(path) as recorder:
        recorder.append(_command(Route.EXECUTED, exit_code=0))
        recorder.append(_command(Route.EXECUTED, exit_code=1))
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert is_truncated(path)
    assert [event.exit_code for event in read_trajectory(path) if isinstance(event, CommandEvent) and event.route is Route.EXECUTED] == [0]
    assert "cut" in caplog.text


def test_damage_inside_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"event":"message","step":"many","role":"user","text":""}\n')
    with pytest.raises(DamagedFile, match=r"t\.jsonl, event 1: message\.step"):
        read_trajectory(path)


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with Recorder(tmp_path / "t.jsonl"), pytest.raises(FileExistsError, match="already recorded"):
        Recorder(tmp_path / "t.jsonl")


def test_a_command_that_did_not_run_but_has_an_outcome_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trajectory.jsonl"
    with Recorder(path) as recorder:
        recorder.append(_command(Route.PREDICTED, exit_code=0))
    with pytest.raises(DamagedFile, match="recorded as predicted, but with the outcome of an execution"):
        read_trajectory(path)


def test_data_profile(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id, age ,kind,kind,größe\n1,3,a,x,1.5\n2,?,b,x,\n3,NA,a,,2\n4,7,a,x,3\n")
    (tmp_path / "notes.txt").write_text("no table")
    assert profile_folder(tmp_path).splitlines() == [
        "data/t.csv: 4 rows, 5 columns",
        "  'id': int, none missing",
        "  ' age ': int, 1 values that are no number (such as '?'), 1 missing (25.0%); odd name: spaces around it",
        "  'kind': text with 2 different values, none missing; odd name: repeated",
        "  'kind': text with 1 different values, 1 missing (25.0%); odd name: repeated",
        "  'größe': float, 1 missing (25.0%); odd name: characters outside ASCII",
        "other files: 1 .txt",
    ]


def test_only_the_first_rows_of_a_large_table_are_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n" + "1\n" * 20_000 + "x\n" * 20_000)
    assert (
        profile_folder(tmp_path) == "data/t.csv: more than 20000 rows (the first 20000 are described), 1 columns\n  'a': int, none missing"
    )


def test_unreadable_tables_do_not_stop_the_profile(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,b\n\xff\xfe,1\n")
    (tmp_path / "b.csv").write_text("")
    assert "not readable as a UTF-8 table" in profile_folder(tmp_path)
    assert "data/b.csv: 0 rows, 0 columns" in profile_folder(tmp_path)


def test_changed_files_are_seen_once(tmp_path: Path) -> None:
    work = WorkFolder(tmp_path)
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "b.csv").write_text("x")
    (tmp_path / ".local" / "lib").mkdir(parents=True)
    (tmp_path / ".local" / "lib" / "c.py").write_text("y")
    assert [(event.path, event.text) for event in work.changes(1)] == [("a.py", "x = 1"), ("b.csv", None)]
    assert work.changes(2) == []
    (tmp_path / "a.py").write_text("x = 2")
    (event,) = work.changes(3)
    assert event.sha256 == hashlib.sha256(b"x = 2").hexdigest()
    assert work.sizes() == {"a.py": 5, "b.csv": 1}


def test_odd_files_do_not_stop_the_record(tmp_path: Path) -> None:
    work = WorkFolder(tmp_path)
    (tmp_path / "closed").mkdir(mode=0)
    (tmp_path / "secret.py").touch(mode=0)
    os.mkfifo(tmp_path / "pipe")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.py")).write_text("x")
    (event,) = work.changes(1)
    assert (event.path, event.text) == ("?.py", "x")
    assert work.sizes() == {"?.py": 1}


def test_installed_packages_are_read_from_their_metadata(tmp_path: Path) -> None:
    metadata = tmp_path / ".local/lib/python3.11/site-packages/Tiny_Pkg-1.2.dist-info/METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Name: tiny-pkg\n")
    odd = Path(os.fsdecode(os.fsencode(metadata.parent.parent) + b"/odd\xff-1.dist-info"))
    odd.mkdir()
    (odd / "METADATA").touch()
    work = WorkFolder(tmp_path)
    work.changes(1)
    versions = work.packages(Sandbox(packages=("numpy",)))
    assert versions["tiny-pkg"] == "1.2"
    assert set(versions) == {"numpy", "tiny-pkg", "odd?"}


# ---------------------------------------------------------------- policies


@pytest.mark.parametrize(
    ("code_runs", "expected"),
    [
        (CodeRuns.EXECUTE, Treatment.EXECUTE),
        (CodeRuns.NOTICE, Treatment.NOTICE),
        (CodeRuns.CHECKS, Treatment.NOTICE),
        (CodeRuns.JUDGE, Treatment.JUDGE),
    ],
)
def test_an_arm_decides_about_code_alone(code_runs: CodeRuns, expected: Treatment) -> None:
    arm = Arm(code_runs=code_runs, judge=JudgeSettings() if code_runs is CodeRuns.JUDGE else None)
    assert policies.treatment(arm, CommandKind.CODE_RUN) is expected
    for kind in [CommandKind.INSTALL, CommandKind.INSPECT, CommandKind.EDIT, CommandKind.OTHER]:
        assert policies.treatment(arm, kind) is Treatment.EXECUTE


def test_the_schedule_counts_commands() -> None:
    arm = Arm(code_runs=CodeRuns.CHECKS, checks=Checks(every=3))
    assert [count for count in range(1, 8) if policies.check_is_due(arm, count)] == [3, 6]


def test_escalation_is_a_seeded_draw() -> None:
    arm = Arm(code_runs=CodeRuns.JUDGE, judge=JudgeSettings(), escalate=Escalate(clean=0.3))
    clean, flagged, silent = (Verdict(judge="j", library=None, flagged=value) for value in (False, True, None))
    draws = [policies.escalation(arm, clean, seed, 1, 0)[0] for seed in range(2000)]
    assert 0.25 < sum(draws) / len(draws) < 0.35
    assert draws == [policies.escalation(arm, clean, seed, 1, 0)[0] for seed in range(2000)]
    assert not any(policies.escalation(arm, other, seed, 1, 0)[0] for other in (flagged, silent) for seed in range(50))


@pytest.mark.parametrize(
    ("holds", "crashed", "flagged", "held"),
    [(0, True, False, True), (0, False, True, True), (0, False, None, False), (1, True, None, True), (2, True, True, False)],
)
def test_holding_a_submission(holds: int, crashed: bool, flagged: bool | None, held: bool) -> None:
    arm = Arm(code_runs=CodeRuns.NOTICE, submit=Submit(run_final=True, hold_on=("crash", "flag"), max_holds=2))
    assert (policies.hold_reason(arm, holds, crashed, flagged) is not None) is held
    assert policies.hold_reason(arm.model_copy(update={"submit": Submit()}), 0, True, True) is None


# ---------------------------------------------------------------- output and conversation


@pytest.mark.parametrize("pieces", [[b"abc"], [b"a" * 60, b"b" * 60], [b"0123456789"] * 50, []])
def test_output_is_counted_whole_and_shown_in_part(pieces: list[bytes]) -> None:
    collector = Collector(100)
    for piece in pieces:
        collector.add(piece)
    output, whole = collector.finish(), b"".join(pieces)
    assert (output.bytes, output.sha256) == (len(whole), hashlib.sha256(whole).hexdigest())
    assert output.cut == max(0, len(whole) - 100)
    if output.cut:
        assert output.text == f"{whole[:50].decode()}\n[... {output.cut} bytes cut ...]\n{whole[-50:].decode()}"
    else:
        assert output.text == output.tail == whole.decode()


def test_output_is_readable_text() -> None:
    assert readable(b"\x1b[1;31mred\x1b[0m\r\nok\x00\xff\n 1%\r 50%\r100%\n") == "red\nok\ufffd\ufffd\n100%\n"


def test_old_outputs_are_elided_with_their_length() -> None:
    def turn(number: int) -> list[Message]:
        call = ToolCall(id=str(number), name="bash", arguments={"command": "ls"})
        return [
            Message(role="assistant", tool_calls=(call,)),
            Message(role="user", tool_results=(ToolResult(id=str(number), content="x" * 1000),)),
        ]

    messages = [Message(role="user", text="task"), *(message for number in range(10) for message in turn(number))]
    short = fitted(messages, 5000)
    assert size(short) <= 5000
    assert short[2].tool_results[0].content == "[output elided: 1000 characters]"
    assert short[-1] == messages[-1]
    assert fitted(messages, 50_000) == tuple(messages)
    with pytest.raises(ContextFull):
        fitted(messages, 500)


# ---------------------------------------------------------------- plans


def test_a_plan_is_completed_by_what_earlier_attempts_said_about_the_same_programs(tmp_path: Path) -> None:
    """An attempt that is made again gets its first answers from the store, where no simulated agent says what it planted."""
    cut_off, again = tmp_path / "001", tmp_path / "002"
    first, second, other = ({"turn": turn, "sha256": name * 64, "plants": []} for turn, name in ((3, "a"), (5, "b"), (7, "c")))
    for folder, lines in ((cut_off, [first, other]), (again, [second])):
        folder.mkdir()
        for line in lines:
            append_json_line(folder / PLAN, line)
    with Recorder(again / "trajectory.jsonl") as recorder:
        for line in (first, second):
            recorder.append(FileEvent(step=1, path="final.py", sha256=line["sha256"], bytes=1))
    complete_plan(again, [cut_off, tmp_path / "killed before it had a plan"])
    assert list(iter_json_lines(again / PLAN)) == [first, second]
