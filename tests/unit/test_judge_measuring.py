"""Precision and recall against execution."""

from __future__ import annotations

import random

import pytest
from sklearn import metrics

from rubrics_gym.judge.measuring import DifferentCommands, baselines, flat, measure, precision_recall, recall_by_type
from rubrics_gym.judge.replay import ReplayedVerdict
from rubrics_gym.records.verdicts import Verdict


def row(
    number: int,
    failed: bool,
    flagged: bool | None,
    task: str = "a",
    reward: float | None = None,
    timed_out: bool = False,
    **changes: object,
) -> ReplayedVerdict:
    reason = None if flagged is not None else "schema_invalid"
    return ReplayedVerdict(
        unit=f"episodes/s/execute/0/packaged/{task}",
        benchmark="packaged",
        task=task,
        step=number,
        index=0,
        verdict=Verdict(judge="j", library="l", flagged=flagged, predicted_reward=reward, abstained=reason),
        failed=failed,
        failure_type=("time_limit" if timed_out else "own_logic") if failed else None,
        timed_out=timed_out,
        out_of_memory=False,
        masked_pipe=False,
        duration_s=1.0,
        previous_failed=None if number == 0 else False,
    ).model_copy(update=changes)


def drawn(count: int, seed: int) -> list[ReplayedVerdict]:
    rng = random.Random(seed)
    rows = []
    for number in range(count):
        failed = rng.random() < 0.3
        reward = round(rng.random() * (0.7 if failed else 1.0), 1)
        rows.append(row(number, failed, reward < 0.5, task=f"t{number % 7}", reward=reward, timed_out=failed and rng.random() < 0.4))
    return rows


@pytest.mark.parametrize("seed", range(5))
def test_every_measure_agrees_with_scikit_learn(seed: int) -> None:
    rows = drawn(200, seed)
    truth = [row.failed for row in rows]
    said = [bool(row.verdict.flagged) for row in rows]
    score = [1 - (row.verdict.predicted_reward or 0.0) for row in rows]
    found = measure(rows)
    tn, fp, fn, tp = metrics.confusion_matrix(truth, said).ravel()
    assert (found.confusion.tp, found.confusion.fp, found.confusion.fn, found.confusion.tn) == (tp, fp, fn, tn)
    expected = {
        "precision": metrics.precision_score(truth, said),
        "recall": metrics.recall_score(truth, said),
        "specificity": metrics.recall_score(truth, said, pos_label=False),
        "npv": metrics.precision_score(truth, said, pos_label=False),
        "f1": metrics.f1_score(truth, said),
        "mcc": metrics.matthews_corrcoef(truth, said),
        "roc_auc": metrics.roc_auc_score(truth, score),
        "average_precision": metrics.average_precision_score(truth, score),
    }
    for name, value in expected.items():
        rate = getattr(found, name)
        assert rate.estimate == pytest.approx(value), name
        assert rate.low <= rate.estimate <= rate.high, name
        assert rate.clusters == 7


def test_intervals_take_competitions_as_clusters() -> None:
    """Ten copies of every command tell nothing new: the interval must not shrink as it would for independent commands."""
    rows = drawn(70, 1)
    copies = [original.model_copy(update={"step": 1000 * copy + original.step}) for copy in range(10) for original in rows]
    once, often = measure(rows).recall, measure(copies).recall
    assert once.low is not None and once.high is not None and often.low is not None and often.high is not None
    assert often.high - often.low == pytest.approx(once.high - once.low)


def test_timeouts_are_reported_apart() -> None:
    rows = [row(0, True, True), row(1, True, False, timed_out=True), row(2, True, False, timed_out=True), row(3, False, False, task="b")]
    found = measure(rows)
    assert found.recall.estimate == pytest.approx(1 / 3)
    assert found.crash_recall.estimate == 1.0 and found.timeout_recall.estimate == 0.0
    assert {line.failure_type: line.recall.estimate for line in recall_by_type(rows)} == {"own_logic": 1.0, "time_limit": 0.0}


def test_what_has_no_denominator_is_not_identified() -> None:
    quiet = measure([row(0, False, False), row(1, False, False, task="b")])
    assert quiet.precision.estimate is None and quiet.precision.note == "not identified: nothing was flagged"
    assert quiet.recall.estimate is None and quiet.recall.note == "not identified: nothing failed"
    assert quiet.f1.estimate is None and quiet.mcc.estimate is None and quiet.roc_auc.estimate is None
    assert quiet.timeout_recall.note == "not identified: nothing timed out"
    assert quiet.npv.estimate == 1.0


def test_abstentions_are_read_three_ways() -> None:
    rows = [row(0, True, None), row(1, True, True), row(2, False, None, task="b"), row(3, False, False, task="b")]
    lines = {line.reading: line for line in precision_recall({"j": rows})}
    assert set(lines) == {"excluded", "as_clean", "as_flagged"}
    assert lines["excluded"].coverage.estimate == 0.5 and lines["excluded"].abstentions == {"schema_invalid": 2}
    assert (lines["excluded"].recall.estimate, lines["as_clean"].recall.estimate, lines["as_flagged"].recall.estimate) == (1.0, 0.5, 1.0)
    assert (lines["as_clean"].precision.estimate, lines["as_flagged"].precision.estimate) == (1.0, pytest.approx(2 / 3))
    assert lines["as_flagged"].confusion.fp == 1
    whole = [row(0, True, True), row(1, False, False, task="b")]
    assert [line.reading for line in precision_recall({"j": whole})] == ["excluded"]


def test_baselines_are_measured_over_the_same_commands() -> None:
    rows = [
        row(0, True, True),
        row(1, True, True, previous_failed=True),
        row(2, False, True, previous_failed=True),
        row(3, False, False, task="b"),
    ]
    made = baselines(rows)
    table = {line.judge: line for line in precision_recall({"j": rows, **made}, baselines=made) if line.reading == "excluded"}
    assert table["always_flag"].recall.estimate == 1.0 and table["always_flag"].precision.estimate == 0.5
    assert table["always_clean"].recall.estimate == 0.0 and table["always_clean"].precision.estimate is None
    assert table["last_outcome"].abstentions == {"no_earlier_run": 1}
    assert table["last_outcome"].confusion.model_dump() == {"tp": 1, "fp": 1, "fn": 0, "tn": 1}
    assert [line.baseline for line in table.values()] == [False, True, True, True]
    assert len({line.prevalence.estimate for line in table.values()}) == 1


def test_judges_over_different_commands_are_not_compared() -> None:
    with pytest.raises(DifferentCommands, match=r"one.*two.*step 9"):
        precision_recall({"one": [row(0, True, True)], "two": [row(0, True, True), row(9, True, True)]})
    with pytest.raises(DifferentCommands, match="judged twice"):
        precision_recall({"one": [row(0, True, True), row(0, True, True)]})


def test_a_flat_line_never_has_a_bare_rate() -> None:
    columns = flat(measure(drawn(50, 3)))
    for name in ("precision", "recall", "mcc", "coverage", "timeout_recall"):
        assert {f"{name}_{part}" for part in ("low", "high", "n", "clusters", "interval", "note")} <= columns.keys()
    assert not any(isinstance(value, dict) for value in columns.values())
