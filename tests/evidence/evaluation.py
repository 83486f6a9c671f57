"""What the evaluation must show, measured afresh. Call: make evidence NAME=evaluation (some 20 minutes on two idle cores).

python tests/evidence/evaluation.py [PART ...]     only some parts: coverage, agreement, published, planted, noise, reweighting, speed, study
RUBRICS_RESULTS=FOLDER                             looks at a finished default study instead of running it
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from rubrics_gym.judge.columns import judged, predicted
from rubrics_gym.judge.measuring import measure
from rubrics_gym.judge.replay import ReplayedVerdict
from rubrics_gym.judge.reweighting import PASSED, Mix, failure_types, reweighted
from rubrics_gym.judge.sampling import Sampled, SampledVerdict, weighted
from rubrics_gym.records.files import read_records
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.report.published import published_rows, read_published
from rubrics_gym.report.specs import SPECS
from rubrics_gym.report.writing import read_table
from rubrics_gym.statistics.noise import noise_shares, squares_of
from tests.benchmarks import evaluation as speed_of
from tests.benchmarks import intervals
from tests.evidence.clones import TOP, Clone, Evidence
from tests.judge_cases import replayed_study
from tests.table_walk import bare, unsaid

SETS = 4000
AGREEMENT = {  # implementation -> tests that compare with it, on random and degenerate inputs
    "scipy: bootstrap, t, binomtest, Welch, quadrature": "scipy or bootstrap or welch or degenerate or integral or posteriors",
    "scikit-learn: every classification measure": "scikit_learn or scores_agree",
    "statsmodels: logistic regression, power, families, McNemar, analysis of variance": "statsmodels or logistic or correlation or two_judges or power",
    "closed forms and published tables": "published or closed_form or by_hand or definition or brute_force or efron",
}
FILES = [
    f"tests/unit/{name}.py"
    for name in ("test_statistics_intervals", "test_statistics_tests", "test_statistics_inference", "test_statistics_sensitivity", "test_judge_measuring",
                 "test_judge_exposure", "test_judge_sampling", "test_report_contrasts")
]  # fmt: skip


def coverage(evidence: Evidence) -> None:
    """Every interval in the study's own design; the paired t near 95% in each scenario."""
    found = intervals.main(SETS)
    for scenario, kinds in found.items():
        covered, width, without = kinds["paired_t"]
        evidence.item(
            f"coverage of the paired t, {scenario}",
            abs(covered - 0.95) < 0.0125,
            f"{100 * covered:.1f}% of {SETS} sets, width {100 * width:.1f} pp, {100 * without:.1f}% without an interval",
        )
        others = ", ".join(f"{kind} {100 * value[0]:.1f}% ({100 * value[1]:.1f} pp)" for kind, value in kinds.items() if kind != "paired_t")
        evidence.report(f"coverage of the others, {scenario}", others)


def agreement(evidence: Evidence) -> None:
    """The tests that compare with independent implementations, run now."""
    for name, chosen in AGREEMENT.items():
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, *FILES],
            cwd=TOP,
            capture_output=True,
            text=True,
            check=False,
        )
        last = run.stdout.strip().splitlines()[-1] if run.stdout.strip() else run.stderr[-200:]
        progress = [line.split(" ")[0] for line in run.stdout.splitlines()]
        counted = sum(marks.count(".") for marks in progress if marks and set(marks) <= set(".sxXFE"))
        evidence.item(
            f"agreement with {name}",
            run.returncode == 0 and counted > 3,
            f"{last[:80] if 'passed' in last else f'{counted} tests'}, exit code {run.returncode}",
        )


