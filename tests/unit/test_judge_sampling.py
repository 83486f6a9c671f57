"""Verdicts that are verified by chance: the weights undo the policy's choice, and what it never runs is not identified."""

from __future__ import annotations

import numpy as np
import pytest

from rubrics_gym.judge.sampling import SampledVerdict, weighted, weighted_recall_by_type


def verdicts(
    seed: int, chances: tuple[float, float], count: int = 4000, tasks: int = 22, sensitivity: float = 0.7, false_alarm: float = 0.15
) -> list[SampledVerdict]:
    """Commands with planted error rates of the verdict; `chances` are those of a flagged and a clean one to be run."""
    rng = np.random.default_rng(seed)
    rates = rng.beta(3, 6, tasks)
    found = []
    for number in range(count):
        task = number % tasks
        failed = bool(rng.random() < rates[task])
        flagged = bool(rng.random() < (sensitivity if failed else false_alarm))
        chance = chances[0] if flagged else chances[1]
        ran = bool(rng.random() < chance)
        found.append(
            SampledVerdict(
                unit=f"episodes/x/0/packaged/t{task}", benchmark="packaged", task=f"t{task}", step=number, index=0, judge="j", library="l",
                flagged=flagged, probability=chance, ran=ran, failed=failed if ran else None,
            )
        )  # fmt: skip
    return found


def test_weights_undo_the_choice_of_the_policy() -> None:
    """Clean verdicts are run three times as often: unweighted, recall would be far too low."""
    rows = verdicts(1, chances=(0.2, 0.6))
    found = weighted(rows)
    seen = [row for row in rows if row.ran]
    naive = sum(row.flagged and row.failed for row in seen) / sum(bool(row.failed) for row in seen)
    assert naive < 0.5
    assert found.recall.low < 0.7 < found.recall.high and found.recall_stratified.low < 0.7 < found.recall_stratified.high
    assert found.specificity.low < 0.85 < found.specificity.high
    assert found.recall.clusters == 22 and found.verified == len(seen)


def test_everything_run_is_the_plain_share() -> None:
    rows = verdicts(2, chances=(1.0, 1.0), count=600)
    found = weighted(rows)
    failed, flagged = (np.array([bool(getattr(row, name)) for row in rows]) for name in ("failed", "flagged"))
    assert found.recall.estimate == pytest.approx((flagged & failed).sum() / failed.sum())
    assert found.recall_stratified.estimate == pytest.approx(found.recall.estimate)
    assert found.precision.estimate == pytest.approx((flagged & failed).sum() / flagged.sum())


@pytest.mark.parametrize(
    ("chances", "identified"),
    [
        ((0.0, 1.0), {"npv"}),
        ((1.0, 0.0), {"precision"}),
        ((0.0, 0.0), set()),
        ((0.5, 0.1), {"precision", "npv", "recall", "specificity", "prevalence"}),
    ],
)
def test_what_never_runs_is_not_identified(chances: tuple[float, float], identified: set[str]) -> None:
    """Escalating clean verdicts alone gives NPV; it gives neither precision nor recall, however many commands ran."""
    found = weighted(verdicts(3, chances))
    for name in ("precision", "npv", "recall", "specificity", "prevalence"):
        rate = getattr(found, name)
        assert (rate.estimate is not None) == (name in identified), name
        if name not in identified:
            assert rate.note.startswith("not identified: ") and "never run" in rate.note and rate.low is None


def test_a_run_that_says_nothing_is_counted_and_not_weighed() -> None:
    rows = verdicts(4, chances=(1.0, 1.0), count=200)
    silent = [row.model_copy(update={"failed": None, "unknown": "stopped at a smaller cap"}) if row.step % 5 == 0 else row for row in rows]
    found = weighted(silent)
    assert (found.unknown, found.verified) == (40, 160)


def test_effective_verdicts_and_shares_that_no_competition_moves() -> None:
    """Four verdicts of weight 1 and four of weight 2 are worth 7.2 equal ones; a precision of 1 everywhere is no certainty."""
    rows = [row.model_copy(update={"ran": True, "failed": row.flagged}) for row in verdicts(6, chances=(1.0, 0.5), count=8, tasks=4)]
    rows = [row.model_copy(update={"flagged": n < 4, "failed": n < 4, "probability": 1.0 if n < 4 else 0.5}) for n, row in enumerate(rows)]
    found = weighted(rows)
    assert found.effective == pytest.approx(12**2 / 20)
    for rate in (found.precision, found.recall, found.recall_stratified):
        assert (rate.estimate, rate.high) == (1.0, 1.0) and rate.low == pytest.approx(0.025 ** (1 / 4)) and rate.clusters == 4
        assert rate.interval.endswith("clopper_pearson_clusters")


def test_recall_by_type_is_weighted_and_needs_both_verdicts() -> None:
    """Time-outs are missed three times as often as crashes are; each type by itself."""
    rng = np.random.default_rng(9)
    rows = []
    for number in range(3000):
        kind = ("crash", "time_limit", None)[rng.integers(3)]
        flagged = bool(rng.random() < {"crash": 0.9, "time_limit": 0.3, None: 0.1}[kind])
        chance = 0.4 if flagged else 0.8
        ran = bool(rng.random() < chance)
        rows.append(SampledVerdict(unit="u", benchmark="b", task=f"t{number % 20}", step=number, index=0, judge="j", library=None, flagged=flagged, probability=chance,
                                   ran=ran, failed=kind is not None if ran else None, failure_type=kind if ran else None))  # fmt: skip
    crash, late = weighted_recall_by_type(rows)
    assert (crash.failure_type, late.failure_type) == ("crash", "time_limit")
    assert crash.recall.low < 0.9 < crash.recall.high and late.recall.low < 0.3 < late.recall.high and late.recall.clusters == 20
    only_clean = [row.model_copy(update={"probability": 0.0, "ran": False, "failed": None}) if row.flagged else row for row in rows]
    assert all(line.recall.estimate is None and "never run" in line.recall.note for line in weighted_recall_by_type(only_clean))


def test_impossible_chances_and_nothing_at_all_are_refused() -> None:
    row = verdicts(5, chances=(1.0, 1.0), count=1)[0]
    for changes in ({"probability": 0.0}, {"probability": 1.5}):
        with pytest.raises(ValueError, match="step 0"):
            weighted([row.model_copy(update=changes)])
    with pytest.raises(ValueError, match="no verdicts"):
        weighted([])


@pytest.mark.slow
def test_planted_error_rates_are_recovered_without_bias_and_covered() -> None:
    """200 simulated arms: mean error below 1 point, intervals that hold the truth about 95 times in 100."""
    held, errors = 0, []
    for seed in range(200):
        found = weighted(verdicts(seed, chances=(1.0, 0.3), count=1200)).recall
        errors.append(found.estimate - 0.7)
        held += found.low <= 0.7 <= found.high
    assert abs(np.mean(errors)) < 0.01
    assert 0.90 <= held / 200 <= 0.99
