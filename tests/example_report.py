"""A small made-up study for the tests of the report: every table has rows, some of them awkward, and hostile words in its texts."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rubrics_gym.failures.labelling import Question
from rubrics_gym.failures.readers import Answers
from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.judge.baselines import baselines
from rubrics_gym.judge.columns import judged
from rubrics_gym.judge.replay import ReplayedVerdict
from rubrics_gym.judge.reweighting import Mix
from rubrics_gym.judge.sampling import SampledVerdict, outcome_flips, weighted, weighted_recall_by_type
from rubrics_gym.judge.wrong_results import Ending
from rubrics_gym.libraries.exposure import audit
from rubrics_gym.records.contrasts import GateLine
from rubrics_gym.records.failures import Distribution, ObservedCommand, Share, TaskCounts
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.records.rubrics import BudgetLine, LibraryManifest, Rubric, RubricKind, SupplyLine, Support
from rubrics_gym.records.verdicts import Criterion, Verdict
from rubrics_gym.report import evaluation_figures, figures
from rubrics_gym.report.arms import arm_rates, ranking, results_per_arm
from rubrics_gym.report.contamination import mark
from rubrics_gym.report.contrasts import Options, analyses, contrasts
from rubrics_gym.report.dashboard import build_dashboard
from rubrics_gym.report.designs import ladder, noise_rows, planner
from rubrics_gym.report.episodes import Episode
from rubrics_gym.report.failures import failure_rate_rows, mix_distance_rows
from rubrics_gym.report.feedback import Alarm, Shown, alarm_rows, feedback_rows, rubric_alarm_rows, sampled_row, sampled_type_rows
from rubrics_gym.report.judge_tables import judge_tables as judge_tables_of
from rubrics_gym.report.ledger import attempt_rows, request_rows, unit_cost_rows
from rubrics_gym.report.libraries import Run, distance_rows, gate_rows, supply_rows
from rubrics_gym.report.mixes import failure_mix, library_rows
from rubrics_gym.report.published import published_rows, read_published
from rubrics_gym.report.readers import agreement_rows, confusion_rows, corrected_rows
from rubrics_gym.report.specs import SPECS
from rubrics_gym.report.times import AttemptTimes, replaced_row, time_contrasts, time_rows
from rubrics_gym.report.truth import Finding, planted_mix_rows, truth_rows
from rubrics_gym.report.writing import format_cell
from rubrics_gym.settings.comparisons import default_pairs, describe, questions
from rubrics_gym.settings.rules import CompareReaders, MeasureJudge
from rubrics_gym.settings.slices import settings_of
from rubrics_gym.settings.study import (
    Arm,
    CodeRuns,
    Collection,
    DistributionSettings,
    Evaluation,
    JudgeSettings,
    Matched,
    Mined,
    Scrambled,
    Study,
)
from rubrics_gym.store.attempts import AttemptRow, AttemptState
from rubrics_gym.store.ledger import LedgerLine, State

ATTACK = "<script>document.title='taken over'</script><img src=x onerror=\"document.title='taken over'\">"
STUDY = "example"
PUBLISHED = Path(__file__).parents[1] / "resources" / "published"
ARMS = {
    "notice": Arm(code_runs=CodeRuns.NOTICE),
    "task_only": Arm(code_runs=CodeRuns.JUDGE, judge=JudgeSettings()),
    "scrambled": Arm(code_runs=CodeRuns.JUDGE, judge=JudgeSettings(library="scrambled")),
    "matched": Arm(code_runs=CodeRuns.JUDGE, judge=JudgeSettings(library="matched")),
    "execute": Arm(code_runs=CodeRuns.EXECUTE),
}
SETTINGS = Study(
    name=STUDY,
    collections={"pool": Collection()},
    distributions={"pool": DistributionSettings(collections=("pool",))},
    libraries={
        "mined": Mined(collections=("pool",)),
        "matched": Matched(source="mined", target="pool"),
        "scrambled": Scrambled(source="matched"),
    },
    arms=ARMS,
    evaluation=Evaluation(arms=tuple(ARMS)),
)
BINS = {"runtime:time_limit": 72, "runtime:own_logic": 20, "runtime:missing_package": 12, "missing_values_unchecked": 9, "runtime:api_changed": 8,
        "output_format": 5, "runtime:file_not_found": 1}  # fmt: skip


TAXONOMY = load_taxonomy(Path(__file__).parents[1] / "resources/taxonomy.yaml")
READERS = CompareReaders(
    study=STUDY, seed=1, statistics=SETTINGS.statistics, classifier="simulated-classifier-1", second="simulated-classifier-2",
    reviewer="simulated-reviewer-1", miner="simulated-miner-1", collections=("pool",), sheets={}, simulated=True,
)  # fmt: skip


def grade(outcome: Outcome, task: str, medal: str | None = None, above: bool | None = None) -> Grade:
    return Grade(
        benchmark="packaged", task=task, outcome=outcome, metric="roc_auc", greater_is_better=True, medal=medal, above_median=above
    )


def episodes(competitions: int = 6, repeats: int = 2) -> list[Episode]:
    """Arms that get better in their order; one lost final, one episode that was not run."""
    rng = np.random.default_rng(5)
    found = []
    for place, arm in enumerate(ARMS):
        for repeat in range(repeats):
            for number in range(competitions):
                task = f"competition-{number}"
                valid = rng.random() < 0.3 + 0.15 * place
                result = grade(Outcome.VALID, task, "bronze" if rng.random() < 0.2 else None, bool(rng.random() < 0.4)) if valid else None
                found.append(Episode("quick", arm, repeat, "packaged", task, result or grade(Outcome.INVALID, task, above=False)))
    found[3] = Episode("quick", "notice", 0, "packaged", "competition-3", grade(Outcome.LOST_FINAL, "competition-3"))
    found[-1] = Episode("quick", "execute", repeats - 1, "packaged", f"competition-{competitions - 1}", None)
    return found


def repeated_finals(played: list[Episode]) -> list[Episode]:
    """The first arm's final runs made once again; every seventh ends otherwise."""
    first = [one for one in played if one.arm == next(iter(ARMS)) and one.known]
    other = [grade(Outcome.INVALID if one.value("valid") else Outcome.VALID, one.task) for one in first]
    return [replace(one, grade=other[place]) if place % 7 == 0 else one for place, one in enumerate(first)]


