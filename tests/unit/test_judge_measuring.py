"""Precision and recall against execution."""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy.stats import t
from sklearn import metrics
from tests.judge_cases import replayed, rubric

from rubrics_gym.judge.baselines import baselines
from rubrics_gym.judge.columns import UnknownRubric, judged
from rubrics_gym.judge.curves import calibration, curve
from rubrics_gym.judge.measuring import DifferentCommands, Measured, flat, precision_recall, recall_by_type
from rubrics_gym.judge.measuring import measure as measure_columns
from rubrics_gym.judge.pairs import compare
from rubrics_gym.judge.replay import ReplayedVerdict
from rubrics_gym.records.rubrics import RubricKind
from rubrics_gym.records.verdicts import Criterion, Verdict


def measure(rows: list[ReplayedVerdict], **options: object) -> Measured:
    return measure_columns(judged(rows), **options)  # type: ignore[arg-type]


def table(rows_by_name: dict[str, list[ReplayedVerdict]]) -> list[Measured]:
    return precision_recall({name: judged(rows) for name, rows in rows_by_name.items()})


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
    """A command that was stopped at its limit is censored where crashes are measured: it is neither a miss nor a hit."""
    rows = [row(0, True, True), row(1, True, False, timed_out=True), row(2, True, False, timed_out=True), row(3, False, False, task="b")]
    lines = {line.truth: line for line in table({"j": rows})}
    assert lines["failed"].recall.estimate == pytest.approx(1 / 3)
    assert lines["crashed"].recall.estimate == 1.0 and lines["timed_out"].recall.estimate == 0.0
    assert (lines["crashed"].commands, lines["crashed"].left_out, lines["timed_out"].left_out) == (2, 2, 1)
    assert {line.failure_type: line.recall.estimate for line in recall_by_type(judged(rows))} == {"own_logic": 1.0, "time_limit": 0.0}


def test_counts_and_costs_of_a_line_are_of_its_own_commands() -> None:
    costs = {"update": {"cost_microdollars": 10}}
    rows = [row(0, True, True), row(1, True, None, task="b", timed_out=True)]
    rows = [one.model_copy(update={"verdict": one.verdict.model_copy(**costs)}) for one in rows]
    lines = {(line.truth, line.reading): line for line in table({"j": rows})}
    every, crashed = lines["failed", "excluded"], lines["crashed", "excluded"]
    assert (every.commands, every.episodes, every.competitions, every.cost_microdollars) == (2, 2, 2, 20)
    assert (crashed.commands, crashed.episodes, crashed.competitions, crashed.cost_microdollars) == (1, 1, 1, 10)
    assert every.abstentions == {"schema_invalid": 1} and crashed.abstentions == {}


def test_what_has_no_denominator_is_not_identified() -> None:
    quiet = measure([row(0, False, False), row(1, False, False, task="b")])
    assert quiet.precision.estimate is None and quiet.precision.note == "not identified: nothing was flagged"
    assert quiet.recall.estimate is None and quiet.recall.note == "not identified: nothing failed"
    assert quiet.f1.estimate is None and quiet.mcc.estimate is None and quiet.roc_auc.estimate is None
    assert quiet.npv.estimate == 1.0


def test_abstentions_are_read_three_ways() -> None:
    rows = [row(0, True, None), row(1, True, True), row(2, False, None, task="b"), row(3, False, False, task="b")]
    lines = {line.reading: line for line in table({"j": rows}) if line.truth == "failed"}
    assert set(lines) == {"excluded", "as_clean", "as_flagged"}
    assert lines["excluded"].coverage.estimate == 0.5 and lines["excluded"].abstentions == {"schema_invalid": 2}
    assert (lines["excluded"].recall.estimate, lines["as_clean"].recall.estimate, lines["as_flagged"].recall.estimate) == (1.0, 0.5, 1.0)
    assert (lines["as_clean"].precision.estimate, lines["as_flagged"].precision.estimate) == (1.0, pytest.approx(2 / 3))
    assert lines["as_flagged"].confusion.fp == 1
    whole = [row(0, True, True), row(1, False, False, task="b")]
    assert [line.reading for line in table({"j": whole}) if line.truth == "failed"] == ["excluded"]


def test_baselines_are_measured_over_the_same_commands() -> None:
    rows = [
        row(0, True, True),
        row(1, True, True, previous_failed=True),
        row(2, False, True, previous_failed=True),
        row(3, False, False, task="b", previous_failed=None),
    ]
    own = judged(rows)
    made = baselines(own)
    lines = [line for line in precision_recall({"j": own, **made}, baselines=made) if (line.reading, line.truth) == ("excluded", "failed")]
    found = {line.judge: line for line in lines}
    assert found["always_flag"].recall.estimate == 1.0 and found["always_flag"].precision.estimate == 0.5
    assert found["always_clean"].recall.estimate == 0.0 and found["always_clean"].precision.estimate is None
    assert found["last_outcome"].abstentions == {"no_earlier_run": 2}
    assert found["last_outcome"].confusion.model_dump() == {"tp": 1, "fp": 1, "fn": 0, "tn": 0}
    assert [line.baseline for line in lines] == [False, True, True, True]
    assert len({line.prevalence.estimate for line in lines}) == 1


