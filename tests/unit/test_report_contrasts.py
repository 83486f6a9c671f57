"""Every other reading of a contrast, denominators, rankings, ladders, noise, plans, and the published figures."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.example_report import ARMS, PUBLISHED, STUDY, cells, episodes, grade

from rubrics_gym.records.files import write_json
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.report.arms import arm_rates, ranking, results_per_arm
from rubrics_gym.report.contamination import mark
from rubrics_gym.report.contrasts import Options, analyses, contrast_rows, contrasts, pair
from rubrics_gym.report.designs import changes, ladder, noise_rows, planner
from rubrics_gym.report.episodes import SCORE, Episode, outcomes, read_repeated_final, standings
from rubrics_gym.report.evaluation_figures import runs_figure
from rubrics_gym.report.published import identical_runs, published_rows, read_published, rebuilt_t
from rubrics_gym.settings.study import Arm, CodeRuns, JudgeSettings


def played(outcome: dict[str, list[list[Outcome]]]) -> list[Episode]:
    """Arm -> competition -> repeats."""
    return [
        Episode("quick", arm, repeat, "packaged", f"c{place}", grade(one, f"c{place}"))
        for arm, competitions in outcome.items()
        for place, repeats in enumerate(competitions)
        for repeat, one in enumerate(repeats)
    ]


V, N, L = Outcome.VALID, Outcome.INVALID, Outcome.LOST_FINAL


def test_lost_outcomes_have_every_reading_and_the_tipping_point() -> None:
    """Ten competitions: the first arm always valid; of the second six invalid, four lost in one of two repeats."""
    rows = analyses(played({"a": [[V, V]] * 10, "b": [[N, N]] * 6 + [[N, L]] * 4}), [("a", "b")], STUDY, False, Options(draws=200))
    found = {row["analysis"]: row for row in rows}
    assert {"lost_as_failures", "lost_against", "lost_in_favour", "adverse_endpoint", "imbens_manski", "tipping_point"} <= found.keys()
    assert (found["lost_as_failures"]["estimate"], found["lost_against"]["estimate"]) == (100, 80)
    assert found["adverse_endpoint"]["estimate"] == 80 and "no filling" in found["tipping_point"]["says"]
    assert "0 lost in a, 4 in b" in found["lost_as_failures"]["says"]
    whole = analyses(played({"a": [[V, V]] * 3, "b": [[N, V]] * 3}), [("a", "b")], STUDY, False, Options(draws=200))
    assert not any(row["analysis"].startswith("lost") for row in whole)


def test_a_study_that_stopped_early_is_held_to_a_stricter_boundary() -> None:
    rng = np.random.default_rng(1)
    half = [[V if rng.random() < 0.9 else N, L] for _ in range(12)], [[V if rng.random() < 0.2 else N, L] for _ in range(12)]
    rows = analyses(played({"a": half[0], "b": half[1]}), [("a", "b")], STUDY, False, Options(draws=200, looks=(0.5, 1.0)))
    (look,) = (row for row in rows if row["analysis"] == "interim_look")
    assert (
        "50% of the planned" in look["question"] and "0.0031" in look["says"] and look["p"] < 0.0031 and look["says"].startswith("crossed")
    )


def test_non_inferiority_is_of_the_stated_margin() -> None:
    rng = np.random.default_rng(4)
    same = [[V if rng.random() < 0.7 else N for _ in range(8)] for _ in range(30)]
    close = played({"a": same, "b": [list(reversed(runs)) for runs in same[1:]] + [same[0]]})
    for margin, shown in ((0.5, True), (0.001, False)):
        (row,) = (
            row
            for row in analyses(close, [("a", "b")], STUDY, False, Options(draws=100, margin=margin))
            if row["analysis"] == "non_inferiority"
        )
        assert row["says"].startswith("shown") is shown
        assert row["question"] == f"not worse by {100 * margin:g} pp or more"


def test_the_declared_order_is_a_testing_sequence_and_the_default_is_not() -> None:
    data = episodes(8, 2)
    pairs = [("execute", "notice"), ("matched", "notice"), ("execute", "matched")]
    declared = contrasts(data, pairs, STUDY, True, Options(draws=100, declared_order=True), endpoints=["valid"])
    running = [max(row["p"] for row in declared[: place + 1]) for place in range(3)]
    assert [row["p_sequence"] for row in declared] == running
    assert all(row["p_sequence"] is None for row in contrasts(data, pairs, STUDY, True, Options(draws=100), endpoints=["valid"]))


def test_equal_differences_have_the_exact_interval_of_none_that_differs() -> None:
    """Five competitions, no difference in any: t and bootstrap identify nothing; with 95% fewer than 52% of competitions would show one."""
    data = played({"a": [[V, V]] * 5, "b": [[V, V]] * 5, "c": [[N, N]] * 5})
    pairs = [("a", "b"), ("a", "c")]
    equal, whole = contrasts(data, pairs, STUDY, False, Options(draws=100), endpoints=["valid"])
    most = 100 * (1 - 0.025 ** (1 / 5))
    assert (equal["estimate"], equal["low"], equal["high"]) == (0, pytest.approx(-most), pytest.approx(most))
    assert (whole["estimate"], whole["low"], whole["high"]) == (100, pytest.approx(100 - 2 * most), 100)
    for row in (equal, whole):
        assert (
            row["interval_kind"] == "clopper_pearson_clusters" and "zero variance" in row["note"] and (row["n"], row["clusters"]) == (20, 5)
        )
        assert row["bootstrap_low"] is None and row["p_t"] is None and row["detectable"] is None
    readings = {row["analysis"]: row for row in analyses(data, pairs[:1], STUDY, False, Options(draws=100))}
    assert readings["paired_t"]["low"] == equal["low"] and readings["non_inferiority"]["says"] == "not identified: zero variance"
    seconds = {("b", f"t{n}"): {0: 3.0} for n in range(5)}
    (time,) = contrast_rows([pair("x", "y", "s", seconds, seconds, scale=1.0, bounded=False)], STUDY, True, "quick", Options(draws=50))
    assert time["estimate"] == 0 and time["low"] is None and "not identified: zero variance" in time["note"]


def test_an_arm_that_was_never_planned_and_one_of_which_nothing_is_known_are_no_zeros() -> None:
    data = played({"a": [[V, N]] * 3, "b": [[L, L]] * 3})
    for pairs in ([("a", "missing")], [("missing", "a")]):
        rows = [*contrasts(data, pairs, STUDY, False, Options(draws=50)), *analyses(data, pairs, STUDY, False, Options(draws=50))]
        assert all(row["estimate"] is None and row["note"] for row in rows)
    (_, lost) = results_per_arm(data, STUDY, False)
    assert lost["by_run"] == "–*, –* (–)" and lost["validity"] is None and (lost["bound_low"], lost["bound_high"]) == (0, 1)
    assert "nothing known" in runs_figure(cells("arms", mark(results_per_arm(data, STUDY, False), ())))


def test_a_time_goes_through_the_same_machinery_without_bounds() -> None:
    first = {("b", f"t{n}"): {0: 10.0 + n, 1: 12.0 + n} for n in range(6)}
    second = {("b", f"t{n}"): {0: 20.0 + n * n, 1: float("nan")} for n in range(6)}
    (row,) = contrast_rows([pair("x", "y", "seconds", first, second, scale=1.0, bounded=False)], STUDY, True, "quick", Options(draws=200))
    differences = [11.0 + n - (20 + n * n) for n in range(6)]
    assert row["estimate"] == pytest.approx(np.mean(differences)) and row["low"] < -20
    assert (row["bound_low"], row["missing"]) == (None, 6) and "no bounds" in row["note"] and "unequal repeats" in row["note"]


def test_scores_are_normalised_within_their_competition() -> None:
    scores = {"a": 0.9, "b": 0.5, "c": 0.5, "d": None}
    made = [
        Episode(
            "quick",
            arm,
            0,
            "packaged",
            "t",
            grade(N if score is None else V, "t").model_copy(update={"score": score, "greater_is_better": greater}),
        )
        for greater in (True,)
        for arm, score in scores.items()
    ]
    assert standings(made) == {0: 1.0, 1: 0.25, 2: 0.25, 3: 0.0}
    lower = [
        one.__class__(one.split, one.arm, one.repeat, one.benchmark, one.task, one.grade.model_copy(update={"greater_is_better": False}))
        for one in made
        if one.grade
    ]
    assert standings(lower) == {0: 0.0, 1: 0.75, 2: 0.75, 3: 0.0}
    checked = made[0].grade.model_copy(update={"correct_share": 0.4}) if made[0].grade else None
    assert standings([Episode("quick", "a", 0, "p", "t", checked)]) == {0: 0.4}
    assert outcomes([Episode("quick", "a", 0, "p", "t", None)], SCORE)["a"]["p", "t"][0] != 0  # not known is not a zero


def test_denominators_are_declared_and_the_reachable_maximum_is_marked() -> None:
    data = played({"a": [[V], [V], [L]], "b": [[V], [N], [V]]})
    rows = {
        (row["denominator"], row["arm"]): row
        for row in arm_rates(data, STUDY, False, subsets={"without_c0": ("c0",)})
        if row["endpoint"] == "valid"
    }
    assert (rows["all", "a"]["known"], rows["all", "a"]["planned"], rows["all", "a"]["bound_low"]) == (2, 3, pytest.approx(2 / 3))
    assert rows["graded_in_every_arm", "b"]["planned"] == 2 and rows["without_c0", "b"]["rate"] == 0.5
    first, second = results_per_arm(data, STUDY, False, unreachable=("c1",))
    assert (first["best_possible"], first["at_best"], second["at_best"]) == (2, True, True)


def test_ranking_shrinks_and_prints_the_lead_that_chance_gives() -> None:
    data = episodes(12, 4)
    rows = ranking([one for one in data if one.known], ["task_only", "scrambled", "matched"], STUDY, True)
    assert sum(row["best"] for row in rows) == pytest.approx(1)
    spread = max(row["validity"] for row in rows) - min(row["validity"] for row in rows)
    assert max(row["shrunken"] for row in rows) - min(row["shrunken"] for row in rows) <= spread
    assert rows[0]["by_chance"] is None or rows[0]["by_chance"] > 0


def test_a_ladder_says_what_each_row_changes() -> None:
    one = Arm(code_runs=CodeRuns.JUDGE, judge=JudgeSettings(library="matched", k=3))
    two = one.model_copy(update={"judge": JudgeSettings(library="matched", k=6)})
    assert changes(one.model_dump(mode="json"), two.model_dump(mode="json")) == ["judge.k: 3 → 6"]
    rows = ladder(episodes(), ARMS, {"matched": 20, "scrambled": 20}, STUDY, True)
    assert rows[0]["change"] == "" and rows[0]["step"] is None and rows[0]["step_note"] == "the first row"
    assert rows[1]["change"].startswith("code_runs: notice → judge") and (rows[1]["k"], rows[3]["k"], rows[3]["rubrics"]) == (0, 12, 20)
    assert rows[3]["change"] == "judge.library: scrambled → matched"


def test_noise_and_plans_come_from_the_study_where_it_has_repeats() -> None:
    data = played({"a": [[V, N], [V, V], [N, N]], "b": [[V, V], [N, V], [N, V]]})
    rows = {row["of"]: row for row in noise_rows(data, [], (), STUDY, False) if row["quantity"] == "valid submissions of one run"}
    assert rows["a"]["sd"] == pytest.approx(math.sqrt(0.5)) and rows["b"]["sd"] == pytest.approx(math.sqrt(2))
    assert rows["every arm"]["sd"] == pytest.approx(math.sqrt((0.5 + 2) / 2))
    own, borrowed = planner(data, STUDY, False), planner(played({"a": [[V], [N]], "b": [[V], [V]]}), STUDY, True)
    assert own[0]["source"] == "this study" and own[0]["detectable_low"] < own[0]["detectable"] < own[0]["detectable_high"]
    assert borrowed[0]["source"] == "published runs, scaled" and borrowed[0]["run_sd"] == pytest.approx(1.35 * math.sqrt(2 / 22))
    assert not borrowed[0]["simulated"]


def test_the_harness_share_comes_from_final_runs_made_again() -> None:
    """Two competitions, two repeats each; of four final runs made again one ends otherwise, one is lost."""
    data = played({"a": [[V, N], [V, V]], "b": [[V, N], [N, V]]})
    again = played({"a": [[V, N], [N, L]]})
    rows = {
        (row["of"], row["source"]): row
        for row in noise_rows(data, again, {"b"}, STUDY, False)
        if row["quantity"] == "validity of one episode"
    }
    harness, whole, agent = (rows["a", source] for source in ("harness", "full repeats", "agent"))
    assert harness["sd"] == pytest.approx(math.sqrt(0.5 / 3)) and (harness["n"], harness["clusters"]) == (6, 2)  # the lost one has no pair
    assert whole["sd"] == pytest.approx(math.sqrt(0.25)) and harness["share"] == pytest.approx(2 / 3)
    assert agent["share"] == pytest.approx(1 / 3)
    assert ("a", "judge") not in rows and rows["b", "judge"]["share"] is None and "not identified" in rows["b", "judge"]["note"]
    assert rows["b", "harness"]["share"] is None and "not identified: never repeated alone" in rows["b", "harness"]["note"]
    assert "agent" not in {source for of, source in rows if of == "b"}  # what is left holds the judge's part as well
    nothing = noise_rows(played({"a": [[V], [N]]}), [], (), STUDY, False)
    assert {row["of"] for row in nothing if row["source"] == "harness"} == {"every arm"}
    assert all(row["share"] is None and row["note"].startswith("not identified") for row in nothing)


def test_grades_of_repeated_finals_are_read_as_their_episode(tmp_path: Path) -> None:
    path = tmp_path / "repeated_finals/quick/a/1/packaged/c0/2/grade.json"
    write_json(path, grade(V, "c0"))
    found = read_repeated_final(path)
    assert (found.arm, found.repeat, found.competition, found.value("valid")) == ("a", 1, ("packaged", "c0"), 1.0)
    with pytest.raises(ValueError, match="repeated_finals/SPLIT"):
        read_repeated_final(tmp_path / "episodes/quick/a/1/packaged/c0/grade.json")


# ---------------------------------------------------------------- published figures


def test_the_published_contrasts_recomputed() -> None:
    """Lost finals 0, 6, 5; the headline's paired t interval holds 0 where the printed one did not."""
    rows = {
        row["figure"]: row for row in published_rows(read_published(PUBLISHED / "contrasts.csv"), read_published(PUBLISHED / "runs.csv"))
    }
    lost = {name: (rows[name]["lost_first"], rows[name]["lost_second"]) for name in rows if rows[name]["lost_first"] is not None}
    assert list(lost.values()) == [(0, 6), (0, 5), (6, 5)]
    for name in lost:
        row = rows[name]
        assert (row["range_low_again"], row["range_high_again"]) == pytest.approx((row["range_low"], row["range_high"]), abs=0.06)
    headline = rows["quota − task_only: validity"]
    assert (headline["recomputed_low"], headline["recomputed_high"]) == pytest.approx((-1.2, 28.4), abs=0.1)
    assert headline["note"] == "holds 0, unlike the printed interval"
    assert rows["quota − checks_only: validity"]["note"] == "does not hold 0"


