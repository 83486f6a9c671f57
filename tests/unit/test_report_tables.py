"""Tables: hand-worked numbers, missing outcomes kept visible, no rate without its evidence, the same rows the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.example_report import MEASURE, STUDY, cells, distribution, episodes, grade, ledger_lines, libraries, tables
from tests.table_walk import bare, unsaid

from rubrics_gym.judge.curves import CurvePoint
from rubrics_gym.judge.measuring import TypeRecall
from rubrics_gym.judge.rates import Rate
from rubrics_gym.judge.replay import ReplayedVerdict
from rubrics_gym.records.files import DamagedFile
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.records.trajectory import CheckEvent, CommandEvent, CommandKind, EndEvent, FinalEvent, Route, StartEvent
from rubrics_gym.records.verdicts import Verdict
from rubrics_gym.report.arms import results_per_arm
from rubrics_gym.report.contrasts import contrasts
from rubrics_gym.report.episodes import Episode, read_episode
from rubrics_gym.report.judges import NO_LIBRARY, curve_rows, type_recall_rows
from rubrics_gym.report.ledger import attempt_rows, last_lines, request_rows
from rubrics_gym.report.mixes import failure_mix
from rubrics_gym.report.specs import SPECS
from rubrics_gym.report.table_spec import Column, TableSpec, Unit, estimate, evidence, rate
from rubrics_gym.report.times import AttemptTimes, attempt_times, replaced_row, time_rows
from rubrics_gym.report.writing import format_cell, read_table, table_csv, write_parquet, write_table
from rubrics_gym.settings.rules import MeasureJudge
from rubrics_gym.store.attempts import AttemptRow, AttemptState
from rubrics_gym.store.ledger import State
from rubrics_gym.store.requests import Ledger


def episode(arm: str, task: str, repeat: int, outcome: Outcome | None, **facts: Any) -> Episode:
    return Episode("quick", arm, repeat, "packaged", task, None if outcome is None else grade(outcome, task, **facts))


# ---------------------------------------------------------------- evidence


@pytest.mark.parametrize("name", sorted(SPECS))
def test_no_number_travels_without_its_evidence(name: str) -> None:
    """Every number has an interval or the reason why it has none, and n, clusters, kind of interval, study or distribution, and the simulated label."""
    assert bare(SPECS[name]) == []


def test_a_bare_number_is_found() -> None:
    """The test above can fail: a rate without interval or reason, and one whose table says neither n nor source."""
    kept = evidence()
    assert bare(TableSpec("t", "", "", (Column("rate", "", Unit.SHARE), *kept))) == ["rate"]
    assert bare(TableSpec("t", "", "", (Column("rate", "", Unit.SHARE, exact="a count"), *kept))) == []
    assert bare(TableSpec("t", "", "", (*estimate("rate", ""), *kept[:-2]))) == ["rate"]
    assert bare(TableSpec("t", "", "", (*rate("one", ""), *kept))) == []
    assert bare(TableSpec("t", "", "", (*rate("one", "")[:-3], *kept))) == ["one"]


@pytest.mark.parametrize("name", sorted(set(SPECS) - {"pool"}))
def test_every_row_with_a_number_says_how_many_by_what_method_and_whether_simulated(name: str) -> None:
    spec = SPECS[name]
    rows = tables()[name]
    assert rows and all(row["simulated"] is (name != "published_results") for row in rows)
    assert [unsaid(spec, row) for row in cells(name, rows)] == [[]] * len(rows)


def test_a_row_that_says_too_little_is_found() -> None:
    (row,) = cells("arms", tables()["arms"])[:1]
    assert unsaid(SPECS["arms"], row) == []
    assert "validity" in unsaid(SPECS["arms"], row | {"n": ""}) and "validity" in unsaid(SPECS["arms"], row | {"study": ""})
    assert unsaid(SPECS["arms"], row | {"validity_low": "", "note": ""}) == ["validity"]
    assert unsaid(SPECS["arms"], row | {"validity_low": "", "note": "one cluster"}) == []


@pytest.mark.parametrize("name", sorted(SPECS))
def test_named_interval_columns_exist(name: str) -> None:
    spec = SPECS[name]
    for column in spec.columns:
        for other in filter(None, (column.low, column.high, column.to)):
            assert spec.column(other) is not None


# ---------------------------------------------------------------- arms and contrasts


def test_results_per_arm_by_hand() -> None:
    """Competition a: 2 of 2 valid; b: 1 of 2; c: one lost, one not run. Validity 3 of 4 known, between 3 and 5 of 6 planned."""
    planned = [
        episode("execute", "a", 0, Outcome.VALID, medal="gold", above=True),
        episode("execute", "a", 1, Outcome.VALID, above=False),
        episode("execute", "b", 0, Outcome.NO_SUBMISSION, above=False),
        episode("execute", "b", 1, Outcome.VALID, above=True),
        episode("execute", "c", 0, Outcome.SANDBOX_DIED),
        episode("execute", "c", 1, None),
    ]
    (row,) = results_per_arm(planned, STUDY, simulated=True)
    assert (row["planned"], row["finished"], row["lost"], row["not_run"]) == (6, 4, 1, 1)
    assert (row["valid"], row["medals"], row["above_median"]) == (3, 1, 2)
    assert (row["validity"], row["n"], row["clusters"]) == (0.75, 4, 2)
    assert (row["bound_low"], row["bound_high"]) == pytest.approx((3 / 6, 5 / 6))
    assert row["by_run"] == "1/1/1*, 2/0/1* (1.5)"


@pytest.mark.parametrize("outcome", list(Outcome))
def test_an_infrastructure_loss_is_never_a_failure(outcome: Outcome) -> None:
    (row,) = results_per_arm([episode("execute", "a", 0, outcome)], STUDY, simulated=False)
    agents = {Outcome.VALID, Outcome.INVALID, Outcome.NO_SUBMISSION, Outcome.LIMIT_REACHED, Outcome.AGENT_OUT_OF_MEMORY}
    assert (row["finished"], row["lost"]) == ((1, 0) if outcome in agents else (0, 1))
    assert row["validity"] == (float(outcome is Outcome.VALID) if outcome in agents else None)


def test_contrast_by_hand() -> None:
    """Differences of competition means 1, 0.5, 0: mean 50 pp, sd 0.5, se 28.87, t(2) 4.303: beyond what is possible, so 100 is the end."""
    valid = {"a": (1, 1), "b": (1, 0), "c": (1, 1)}
    other = {"a": (0, 0), "b": (0, 0), "c": (1, 1)}
    planned = [
        episode(arm, task, repeat, Outcome.VALID if won else Outcome.INVALID)
        for arm, outcomes in (("judge", valid), ("floor", other))
        for task, wins in outcomes.items()
        for repeat, won in enumerate(wins)
    ]
    (row,) = contrasts(planned, [("judge", "floor")], STUDY, simulated=True, endpoints=["valid"])
    assert (row["estimate"], row["n"], row["clusters"], row["interval_kind"]) == (pytest.approx(50), 12, 3, "paired_t")
    assert row["low"] == pytest.approx(50 - 4.30265 * 50 / 3**0.5, abs=1e-2) and row["high"] == 100
    assert row["p"] == 0.5 and row["test"] == "sign_flip_exact"
    assert (row["bound_low"], row["bound_high"], row["missing"]) == (pytest.approx(50), pytest.approx(50), 0)


def test_a_competition_that_one_arm_lost_leaves_the_estimate_and_stays_in_the_bounds() -> None:
    planned = [episode("one", task, 0, Outcome.VALID) for task in "abc"]
    planned += [episode("two", "a", 0, Outcome.INVALID), episode("two", "b", 0, Outcome.VALID), episode("two", "c", 0, Outcome.NODE_LOST)]
    (row,) = contrasts(planned, [("one", "two")], STUDY, simulated=True, endpoints=["valid"])
    assert (row["clusters"], row["missing"], row["estimate"]) == (2, 1, 50)
    assert (row["bound_low"], row["bound_high"]) == (pytest.approx(100 / 3), pytest.approx(200 / 3))
    assert "1 competition" in row["note"]


def test_swapping_the_arms_swaps_the_sign() -> None:
    rows = tables()["contrasts"]
    played = episodes()
    pairs = [(row["second"], row["first"]) for row in rows if row["endpoint"] == "valid"]
    for row, mirrored in zip(rows, contrasts(played, pairs, STUDY, simulated=True, endpoints=["valid"]), strict=False):
        assert mirrored["estimate"] == pytest.approx(-row["estimate"]) and mirrored["p"] == row["p"]
        if row["low"] is not None:
            assert mirrored["high"] == pytest.approx(-row["low"])


def test_holm_is_within_an_endpoint() -> None:
    for endpoint in ("valid", "above_median", "normalised_score"):
        family = [row for row in tables()["contrasts"] if row["endpoint"] == endpoint]
        smallest = min(family, key=lambda row: row["p"])
        assert smallest["p_holm"] == pytest.approx(min(1, smallest["p"] * len(family)))


def test_splits_are_not_mixed() -> None:
    other = Episode("full", "one", 0, "packaged", "a", grade(Outcome.VALID, "a"))
    with pytest.raises(ValueError, match="more than one split"):
        contrasts([episode("one", "a", 0, Outcome.VALID), other], [("one", "one")], STUDY, simulated=True)


def test_an_episode_is_read_from_its_place(tmp_path: Path) -> None:
    path = tmp_path / "episodes/quick/notice/2/packaged/a-task/grade.json"
    path.parent.mkdir(parents=True)
    path.write_text(grade(Outcome.VALID, "a-task").model_dump_json())
    read = read_episode(path)
    assert (read.split, read.arm, read.repeat, read.task, read.known) == ("quick", "notice", 2, "a-task", True)
    with pytest.raises(ValueError, match="expected"):
        read_episode(tmp_path / "grade.json")


# ---------------------------------------------------------------- mixes, ledger, times


def test_failure_mix_has_every_series_in_every_bin_and_shares_that_add_up() -> None:
    rows = failure_mix({"pool": distribution("pool", 1)}, libraries())
    for series in ("pool", "mined", "matched"):
        mine = [row for row in rows if row["series"] == series]
        assert sum(row["share"] for row in mine) == pytest.approx(1) and sum(row["count"] for row in mine) == mine[0]["n"]
    assert len({row["bin"] for row in rows}) * 3 == len(rows)
    assert rows[0]["bin"] == "runtime:time_limit" and rows[0]["distribution"].startswith("pool×complete")


def test_requests_balance_and_an_open_one_is_refused() -> None:
    rows = request_rows(ledger_lines(), STUDY, simulated=True)
    for row in rows:
        assert row["reserved"] == row["returned"] + row["failed"] + row["unresolved"] + row["refused"]
    total = rows[-1]
    assert (total["reserved"], total["returned"], total["unresolved"], total["refused"]) == (44, 42, 1, 1)
    assert total["cost_microdollars"] == sum(row["cost_microdollars"] for row in rows[:-1]) == 43 * 420
    still_open = ledger_lines()[0].model_copy(update={"state": State.SENT})
    with pytest.raises(ValueError, match="rollouts/pool/packaged/task-1/0"):
        request_rows([still_open], STUDY, simulated=True)


def test_a_ledger_file_is_read_by_the_last_state_of_every_record(tmp_path: Path) -> None:
    with Ledger(tmp_path, "mine/mined/x") as ledger:
        request = {"purpose": "mine", "model": "m"}
        ledger.returned(ledger.send(request, ledger.key(request, 0), 0, 900), request, {"text": ""}, {"input_tokens": 5}, 70)
        ledger.refuse(request, ledger.key(request, 1), 1, 900, "budget")
    (path,) = tmp_path.rglob("ledger.jsonl")
    assert [line.state for line in last_lines(path)] == [State.RETURNED, State.REFUSED]
    row, _total = request_rows(last_lines(path), STUDY, simulated=False)
    assert (row["stage"], row["role"], row["reserved"], row["cost_microdollars"], row["input_tokens"]) == ("libraries", "miner", 2, 70, 5)


def test_a_judge_that_asked_in_an_episode_belongs_to_the_evaluation() -> None:
    asked = [
        ledger_lines()[40].model_copy(update={"unit": unit, "record": unit})
        for unit in ("judge/episodes/matched/0/packaged/a", "judge/replay/matched/episodes/execute/0/packaged/a")
    ]
    assert [row["stage"] for row in request_rows(asked, STUDY, simulated=True)] == ["evaluate", "replay", "total"]


def test_lost_attempts_come_first() -> None:
    made = [
        AttemptRow(unit=unit, key="k", attempt=number, state=state, begun_at="2026", code="abc")
        for unit, number, state in [("b", 2, AttemptState.COMPLETE), ("a", 1, AttemptState.COMPLETE), ("b", 1, AttemptState.LOST)]
    ]
    rows = attempt_rows(made, {"a": "submitted", "b": "limit:steps"}, STUDY, simulated=True)
    assert [(row["unit"], row["attempt"], row["reason"]) for row in rows] == [("b", 1, ""), ("a", 1, "submitted"), ("b", 2, "limit:steps")]


def test_real_runs_leave_out_installs_and_what_did_not_run() -> None:
    def command(kind: CommandKind, route: Route, seconds: float | None) -> CommandEvent:
        return CommandEvent(step=1, index=0, text="x", kind=kind, route=route, duration_s=seconds)

    events = [
        StartEvent(
            at="", unit="episodes/quick/judge/0/packaged/a", attempt=1, benchmark="packaged", task="a", statement="", deliverable="submission.csv",
            seed=1, model="m", arm="judge", limits={}, protocol="1", code="c",
        ),
        command(CommandKind.CODE_RUN, Route.EXECUTED, 2.0),
        command(CommandKind.CODE_RUN, Route.PREDICTED, None),
        command(CommandKind.INSTALL, Route.EXECUTED, 50.0),
        CheckEvent(step=2, index=0, reason="schedule", text="python final.py", exit_code=0, timed_out=False, duration_s=1.5),
        FinalEvent(exit_code=0, timed_out=False, cap_s=9, duration_s=4.0, deliverable_present=True),
        EndEvent(at="", reason="submitted", outcome=None, steps=3, commands=3, requests=3, cost_microdollars=0, wall_s=60.0, working_s=53.5),
    ]  # fmt: skip
    times = attempt_times(events)
    assert (times.stage, times.group, times.real_run_s, times.final_s, times.episode_s) == ("evaluate", "judge", 3.5, 4.0, 60.0)
    (row,) = time_rows([times], STUDY, simulated=True)
    assert row["real_run_s"] == 3.5 and row["real_run_s_low"] is None and row["note"]
    assert (row["with_final_s"], row["to_ceiling"], row["to_ceiling_note"]) == (64.0, None, "nothing observed")
    other = AttemptTimes("evaluate", "judge", "packaged", "b", 900.0, 1.0, 4.0)
    (wide,) = time_rows([times, other], STUDY, simulated=True)
    assert wide["episode_s_low"] == 0.0 and wide["episode_s_high"] > 900  # no time is below 0
    unmeasured = attempt_times([*events, command(CommandKind.CODE_RUN, Route.EXECUTED, None)])  # as in an imported log
    assert unmeasured.real_run_s is None


def test_a_command_without_a_recorded_time_is_left_out_and_counted() -> None:
    def judged(step: int, seconds: float | None) -> ReplayedVerdict:
        return ReplayedVerdict(
            unit="u", benchmark="b", task="t", step=step, index=0, verdict=Verdict(judge="j", library="l", flagged=False), failed=False,
            failure_type=None, timed_out=False, out_of_memory=False, masked_pipe=False, duration_s=seconds, previous_failed=None,
        )  # fmt: skip

    row = replaced_row([judged(1, 60.0), judged(2, None)], STUDY, simulated=True)
    assert row["minutes"] == row["clean_minutes"] == 1.0 and "1 commands without a recorded time left out" in row["note"]


def test_a_judge_without_a_library_says_so_and_a_baseline_says_nothing() -> None:
    settings = MeasureJudge.model_validate_json(MEASURE)
    none = Rate(estimate=None, low=None, high=None, n=0, clusters=0, interval="ratio_t")
    for judge, said in (("task_only", NO_LIBRARY), ("static_checks", "")):
        (point,) = curve_rows([CurvePoint(judge=judge, library=None, threshold=0.5, flagged=0, precision=none, recall=none)], settings)
        (recall,) = type_recall_rows([TypeRecall(judge=judge, library=None, failure_type="own_logic", recall=none)], settings)
        assert point["library"] == recall["library"] == said


# ---------------------------------------------------------------- writing


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, Unit.SHARE, ""), (1 / 3, Unit.SHARE, "0.3333"), (-0.00001, Unit.POINTS, "0.00"), (-3.14159, Unit.POINTS, "-3.14"),
        (True, Unit.FLAG, "true"), (12, Unit.COUNT, "12"), ("a, b", Unit.TEXT, "a, b"),
    ],
)  # fmt: skip
def test_cells(value: Any, unit: Unit, text: str) -> None:
    assert format_cell(value, unit) == text


def test_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not a finite number"):
        format_cell(float("nan"), Unit.SHARE)


def test_the_same_rows_are_the_same_bytes_and_come_back(tmp_path: Path) -> None:
    again = tables.__wrapped__()
    for name, rows in tables().items():
        spec = SPECS[name]
        assert table_csv(spec, rows) == table_csv(spec, again[name])
        write_table(spec, rows, tmp_path / f"{name}.csv")
        back = read_table(tmp_path / f"{name}.csv")
        assert [list(row) for row in back] == [[column.name for column in spec.columns]] * len(rows)
        assert back == [{column.name: format_cell(row[column.name], column.unit) for column in spec.columns} for row in rows]


def test_parquet_keeps_types_and_missing_values(tmp_path: Path) -> None:
    import pyarrow.parquet

    write_parquet(SPECS["contrasts"], tables()["contrasts"], tmp_path / "contrasts.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "contrasts.parquet")
    assert str(table.schema.field("n").type) == "int64" and str(table.schema.field("simulated").type) == "bool"
    assert table.column("estimate").to_pylist() == [row["estimate"] for row in tables()["contrasts"]]


def test_a_row_that_does_not_fit_its_table_names_what_is_wrong() -> None:
    row = tables()["arms"][0]
    with pytest.raises(ValueError, match="lacks \\['clusters'\\]"):
        table_csv(SPECS["arms"], [{key: value for key, value in row.items() if key != "clusters"}])
    with pytest.raises(ValueError, match="unknown \\['odd'\\]"):
        table_csv(SPECS["arms"], [row | {"odd": 1}])


def test_a_damaged_table_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "arms.csv"
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(DamagedFile, match="line 3"):
        read_table(path)