def test_judges_over_different_commands_are_not_compared() -> None:
    with pytest.raises(DifferentCommands, match=r"one.*two.*step 9"):
        table({"one": [row(0, True, True)], "two": [row(0, True, True), row(9, True, True)]})
    with pytest.raises(DifferentCommands, match="judged twice"):
        table({"one": [row(0, True, True), row(0, True, True)]})


# ---------------------------------------------------------------- what a verdict predicts

CRASH = rubric("A column is read by a name it does not have")
WRONG = rubric("The answer is rounded down", kind=RubricKind.WRONG_RESULT, category="wrong_metric", runtime_type=None)
LIBRARY = {one.id: one for one in (CRASH, WRONG)}


def said(number: int, failed: bool, violated: tuple[str | None, ...], task: str = "a") -> ReplayedVerdict:
    """A verdict in which the task criterion and both rubrics apply, and some of them (by id; None: the task criterion) are violated."""
    criteria = tuple(Criterion(rubric_id=key, title="t", applicable=True, violated=key in violated) for key in (None, CRASH.id, WRONG.id))
    reward = 1 - len(violated) / 3
    verdict = Verdict(judge="j", library="l", criteria=criteria, predicted_reward=reward, flagged=bool(violated))
    return row(number, failed, bool(violated), task=task).model_copy(update={"verdict": verdict})


def test_a_rubric_about_a_wrong_result_predicts_no_failure() -> None:
    """It flags a command that ends with 0: what the agent sees is a flag, but for execution it is no false alarm."""
    rows = [
        said(0, False, (WRONG.id,)),
        said(1, True, (CRASH.id, WRONG.id)),
        said(2, False, (), task="b"),
        said(3, True, (WRONG.id,), task="b"),
    ]
    own = judged(rows, LIBRARY)
    assert own.shown_flagged.tolist() == [1, 1, 0, 1] and own.prediction.tolist() == [0, 1, 0, 0]
    assert measure_columns(own).confusion.model_dump() == {"tp": 1, "fp": 0, "fn": 1, "tn": 2}
    assert own.score.tolist() == [0, 0.5, 0, 0]
    by_task_criterion = judged([said(0, False, (None,))], LIBRARY)
    assert measure_columns(by_task_criterion).confusion.fp == 1


def test_a_rubric_that_the_library_does_not_hold_is_an_error() -> None:
    with pytest.raises(UnknownRubric, match=f"{WRONG.id}.*library l"):
        judged([said(0, True, ())], {CRASH.id: CRASH})


# ---------------------------------------------------------------- calibration, curves, lead, flips, pairs


@pytest.mark.parametrize("seed", range(3))
def test_scores_agree_with_scikit_learn(seed: int) -> None:
    rows = drawn(300, seed)
    own = judged(rows)
    truth, score = own.failed, own.score
    found = measure_columns(own)
    assert found.brier.estimate == pytest.approx(metrics.brier_score_loss(truth, score))
    prevalence = truth.mean()
    assert found.brier_skill.estimate == pytest.approx(1 - metrics.brier_score_loss(truth, score) / (prevalence * (1 - prevalence)))
    slope, intercept = np.polyfit(score, truth, 1)
    assert (found.calibration_slope.estimate, found.calibration_intercept.estimate) == pytest.approx((slope, intercept))
    precision, recall, thresholds = metrics.precision_recall_curve(truth, score)
    ours = {round(point.threshold, 6): point for point in curve(own)}
    for number, threshold in enumerate(thresholds):
        assert ours[round(float(threshold), 6)].precision.estimate == pytest.approx(precision[number])
        assert ours[round(float(threshold), 6)].recall.estimate == pytest.approx(recall[number])
    bins = calibration(own)
    assert found.ece.estimate == pytest.approx(
        sum(one.observed.n * abs(one.observed.estimate - one.mean_score) for one in bins) / len(rows)
    )
    assert sum(one.observed.n for one in bins) == len(rows)


def test_the_jackknife_is_that_of_the_definition() -> None:
    """Competitions left out one at a time, each time measured afresh."""
    rows = drawn(120, 4)
    whole = metrics.matthews_corrcoef([r.failed for r in rows], [bool(r.verdict.flagged) for r in rows])
    without = []
    for task in sorted({r.task for r in rows}):
        rest = [r for r in rows if r.task != task]
        without.append(metrics.matthews_corrcoef([r.failed for r in rest], [bool(r.verdict.flagged) for r in rest]))
    error = np.sqrt(6 / 7 * ((np.array(without) - np.mean(without)) ** 2).sum())
    found = measure(rows).mcc
    assert found.estimate == pytest.approx(whole)
    assert found.high - found.estimate == pytest.approx(t.ppf(0.975, 6) * error)


