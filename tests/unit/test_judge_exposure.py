"""Categories, rubrics, the funnel, and rubrics about wrong results, by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.judge_cases import rubric

from rubrics_gym.judge.columns import Judged, judged
from rubrics_gym.judge.exposure import by_category, by_rubric, confusion, funnel
from rubrics_gym.judge.noise import flag_shares, judge_noise, judged_twice
from rubrics_gym.judge.replay import ReplayedVerdict
from rubrics_gym.judge.truth import command_bins, episode_endings
from rubrics_gym.judge.wrong_results import Ending, by_cause
from rubrics_gym.records.failures import Categorized, Cause, FailureEvent
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.records.rubrics import RubricKind
from rubrics_gym.records.verdicts import Criterion, Verdict

LOGIC = rubric("A name that is not defined")
LOGIC_TOO = rubric("A name that is not defined, in other words")
PACKAGE = rubric("A package that is not installed", runtime_type="missing_package")
UNSEEN = rubric("A limit that is too short", runtime_type="time_limit")
FORMAT = rubric("Columns in the wrong order", kind=RubricKind.WRONG_RESULT, category="output_format", runtime_type=None)
METRIC = rubric("The wrong metric", kind=RubricKind.WRONG_RESULT, category="wrong_metric", runtime_type=None)
LIBRARY = {one.id: one for one in (LOGIC, LOGIC_TOO, PACKAGE, UNSEEN, FORMAT, METRIC)}


def verdict(step: int, failed: bool, *violated: object, shown: tuple[object, ...] = (LOGIC, LOGIC_TOO, PACKAGE, FORMAT, METRIC), task: str = "a", repeat: int = 0,
            silent: tuple[object, ...] = ()) -> ReplayedVerdict:  # fmt: skip
    """A verdict on which the rubrics `shown` were before the judge, all applicable but the `silent`, and `violated` were violated."""
    criteria = tuple(Criterion(rubric_id=one.id, title=one.title, applicable=one not in silent, violated=one in violated) for one in shown)  # type: ignore[attr-defined]
    return ReplayedVerdict(
        unit=f"episodes/execute/{repeat}/packaged/{task}", benchmark="packaged", task=task, step=step, index=0,
        verdict=Verdict(judge="j", library="l", criteria=criteria, predicted_reward=1.0, flagged=bool(violated)), failed=failed,
        failure_type="own_logic" if failed else None, timed_out=False, out_of_memory=False, masked_pipe=False, duration_s=1.0, previous_failed=None,
    )  # fmt: skip


ROWS = [
    verdict(0, True, LOGIC, LOGIC_TOO),  # failed with own logic, foreseen
    verdict(1, True, PACKAGE),  # failed with own logic, flagged for another reason
    verdict(2, True, shown=(PACKAGE,)),  # no rubric of the category was before the judge
    verdict(0, True, silent=(LOGIC, LOGIC_TOO), task="b"),  # before the judge, called not applicable
    verdict(1, True, UNSEEN, shown=(UNSEEN,), task="b"),  # not sorted by the classifier
    verdict(2, False, PACKAGE, FORMAT, task="b"),  # a false alarm
    verdict(3, False, FORMAT, task="b"),  # no alarm about execution
]
BINS = {(row.unit, row.step, 0): "runtime:own_logic" for row in ROWS[:4]}


@pytest.fixture
def commands() -> Judged:
    return judged(ROWS, LIBRARY)


def test_categories_by_hand(commands: Judged) -> None:
    lines = {line.category: line for line in by_category(commands, BINS)}
    assert set(lines) == {"runtime:own_logic", "runtime:missing_package", "runtime:time_limit", "unsorted"}  # none about results
    logic, package = lines["runtime:own_logic"], lines["runtime:missing_package"]
    assert (logic.failures, logic.rubrics) == (4, 2)
    assert (logic.recall_any.estimate, logic.recall_exact.estimate) == (0.5, 0.25)
    assert (logic.precision_any.estimate, logic.precision_exact.estimate) == (1.0, 1.0)
    assert (package.precision_any.estimate, package.precision_exact.estimate, package.recall_any.estimate) == (0.5, 0.0, None)
    assert "not identified" in package.recall_any.note
    assert lines["unsorted"].recall_any.estimate == 1.0 and lines["unsorted"].recall_exact.estimate == 0.0


def test_each_loss_has_its_address(commands: Judged) -> None:
    counts = {(line.category, line.stage): line.count for line in funnel(commands, BINS)}
    of = [counts["runtime:own_logic", stage] for stage in ("failed", "in_library", "retrieved", "applicable", "flagged")]
    assert of == [4, 4, 3, 2, 1]
    assert counts["unsorted", "in_library"] == 0 and counts["unsorted", "flagged"] == 0
    kept = {(line.category, line.stage): line.kept for line in funnel(commands, BINS)}
    assert kept["runtime:own_logic", "applicable"].estimate == pytest.approx(2 / 3) and kept["runtime:own_logic", "applicable"].n == 3


def test_confusion_counts_every_command(commands: Judged) -> None:
    cells = {(cell.predicted, cell.real): cell.count for cell in confusion(commands, BINS)}
    assert cells["runtime:own_logic", "runtime:own_logic"] == 1
    assert cells["runtime:missing_package", "runtime:own_logic"] == 1 and cells["runtime:missing_package", "none"] == 1
    assert cells["none", "none"] == 1 and cells["none", "runtime:own_logic"] == 2  # the flag about a result is none about execution


def test_rubrics_by_hand(commands: Judged) -> None:
    lines = {line.title: line for line in by_rubric(commands, BINS)}
    assert FORMAT.title not in lines and METRIC.title not in lines  # they have a table of their own
    package, logic = lines[PACKAGE.title], lines[LOGIC.title]
    assert (package.retrieved, package.flagged, package.tp, package.fp, package.exact, package.competitions) == (6, 2, 1, 1, 0, 2)
    assert (logic.retrieved, logic.applicable, logic.flagged, logic.tp, logic.exact) == (5, 4, 1, 1, 1)
    assert logic.twin == LOGIC_TOO.id and logic.twin_overlap == 1.0 and package.twin is None
    assert package.lift == pytest.approx(0.5 / (5 / 7))
    order = [line.lower for line in by_rubric(commands, BINS) if line.lower is not None]
    assert order == sorted(order, reverse=True)
    for line in lines.values():
        if line.flagged:
            assert 0 < line.lower < line.shrunken < 1


def test_rubric_posteriors_and_tests_agree_with_scipy() -> None:
    from scipy.stats import beta, binomtest, false_discovery_control

    rng = np.random.default_rng(1)
    rows = [
        verdict(n, bool(rng.random() < 0.4), *(one for one in (LOGIC, LOGIC_TOO, PACKAGE) if rng.random() < 0.3), task=f"t{n % 6}")
        for n in range(150)
    ]
    lines = by_rubric(judged(rows, LIBRARY), {})
    prevalence = np.mean([row.failed for row in rows])
    p_values = [binomtest(line.tp, line.flagged, prevalence, alternative="greater").pvalue for line in lines]
    assert [line.p_adjusted for line in lines] == pytest.approx(list(false_discovery_control(p_values)))
    for line in lines:
        a = line.shrunken  # mean of beta(a0 + tp, b0 + fp): with the lower end it fixes both
        weight = np.mean([one.flagged for one in lines if one is not line])  # the prior is from the others
        mean = a * (weight + line.flagged)
        assert line.lower == pytest.approx(beta.ppf(0.05, mean, weight + line.flagged - mean))


def test_a_rubric_s_own_alarms_are_not_in_its_prior() -> None:
    rows = [verdict(n, n < 4, *((LOGIC,) if n < 4 else ()), task=f"t{n}") for n in range(8)]
    (line,) = (one for one in by_rubric(judged(rows, LIBRARY), {}) if one.flagged)
    assert (line.tp, line.flagged) == (4, 4)
    assert line.shrunken == pytest.approx(5 / 6) and line.lower == pytest.approx(0.05 ** (1 / 5))  # a flat prior: nobody else says anything


def test_a_command_without_a_verdict_is_lost_before_the_library_and_is_not_clean() -> None:
    rows = [verdict(n, True, LOGIC, task=f"t{n}") for n in range(4)]
    silent = [
        one.model_copy(update={"step": 10 + one.step, "verdict": Verdict(judge="j", library="l", abstained="schema_invalid")})
        for one in rows
    ]
    commands = judged([*rows, *silent], LIBRARY)
    bins = dict.fromkeys(commands.commands, LOGIC.bin)
    stages = {line.stage: (line.count, line.kept.estimate) for line in funnel(commands, bins)}
    assert stages["failed"][0] == 8 and stages["judged"] == (4, 0.5) and stages["retrieved"] == (4, 1.0)
    cells = {cell.predicted: cell.count for cell in confusion(commands, bins)}
    assert cells["no_verdict"] == 4 and "none" not in cells


# ---------------------------------------------------------------- wrong results


def test_rubrics_about_results_are_measured_against_causes() -> None:
    rows = [
        verdict(0, False, FORMAT, task="a"), verdict(1, False, task="a"),  # the last verdict counts: not flagged, ended wrong by format
        verdict(0, False, FORMAT, task="b"),  # flagged, ended wrong by format
        verdict(0, False, METRIC, task="c"),  # flagged for another cause
        verdict(0, False, FORMAT, task="d"),  # flagged, ended right
        verdict(0, False, FORMAT, task="e"),  # lost: not known
    ]  # fmt: skip
    ends = {"a": (True, "output_format"), "b": (True, "output_format"), "c": (True, "output_format"), "d": (False, None), "e": (None, None)}
    endings = {f"episodes/execute/0/packaged/{task}": Ending(*end) for task, end in ends.items()}
    lines = {line.cause: line for line in by_cause(judged(rows, LIBRARY), endings)}
    whole, of_format, metric = lines["every cause"], lines["output_format"], lines["wrong_metric"]
    assert (whole.episodes, whole.wrong, whole.flagged, whole.rubrics) == (4, 3, 3, 2)
    assert (whole.recall_any.estimate, whole.precision_any.estimate) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert (of_format.recall_any.estimate, of_format.recall_exact.estimate) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert (of_format.precision_any.estimate, of_format.precision_exact.estimate) == (0.5, 0.5)
    assert (metric.wrong, metric.precision_any.estimate, metric.precision_exact.estimate) == (0, 1.0, 0.0)
    assert metric.recall_exact.note == "not identified: no episode ended wrong by it"


def test_truth_is_joined_by_command_and_episode() -> None:
    event = FailureEvent(
        event_id="e", unit="u", benchmark="b", task="t", attempt=0, step=2, index=1, command="c", exit_code=1, timed_out=False,
        out_of_memory=False, output_tail="", failure_type="own_logic", evidence="",
    )  # fmt: skip
    sorted_event = Categorized(item_id="e", category="runtime", runtime_type="own_logic")
    assert command_bins([event], [sorted_event]) == {("u", 2, 1): "runtime:own_logic"}
    assert command_bins([event], []) == {("u", 2, 1): "unsorted"}
    untyped = Categorized(item_id="e", category="runtime", runtime_type=None)
    assert set(command_bins([event], [untyped]).values()) == {rubric("t", category="runtime", runtime_type=None).bin}
    wrong = Grade(benchmark="b", task="t", outcome=Outcome.VALID, metric="m", greater_is_better=True, ended_wrong=True)
    assert episode_endings(["u"], [wrong], [Cause(unit="u", benchmark="b", task="t", category="wrong_metric")]) == {
        "u": Ending(True, "wrong_metric")
    }


# ---------------------------------------------------------------- noise


def test_noise_of_the_judge_needs_a_second_asking_and_that_of_the_agent_repeats() -> None:
    once = judged(ROWS, LIBRARY)
    assert all(share.share is None for share in judge_noise(once) if share.source in ("judge", "agent"))
    repeats = [row.model_copy(update={"unit": row.unit.replace("/0/", f"/{n}/"), "verdict": verdict(row.step, row.failed, *(LOGIC,) * (n % 2)).verdict})
               for n in range(4) for row in ROWS]  # fmt: skip
    again = [row.model_copy(update={"repeat": 1}) for row in repeats]
    own = judged([*repeats, *again], LIBRARY)
    shares = {share.source: share for share in judge_noise(own)}
    assert flag_shares(own)["packaged", "a"] == [0.0, 1.0, 0.0, 1.0]
    assert shares["judge"].share == 0.0 and shares["agent"].share == 1.0


def test_commands_without_a_prediction_have_no_part_in_the_noise_of_the_judge() -> None:
    """Two predictions of an episode of which one changes: half of the flagged share, however many commands have no verdict."""
    said = [verdict(1, False), verdict(2, False)]
    silent = [
        one.model_copy(update={"step": 10 + number, "verdict": Verdict(judge="j", library="l", abstained="refused")})
        for number, one in enumerate(said * 4)
    ]
    again = [verdict(1, False, LOGIC), verdict(2, False)]
    commands = judged([*said, *silent, *(one.model_copy(update={"repeat": 1}) for one in again)], LIBRARY)
    assert flag_shares(commands) == {("packaged", "a"): [0.0]}
    found = judged_twice(commands)
    assert found.squares == {("packaged", "a"): pytest.approx(1 / (2 * 2**2))} and found.freedom == {("packaged", "a"): 1.0}


def test_the_judge_s_share_does_not_hang_on_which_episodes_were_drawn() -> None:
    """All the noise is the judge's: half of the episodes have 3 commands, half 30, and a fifth of the commands is judged again. Long episodes are
    drawn more often and move less, so episodes in which nothing was drawn must count too."""
    rng = np.random.default_rng(5)
    shares = []
    for _ in range(60):
        rows, again = [], []
        for task, repeat in itertools.product(range(22), range(2)):
            for step in range(3 if task % 2 else 30):
                one, two = (verdict(step, False, *(LOGIC,) * int(rng.random() < 0.5), task=f"t{task}", repeat=repeat) for _ in range(2))
                rows.append(one)
                again += [two.model_copy(update={"repeat": 1})] if rng.random() < 0.2 else []
        judge = judged_twice(judged([*rows, *again], LIBRARY))
        shares.append(sum(judge.squares.values()) / sum(judge.freedom.values()))
    truth = np.mean([0.25 / 3, 0.25 / 30])
    assert np.mean(shares) == pytest.approx(truth, rel=0.1)