def published(evidence: Evidence) -> None:
    """The published contrasts, their sensitivity ranges and lost finals, and what the paired t says beside them."""
    rows = published_rows(read_published(TOP / "resources/published/contrasts.csv"), read_published(TOP / "resources/published/runs.csv"))
    ranged = [row for row in rows if row["lost_first"] is not None]
    lost = [(row["lost_first"], row["lost_second"]) for row in ranged]
    evidence.item(
        "lost finals that the published ranges imply",
        lost == [(0, 6), (0, 5), (6, 5)],
        f"quota 0, task-only 6, checks 5 in all three contrasts: {lost}",
    )
    for row in ranged:
        again = abs(row["range_low"] - row["range_low_again"]) < 0.06 and abs(row["range_high"] - row["range_high_again"]) < 0.06
        evidence.item(
            f"sensitivity range of {row['figure']}",
            again,
            f"published {row['range_low']} to {row['range_high']}, recomputed {row['range_low_again']:.1f} to {row['range_high_again']:.1f}",
        )
    for row in (row for row in rows if row["published_low"] is not None):
        evidence.report(
            f"paired t of {row['figure']}",
            f"{row['published']:+.1f} {row['unit']}, published [{row['published_low']}, {row['published_high']}], paired t [{row['recomputed_low']:.1f}, {row['recomputed_high']:.1f}]: {row['note']}",
        )
    for row in (row for row in rows if row["unit"] == "valid of 22"):
        by_t = "detectable" in row["figure"]  # printed with normal quantiles; a t test of 22 competitions needs some 5% more
        near = 1.02 < row["recomputed"] / row["published"] < 1.07 if by_t else abs(row["recomputed"] - row["published"]) < 0.05
        evidence.item(
            f"published: {row['figure']}", near, f"{row['published']} printed, {row['recomputed']:.2f} recomputed ({row['note']})"
        )


def planted(evidence: Evidence) -> None:
    """Verdicts with planted error rates, verified by chance: bias and coverage of the estimators."""
    truth = {"recall": 0.7, "specificity": 0.85}
    for chances in ((1.0, 0.3), (0.2, 0.6)):
        estimates: dict[str, list[tuple[float, float, float]]] = {}
        for seed in range(400):
            found = weighted(_planted(seed, chances, truth))
            for name, source in (
                ("recall", found.recall),
                ("recall, stratified", found.recall_stratified),
                ("specificity", found.specificity),
            ):
                assert source.estimate is not None and source.low is not None and source.high is not None
                estimates.setdefault(name, []).append((source.estimate, source.low, source.high))
        for name, values in estimates.items():
            true = truth[name.split(",")[0]]
            bias = float(np.mean([value for value, _, _ in values])) - true
            covered = float(np.mean([low <= true <= high for _, low, high in values]))
            evidence.item(
                f"planted {name}, flagged run with {chances[0]:g}, clean with {chances[1]:g}",
                abs(bias) < 0.01 and 0.92 <= covered <= 0.98,
                f"truth {true}, bias {bias:+.4f}, coverage {100 * covered:.1f}% of 400 simulated arms (22 competitions x 50 verdicts)",
            )


def noise(evidence: Evidence, sets: int = 2000) -> None:
    """The harness's share of the noise, planted: a valid program fails its final run with 10%; 22 competitions x 4 repeats, each final run made once again."""
    rng = np.random.default_rng(1)
    chances = rng.beta(2, 2, 22)
    truth = float((chances * 0.09).mean() / (0.9 * chances * (1 - 0.9 * chances)).mean())
    found = []
    for _ in range(sets):
        runs = ((rng.random((22, 4)) < chances[:, None])[..., None] & (rng.random((22, 4, 2)) < 0.9)).astype(float)
        full = {place: [list(of[:, 0])] for place, of in enumerate(runs)}
        again = {place: [list(pair) for pair in of] for place, of in enumerate(runs)}
        found.append(noise_shares(squares_of(full), {"harness": squares_of(again)})[0])
    bias = float(np.mean([one.share for one in found if one.share is not None])) - truth
    ends = [(one.share_low, one.share_high) for one in found if one.share_low is not None and one.share_high is not None]
    covered = float(np.mean([low <= truth <= high for low, high in ends]))
    evidence.item(
        "planted share of the harness",
        abs(bias) < 0.02 and 0.92 <= covered <= 0.98,
        f"truth {truth:.3f}, bias {bias:+.4f}, coverage {100 * covered:.1f}% of {len(ends)} simulated studies with an interval, of {sets}",
    )