def test_the_first_failure_of_an_episode_is_seen_in_time_or_not() -> None:
    early = [row(0, False, True), row(1, True, False)]  # an alarm before it counts
    late = [row(0, True, False, task="b"), row(1, False, True, task="b")]
    found = measure([*late, *early, row(0, False, False, task="c")]).first_failure
    assert (found.estimate, found.n) == (0.5, 2)


def test_a_judge_that_says_nothing_of_failures_has_missed_none() -> None:
    rows = [replayed(task, step, "crash" if step else None, None) for task in range(5) for step in range(2)]
    silent = measure_columns(judged(rows))
    assert silent.recall.note == "not identified: no prediction about a command that failed"
    assert silent.specificity.note == "not identified: no prediction about a command that ran"
    assert silent.precision.note == silent.npv.note == "not identified: no prediction"
    assert silent.first_failure.note == "not identified: no prediction about a command that failed first"
    told = measure_columns(judged([replayed(9, 0, "crash", False), *rows]))
    assert (told.first_failure.estimate, told.first_failure.n) == (0.0, 1)  # the one episode of which it is known
    before = measure_columns(judged([replayed(9, 0, None, True), replayed(9, 1, "crash", None), *rows]))
    assert (before.first_failure.estimate, before.first_failure.n) == (1.0, 1)  # flagged before: whatever the last verdict had been
    read_as_clean = measure_columns(judged(rows), "as_clean")
    assert (read_as_clean.first_failure.estimate, read_as_clean.first_failure.n) == (0.0, 5)


def test_f1_stays_within_what_it_can_be() -> None:
    rows = [replayed(0, step, "crash", True) for step in range(7)] + [replayed(1, 0, None, True), replayed(1, 1, "crash", False)]
    found = measure_columns(judged(rows)).f1
    assert found.low is not None and 0 <= found.low <= found.estimate <= found.high <= 1


def test_commands_judged_twice_give_the_flip_rate_and_nothing_else() -> None:
    once = [row(0, True, True), row(1, False, False), row(2, False, True, task="b")]
    again = [row(0, True, False).model_copy(update={"repeat": 1}), row(2, False, True, task="b").model_copy(update={"repeat": 1})]
    found = measure([*once, *again])
    assert (found.flip.estimate, found.flip.n, found.commands) == (0.5, 2, 3)
    assert measure(once).flip.note == "not identified: no command was judged twice"


@pytest.mark.parametrize("rows", [[(True, True)] * 6, [(False, False)] * 6, [(True, False)] * 6, [(False, True)] * 6])
def test_degenerate_commands_give_no_false_number(rows: list[tuple[bool, bool]]) -> None:
    """All failed or none, all flagged or none: what scikit-learn would call 0 or 1 by convention is not identified."""
    found = measure([row(number, failed, flagged, task=f"t{number % 3}") for number, (failed, flagged) in enumerate(rows)])
    assert found.mcc.estimate is None and found.roc_auc.estimate is None and found.average_precision.estimate is None
    failed, flagged = rows[0]
    assert (found.precision.estimate is None) == (not flagged) and (found.recall.estimate is None) == (not failed)
    assert found.brier.estimate == float(failed != flagged)


def test_two_judges_are_compared_on_the_same_commands() -> None:
    from statsmodels.stats.contingency_tables import mcnemar

    first, second = (
        judged(drawn(200, 1)),
        judged(
            [
                r.model_copy(update={"failed": f.failed, "failure_type": f.failure_type})
                for r, f in zip(drawn(200, 2), drawn(200, 1), strict=True)
            ]
        ),
    )
    lines = {line.measure: line for line in compare({"a": first, "b": second}, [("a", "b")])}
    right_a, right_b = ((one.prediction == 1) == first.failed for one in (first, second))
    cells = [
        [int((right_a & right_b).sum()), int((right_a & ~right_b).sum())],
        [int((~right_a & right_b).sum()), int((~right_a & ~right_b).sum())],
    ]
    assert lines["accuracy"].mcnemar_p == pytest.approx(mcnemar(cells, exact=True).pvalue)
    assert lines["recall"].both + lines["recall"].only_first + lines["recall"].only_second + lines["recall"].neither == first.failed.sum()
    by_task = [right_a[first.clusters == c].mean() - right_b[first.clusters == c].mean() for c in range(7)]
    assert lines["accuracy"].difference.estimate == pytest.approx(np.mean(by_task)) and lines["accuracy"].difference.clusters == 7


def test_a_flat_line_never_has_a_bare_rate() -> None:
    columns = flat(measure(drawn(50, 3)))
    for name in ("precision", "recall", "mcc", "coverage", "flip"):
        assert {f"{name}_{part}" for part in ("low", "high", "n", "clusters", "interval", "note")} <= columns.keys()
    assert not any(isinstance(value, dict) for value in columns.values())