def test_identical_published_runs_have_the_published_spread() -> None:
    pairs, with_floor = identical_runs(read_published(PUBLISHED / "runs.csv"))
    assert (round(pairs.sd, 2), pairs.groups) == (1.35, 9) and round(with_floor.sd, 2) == 2.16


def test_a_rebuilt_interval_is_the_bootstraps_widened() -> None:
    """Of a sample whose bootstrap standard deviation is known: sd sqrt((G - 1) / G) / sqrt(G)."""
    values = np.random.default_rng(2).normal(0.1, 0.3, 22)
    half = 1.959964 * values.std() / math.sqrt(22)
    low, high = rebuilt_t(values.mean(), values.mean() - half, values.mean() + half)
    from scipy.stats import ttest_1samp

    theirs = ttest_1samp(values, 0).confidence_interval()
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=1e-6)


def test_published_figures_agree_with_the_reference_tables() -> None:
    reference = Path(__file__).parents[2].parent / "shared" / "reference" / "tables" / "fixed_schedule_ci.csv"
    if not reference.exists():
        pytest.skip("the reference tables are not beside this checkout (../shared)")
    theirs = read_published(reference)
    ours = read_published(PUBLISHED / "contrasts.csv")
    assert sorted(float(row["estimate"]) for row in theirs) == sorted(float(row["estimate"]) for row in ours)
    assert sorted((float(row["ci_lo"]), float(row["ci_hi"])) for row in theirs) == sorted(
        (float(row["low"]), float(row["high"])) for row in ours
    )