def reweighting(evidence: Evidence, sets: int = 1000) -> None:
    """Recall and precision on another mix than the judged one, from planted rates per type of failure."""
    here, there = {"crash": 0.3, "time_limit": 0.1}, {"crash": 0.05, "time_limit": 0.25, PASSED: 0.7}
    recall, false_alarms = {"crash": 0.9, "time_limit": 0.3}, 0.1
    alarms = sum(there[kind] * rate for kind, rate in recall.items())
    truth = {"recall": alarms / 0.3, "precision": alarms / (alarms + 0.7 * false_alarms)}
    estimates: dict[str, list[tuple[float, float, float]]] = {name: [] for name in truth}
    for seed in range(sets):
        commands = judged(replayed_study(seed, here, recall, false_alarms))
        line = reweighted(commands, failure_types(commands), "there", "failure type", Mix(there))
        for name in truth:
            rate = getattr(line, name)
            estimates[name].append((rate.estimate, rate.low, rate.high))
    for name, true in truth.items():
        bias = float(np.mean([value for value, _, _ in estimates[name]])) - true
        covered = float(np.mean([low <= true <= high for _, low, high in estimates[name]]))
        evidence.item(
            f"planted {name} on another mix",
            abs(bias) < 0.01 and 0.92 <= covered <= 0.98,
            f"truth {true:.3f} (recall on the judged mix 0.75), bias {bias:+.4f}, coverage {100 * covered:.1f}% of {sets} simulated studies (22 competitions x 40 verdicts)",
        )


def _planted(seed: int, chances: tuple[float, float], truth: dict[str, float]) -> list[SampledVerdict]:
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(22 * 50):
        failed = bool(rng.random() < 0.35)
        flagged = bool(rng.random() < (truth["recall"] if failed else 1 - truth["specificity"]))
        chance = chances[0] if flagged else chances[1]
        ran = bool(rng.random() < chance)
        rows.append(SampledVerdict(unit=f"u{number % 22}", benchmark="b", task=f"t{number % 22}", step=number, index=0, judge="j", library="l", flagged=flagged,
                                   probability=chance, ran=ran, failed=failed if ran else None))  # fmt: skip
    return rows


def speed(evidence: Evidence) -> None:
    """10,000 draws of a 22 x 4 x 10-arm study beside scipy's, and the tables of a million verdicts."""
    ours, theirs = speed_of.study_bootstrap()
    evidence.item(
        "10,000 bootstrap draws of a 22 x 4 x 10-arm study",
        ours < 0.1 and ours < theirs,
        f"{1000 * ours:.1f} ms for nine contrasts, scipy.stats.bootstrap {1000 * theirs:.0f} ms, ratio {theirs / ours:.0f}",
    )
    run = subprocess.run([sys.executable, "tests/benchmarks/evaluation.py"], cwd=TOP, capture_output=True, text=True, check=False)
    line = next((line for line in run.stdout.splitlines() if line.startswith("tables of")), run.stderr[-200:])
    evidence.item("tables of 1,000,000 verdicts", run.returncode == 0 and "1,000,000" in line, line)
    evidence.report("reading verdicts", run.stdout.strip().splitlines()[-1] if run.stdout.strip() else "no output")


def study(evidence: Evidence, folder: Path) -> None:
    """The default study: precision and recall of every judge and baseline, shadow samples of its replays, and a walk through all its tables."""
    results = Path(os.environ["RUBRICS_RESULTS"]) if "RUBRICS_RESULTS" in os.environ else _default_study(evidence, folder)
    if results is None:
        return
    tables = {path.stem: read_table(path) for path in sorted((results / "tables").glob("*.csv"))}
    walked, wanting = 0, []
    for name, rows in tables.items():
        if name in SPECS:
            walked += len(rows)
            wanting += [f"{name}: {column}" for column in bare(SPECS[name])]
            wanting += [f"{name}, row {number}: {column}" for number, row in enumerate(rows, 1) for column in unsaid(SPECS[name], row)]
    known = set(tables) & set(SPECS)
    evidence.item(
        "no number without n, clusters, interval or reason, and source",
        not wanting and len(known) > 25,
        f"{walked} rows of {len(known)} tables walked, {len(wanting)} wanting {wanting[:3]}",
    )
    kinds = {row["judge"] for row in tables["precision_recall"] if row["kind"] == "baseline"} | {
        row["judge"] for row in tables["precision_recall"] if row["judge"] == "task_only"
    }
    evidence.item(
        "five baselines over the same commands",
        kinds == {"always_clean", "always_flag", "last_outcome", "static_checks", "task_only"},
        ", ".join(sorted(kinds)),
    )
    for row in tables["precision_recall"]:
        if row["truth"] == "failed" and row["reading"] == "excluded":
            said = {
                name: f"{row[name]} [{row[f'{name}_low']}, {row[f'{name}_high']}]" if row[name] else "not identified"
                for name in ("precision", "recall", "npv")
            }
            evidence.report(
                f"[simulated] {row['kind']} {row['judge']}",
                f"precision {said['precision']}, recall {said['recall']}, NPV {said['npv']}; {row['tp']} TP {row['fp']} FP {row['fn']} FN {row['tn']} TN, "
                f"{row['commands']} commands, {row['clusters']} competitions",
            )
    for path in sorted((results / "verdicts").rglob("*.jsonl")):
        if path.name.endswith("_requests.jsonl"):
            continue
        library = path.parent.name
        known_rubrics = (
            {rubric.id: rubric for rubric in read_records(results / "libraries" / library / "rubrics.jsonl", Rubric)}
            if library != "no_library"
            else {}
        )
        _shadow_of_replay(evidence, path.parent.parent.name, read_records(path, ReplayedVerdict), known_rubrics)