def rubric(number: int, title: str = "") -> Rubric:
    name = list(BINS)[number % len(BINS)]
    category, _, kind = name.partition(":")
    return Rubric(
        title=title or f"Model number {number} is fitted on every row although the time limit is short",
        applies_when="task: the training table has more rows than the limit allows.",
        pattern="An ensemble with hundreds of trees is cross-validated on the full table without a first timing on a sample.",
        detect="Look for cross_val_score on the full frame, a large n_estimators, and no subsample before it.",
        not_a_violation="A timing on a sample comes first, or the table is small.",
        consequence="The command is stopped at its limit and nothing is written.",
        kind=list(RubricKind)[number % 3],
        category=category,
        runtime_type=kind or None,
        support=(
            Support(collection="pool", benchmark="packaged", task=f"task-{number % 11}", attempt=0, steps=(3, 5), quotes=("Killed",)),
        ),
        error_weight=number % 5,
        outcome_weight=number % 2,
    )


def libraries(size: int = 40) -> dict[str, tuple[LibraryManifest, list[Rubric]]]:
    rubrics = [rubric(number) for number in range(size)]
    budget = (BudgetLine(bin="runtime:time_limit", share=0.566, available=12, budget=11, kept=11),)
    supply = (
        SupplyLine(bin="runtime:api_changed", share=0.06, available=3, allows=47.2, kept_out=0),
        SupplyLine(bin="runtime:time_limit", share=0.53, available=12, allows=21.2, kept_out=1),
        SupplyLine(bin="runtime:disk_full", share=0.034, available=0, allows=None, kept_out=0),
    )
    mined = LibraryManifest(library="mined", recipe={"recipe": "mine"}, candidates=63, rubrics=size + 1, rejected={"empty field": 2})
    matched = LibraryManifest(
        library="matched", recipe={"recipe": "match"}, candidates=size + 1, rubrics=size // 2, target="pool×complete×simulated-classifier-1×t1",
        budget=budget, supply=supply, binding_bin="runtime:api_changed", dropped_mass=0.034, distance_before=46.1, distance=3.2, noise_floor=7.5,
    )  # fmt: skip
    return {"mined": (mined, [*rubrics, rubric(99, f"A title that attacks {ATTACK}")]), "matched": (matched, rubrics[: size // 2])}


def distribution(name: str, scale: float) -> Distribution:
    counts = {bin: round(count * scale) for bin, count in BINS.items()}
    total = sum(counts.values())
    shares = tuple(Share(bin=bin, count=count, commands=count, share=count / total) for bin, count in counts.items())
    return Distribution(
        id=f"{name}×complete×simulated-classifier-1×t1", collections=(name,), target="complete", classifier="simulated-classifier-1",
        taxonomy_version="t1", simulated=True, n_events=total, n_causes=0, n_unclassified=0, n_tasks=9, shares=shares,
        tasks=tuple(
            TaskCounts(benchmark="packaged", task=f"task-{task}", counts={bin: len(range(task, count, 9)) for bin, count in counts.items()}) for task in range(9)
        ),
    )  # fmt: skip


def exposures() -> list[Run]:
    """The matched library in the replay, and a run in which nothing was said."""
    manifest, rubrics = libraries()["matched"]
    said = tuple(
        Criterion(rubric_id=one.id, title=one.title, applicable=number % 2 == 0, violated=number % 4 == 0)
        for number, one in enumerate(rubrics[:12])
    )
    verdicts = [Verdict(judge="matched", library="matched", criteria=said, flagged=True)] * 5
    return [Run("matched", "replay", manifest, audit(rubrics, verdicts), 6), Run("matched", "episodes 0", manifest, audit(rubrics, []), 0)]


def commands() -> list[ObservedCommand]:
    return [
        ObservedCommand(
            unit=f"rollouts/pool/packaged/task-{n % 9}/0", benchmark="packaged", task=f"task-{n % 9}", step=n, index=0,
            kind="install" if n % 8 == 0 else "code_run", failed=n % 3 == 0, error_step=n % 3 == 0 or n % 11 == 0, masked=n % 17 == 1,
        )
        for n in range(90)
    ]  # fmt: skip


def readers() -> list[Answers]:
    """Two classifiers and a person on sixty failures of nine tasks."""
    things = [f"e{n}" for n in range(60)]
    tasks = {thing: f"packaged/task-{n % 9}" for n, thing in enumerate(things)}
    first = {thing: "runtime:time_limit" if n % 3 else "output_format" for n, thing in enumerate(things)}
    second = {thing: answer if n % 7 else "other" for n, (thing, answer) in enumerate(first.items())}
    person = {thing: answer if n % 5 else "output_format" for n, (thing, answer) in enumerate(first.items()) if n < 40}
    return [
        Answers("simulated-classifier-1", Question.CATEGORY, False, first, tasks),
        Answers("simulated-classifier-2", Question.CATEGORY, False, second, tasks),
        Answers("alice", Question.CATEGORY, True, person, tasks),
    ]


def ledger_lines() -> list[LedgerLine]:
    def line(unit: str, purpose: str, number: int, state: State = State.RETURNED) -> LedgerLine:
        return LedgerLine(
            record=f"{number:016x}-1", key=f"{number:064x}", unit=unit, occurrence=0, purpose=purpose, model=f"simulated-{purpose}-1",
            state=state, at="2026-11-29T00:00:00Z", max_cost_microdollars=900, cost_microdollars=0 if state is State.REFUSED else 420,
            usage={"input_tokens": 1200, "output_tokens": 80} if state is State.RETURNED else {},
        )  # fmt: skip

    units = [("rollouts/pool/packaged/task-1/0", "agent")] * 30 + [("episodes/quick/matched/0/packaged/competition-1", "judge")] * 12
    lines = [line(unit, purpose, number) for number, (unit, purpose) in enumerate(units)]
    return [*lines, line("mine/mined/x", "mine", 90, State.UNRESOLVED), line("classify/pool/e1", "classify", 91, State.REFUSED)]


def verdicts(judge: str, library: str | None, sensitivity: float, commands: int = 140) -> list[ReplayedVerdict]:
    """Verdicts of one judge over the same commands of six competitions; a library's judge has two rubrics before it, one about results."""
    truth, own = np.random.default_rng(3), np.random.default_rng(len(judge))
    known = list(judge_libraries()[library].values()) if library else []
    rows = []
    for number in range(commands):
        failed = bool(truth.random() < 0.38)
        kind = ("time_limit", "own_logic", "missing_package")[truth.integers(3)]
        alarm = bool(own.random() < (sensitivity if failed else 0.12))
        criteria = [Criterion(rubric_id=None, title="task", applicable=True, violated=alarm and not known)]
        for rubric_ in [known[number % len(known)], known[(number + 2) % len(known)]] if known else []:
            criteria.append(Criterion(rubric_id=rubric_.id, title=rubric_.title, applicable=True, violated=alarm or own.random() < 0.05))
        violated = sum(one.violated for one in criteria)
        silent = number % 23 == 7
        said = Verdict(judge=judge, library=library, criteria=() if silent else tuple(criteria), flagged=None if silent else violated > 0,
                       predicted_reward=None if silent else 1 - violated / len(criteria), abstained="schema_invalid" if silent else None, cost_microdollars=300)  # fmt: skip
        row = ReplayedVerdict(
            unit=f"episodes/execute/{number % 2}/packaged/competition-{number % 6}", benchmark="packaged", task=f"competition-{number % 6}", step=number, index=0,
            verdict=said, failed=failed, failure_type=kind if failed else None, timed_out=failed and kind == "time_limit", out_of_memory=False,
            masked_pipe=False, duration_s=2.0, previous_failed=None if number < 12 else number % 3 == 0,
        )  # fmt: skip
        rows += [row, row.model_copy(update={"repeat": 1})] if number % 10 == 0 else [row]
    return rows


def gate_lines_of_two() -> list[GateLine]:
    """A lesson that was accepted and one that was turned down."""
    counts = dict(tasks_behind=1, reviews=19, unusable=0, favourable_development=1, reversed_tasks=0)
    return [
        GateLine(lesson="a1", title="Never validated", favourable_tasks=3, reasons=(), **counts),
        GateLine(lesson="b2", title="No ensemble", favourable_tasks=1, reasons=("too_few_tasks", "source_out_of_scope"), **counts),
    ]


def judge_libraries() -> dict[str, dict[str, Rubric]]:
    """Rubrics of the libraries that the judges hold, by id."""
    return {name: {one.id: one for one in [rubric(number, f"{name} {number}") for number in range(9)]} for name in ("matched", "scrambled")}


MEASURE = settings_of("measure_judge", SETTINGS, {})


def judge_tables() -> dict[str, list[dict[str, Any]]]:
    """Every table of the judge, made by the real functions from made-up verdicts."""
    settings, libraries_ = MeasureJudge.model_validate_json(MEASURE), judge_libraries()
    sizes = {name: len(rubrics) for name, rubrics in libraries_.items()}
    rows = {
        "task_only": verdicts("task_only", None, 0.5),
        "scrambled": verdicts("scrambled", "scrambled", 0.3),
        "matched": verdicts("matched", "matched", 0.85),
    }
    own = {name: judged(found, libraries_.get(settings.judges[name].library or "")) for name, found in rows.items()}
    bins = {command: f"runtime:{('own_logic', 'api_changed')[command[1] % 2]}" for command in own["matched"].commands}
    endings = {
        unit: Ending(place % 3 != 0, "output_format")
        for place, unit in enumerate(sorted({command[0] for command in own["matched"].commands}))
    }
    return {
        **judge_tables_of(
            own,
            baselines(own["task_only"]),
            bins,
            endings,
            settings,
            sizes,
            {
                "pool": Mix({"runtime:own_logic": 30.0, "runtime:api_changed": 10.0, "output_format": 20.0}),
                "elsewhere": Mix({"wrong_metric": 3.0}),
            },
            {"matched": Mix({"time_limit": 4.0, "own_logic": 1.5, "passed": 9.0})},
        ),
        "replaced": mark((replaced_row(found, STUDY, simulated=True) for found in rows.values()), ()),
    }


def feedback_tables() -> dict[str, list[dict[str, Any]]]:
    """What the agents were shown and did, with nothing run by chance in one arm and everything in another."""
    counts = [Shown(arm, "packaged", f"competition-{n}", 9, 2, 7, 3, 0, 1, n % 2) for arm in ARMS for n in range(6)]
    raised = [Alarm("packaged", f"competition-{n % 6}", n % 3 != 0, frozenset({"runtime:own_logic"} if n % 2 else ()), (True, False, None)[n % 3], n % 4 != 0,
                    (True, None, False)[n % 5 % 3], n % 7 == 0, frozenset(list(judge_libraries()["matched"])[n % 3 : n % 3 + 1])) for n in range(60)]  # fmt: skip
    sampled = [
        SampledVerdict(unit=f"u{n}", benchmark="packaged", task=f"competition-{n % 6}", step=n, index=0, judge="matched", library="matched", flagged=n % 3 == 0,
                       probability=0.0 if n % 3 == 0 else 0.5, ran=n % 6 == 1, failed=n % 12 == 1 if n % 6 == 1 else None, failure_type="own_logic" if n % 12 == 1 else None)
        for n in range(60)
    ]  # fmt: skip
    return {
        "feedback": mark(feedback_rows(counts, STUDY, simulated=True), ()),
        "alarms": mark(alarm_rows("matched", "matched", raised, STUDY, simulated=True), ()),
        "rubric_alarms": mark(rubric_alarm_rows("matched", "matched", raised, judge_libraries()["matched"], STUDY, simulated=True), ()),
        "sampled_types": mark(sampled_type_rows("matched", "escalated", weighted_recall_by_type(sampled), STUDY, simulated=True), ()),
        "sampled": mark([sampled_row("matched", "escalated", weighted(sampled), outcome_flips([]), STUDY, simulated=True)], ()),
    }


def pool() -> list[dict[str, Any]]:
    rows = []
    for number in range(28):
        kept = number % 9 != 4
        rows.append(
            dict(
                benchmark="packaged", task=f"task-{number}", title=f"Title with {ATTACK}" if number == 2 else f"Mean of a column of table {number}",
                kind=("question", "result_file", "prediction")[number % 3], role="train", status="in the pool" if kept else "removed",
                holdout="kept" if kept else "removed", rule="" if kept else "distinctive_word", match="" if kept else "diamond",
                held_out_task="" if kept else "diamond-price", cannot_run="", by_hand="", published="kept", strict="kept", exact="kept",
                source="statsmodels/fair (public domain)",
            )
        )  # fmt: skip
    return rows


@functools.cache
def tables(competitions: int = 6, repeats: int = 2) -> dict[str, list[dict[str, Any]]]:
    """Every table of the report as typed rows; made once (`tables.__wrapped__` makes them again)."""
    played = episodes(competitions, repeats)
    findings = [
        Finding(
            label,
            f"rollouts/pool/packaged/task-{n}/0",
            n % 4 != 0,
            n % 4 != 0,
            True if label.startswith("runtime") else None,
            n % 7 != 1,
            label,
            label if n % 7 != 1 else "other",
        )
        for label in BINS
        for n in range(12)
    ]
    times = [
        AttemptTimes("evaluate", arm, "packaged", f"competition-{n}", 20.5 + n * place, 3.1 * n, 1.25, cost_microdollars=900)
        for place, arm in enumerate(ARMS)
        for n in range(4)
    ]
    pairs, options = default_pairs(SETTINGS), Options(draws=500)
    sizes = {name: len(rubrics) for name, (_, rubrics) in libraries().items()}
    attempts = [
        AttemptRow(unit=f"rollouts/pool/packaged/task-{n}/0", key="k", attempt=1, state=state, begun_at="", code="c")
        for n, state in enumerate([AttemptState.COMPLETE] * 17 + [AttemptState.LOST])
    ]
    outcomes = {attempt.unit: "submitted" for attempt in attempts}
    mixes = {"pool": distribution("pool", 1.5), "heldout": distribution("heldout", 0.4)}
    return {
        "pool": pool(),
        "failure_mix": failure_mix(mixes, libraries()),
        "libraries": library_rows(libraries(), {"matched": 7}),
        "gates": gate_rows({"matched": gate_lines_of_two()}, {"matched": 12}, libraries(), STUDY),
        "supply": supply_rows(libraries(), mixes.values()),
        "library_distances": distance_rows(libraries(), mixes),
        "exposure_runs": [run.row(mixes["heldout"]) for run in exposures()],
        "exposure": [row for run in exposures() for row in run.bin_rows(mixes["heldout"])],
        "failure_rates": failure_rate_rows({"pool": commands()}, STUDY, simulated=True),
        "mix_distances": mix_distance_rows(mixes, TAXONOMY, SETTINGS.statistics, seed=1),
        "agreement": agreement_rows(readers(), READERS),
        "confusion": confusion_rows(readers(), READERS),
        "corrected_mix": corrected_rows(readers(), READERS, TAXONOMY.bins),
        "planted_mix": planted_mix_rows(findings, STUDY, True, SETTINGS.statistics, seed=1),
        "arms": mark(results_per_arm(played, STUDY, simulated=True), ()),
        "arm_rates": mark(arm_rates(played, STUDY, simulated=True, subsets={"without_one": ("competition-1",)}), ()),
        "contrasts": mark(contrasts(played, pairs, STUDY, simulated=True, options=options), ()),
        "contrast_analyses": mark(analyses(played, pairs[:3], STUDY, simulated=True, options=options), ()),
        "ranking": mark(ranking(played, ["task_only", "scrambled", "matched"], STUDY, simulated=True), ()),
        "ladder": mark(ladder(played, ARMS, sizes, STUDY, simulated=True), ()),
        "noise": mark(noise_rows(played, repeated_finals(played), ("task_only", "scrambled", "matched"), STUDY, simulated=True), ()),
        "planner": planner(played, STUDY, simulated=True),
        "published_results": published_rows(read_published(PUBLISHED / "contrasts.csv"), read_published(PUBLISHED / "runs.csv")),
        **judge_tables(),
        **feedback_tables(),
        "truth": truth_rows(findings, STUDY, simulated=True),
        "requests": request_rows(ledger_lines(), STUDY, simulated=True),
        "unit_costs": unit_cost_rows(ledger_lines(), {"mined": (40, ("mine/weighted/pool", "classify/mined"))}, STUDY, simulated=True),
        "attempts": attempt_rows(attempts, outcomes, STUDY, simulated=True),
        "times": mark(time_rows(times, STUDY, simulated=True, ceiling="execute"), ()),
        "time_contrasts": mark(time_contrasts(times, pairs, STUDY, simulated=True, split="quick", options=options), ()),
    }


def cells(name: str, rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Rows as they come back from the CSV file."""
    return [{column.name: format_cell(row[column.name], column.unit) for column in SPECS[name].columns} for row in rows]


def dashboard(size: int = 40) -> str:
    """The dashboard of the example."""
    typed = tables()
    drawn = {
        "failure_mix": figures.failure_mix_figure(typed["failure_mix"]),
        "validity": figures.validity_figure(typed["arms"]),
        "contrasts": figures.contrasts_figure(typed["contrasts"]),
        "precision_recall": figures.precision_recall_figure(typed["precision_recall"]),
        "runs": evaluation_figures.runs_figure(typed["arms"]),
        "exposure": evaluation_figures.exposure_figure(typed["exposure"]),
        "funnel": evaluation_figures.funnel_figure(typed["funnel"]),
        "time_validity": evaluation_figures.time_validity_figure(typed["arms"], typed["times"]),
        "published": evaluation_figures.published_figure(typed["published_results"]),
    }
    provenance = {
        "title": "Can a coding world model with rubrics stand in for running code?", "study": STUDY, "simulated": True, "split": "quick",
        "commit": "0123456789abcdef", "config": f"name: example\n# {ATTACK}\n", "seed": 20261129,
        "counts": {"tasks": 24, "rollouts": 24, "failures": 190, "candidates": 63, "rubrics": 41, "verdicts": 140, "episodes": 60},
        "models": {"agent": "simulated-agent-1", "judge": "simulated-judge-1"}, "versions": {"python": "3.11.2", "numpy": "2.4.6"},
        "arms": {name: describe(arm) for name, arm in ARMS.items()}, "questions": questions(SETTINGS),
        "status": ["1 of 60 episodes was lost to the infrastructure and 1 was not run; both stay in the planned denominator."],
    }  # fmt: skip
    return build_dashboard(provenance, {name: cells(name, rows) for name, rows in typed.items()}, drawn, list(libraries(size).values()))