def _default_study(evidence: Evidence, folder: Path) -> Path | None:
    clone = Clone(folder / "study")
    began = time.monotonic()
    run = clone.snakemake()
    evidence.item(
        "the default study runs", run.returncode == 0, f"{(time.monotonic() - began) / 60:.1f} minutes, exit code {run.returncode}"
    )
    return clone.folder / "results" if run.returncode == 0 else None


def _shadow_of_replay(evidence: Evidence, judge: str, rows: list[ReplayedVerdict], rubrics: dict[str, Rubric], designs: int = 200) -> None:
    """Shadow samples drawn from a full replay (flagged 0.8, clean 0.3, logged): how often their interval holds the full replay, and what the
    weighted sums of all samples together give. (A ratio from a handful of commands is biased by itself; the sums that it is made of are not.)
    """
    once = [row for row in rows if row.repeat == 0]
    full = measure(judged(once, rubrics))
    kinds = {key: rubric.kind for key, rubric in rubrics.items()}
    said = [predicted(row.verdict, kinds)[0] for row in once]
    drawn: list[Sampled] = []
    sums = {"precision": [0.0, 0.0], "recall": [0.0, 0.0]}  # weighted true alarms, and weighted alarms or failures
    for design in range(designs):
        draws = random.Random(f"{judge}/{design}")
        sample = []
        for row, flag in zip(once, said, strict=True):
            chance = 0.8 if flag == 1 else 0.3
            ran = draws.random() < chance
            if ran and flag >= 0:
                for name, counted in (("precision", flag == 1), ("recall", row.failed)):
                    sums[name][0] += (flag == 1 and row.failed) / chance
                    sums[name][1] += counted / chance
            sample.append(SampledVerdict(unit=row.unit, benchmark=row.benchmark, task=row.task, step=row.step, index=row.index, judge=judge, library=row.verdict.library,
                                         flagged=None if flag < 0 else bool(flag), probability=chance, ran=ran, failed=row.failed if ran else None))  # fmt: skip
        drawn.append(weighted(sample))
    for name in ("precision", "recall"):
        target = getattr(full, name)
        rates = [getattr(one, name) for one in drawn]
        known = [rate for rate in rates if rate.estimate is not None]
        if target.estimate is None or len(known) < designs / 2:
            evidence.report(
                f"[simulated] shadow {name} of {judge}", f"full replay: {target.estimate}, {target.note or 'too few verdicts to sample'}"
            )
            continue
        held = [rate.low <= target.estimate <= rate.high for rate in known if rate.low is not None and rate.high is not None]
        pooled = sums[name][0] / sums[name][1]
        evidence.item(
            f"[simulated] shadow {name} of {judge} agrees with its full replay",
            abs(pooled - target.estimate) < 0.05 and (not held or float(np.mean(held)) > 0.8),
            f"full {target.estimate:.3f} (n {target.n}), inside the interval of {sum(held)} of {len(held)} shadow samples that have one; {designs} samples "
            f"together {pooled:.3f}",
        )


PARTS = {
    "published": published,
    "agreement": agreement,
    "planted": planted,
    "noise": noise,
    "reweighting": reweighting,
    "speed": speed,
    "coverage": coverage,
}


def main(parts: list[str]) -> int:
    evidence = Evidence()
    with tempfile.TemporaryDirectory(prefix="evidence-") as name:
        for part in parts:
            if part == "study":
                study(evidence, Path(name))
            else:
                PARTS[part](evidence)
    return evidence.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [*PARTS, "study"]))
