"""What failures and rubric libraries must show, measured afresh. Call: make evidence NAME=libraries (about half an hour on two cores).

python tests/evidence/libraries.py [PART ...]     only some parts: failures, published, properties, study, exposure, scale, input
"""

from __future__ import annotations

import csv
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from rubrics_gym.libraries.encoder import Encoder
from rubrics_gym.libraries.merging import merging_text
from rubrics_gym.libraries.published import Published, Standing, recompute
from rubrics_gym.records.contrasts import Contrast, LessonReview
from rubrics_gym.records.files import read_records
from rubrics_gym.records.rubrics import LibraryManifest, QuotaLine, Rubric
from tests.evidence.clones import TOP, Clone, Evidence

MINERS = ("--configfile", "config/studies/miners.yaml")
WRITTEN = ("wrong_answers", "whole_rollouts", "weighted", "weighted_outcome", "crashed_commands")
MATCHED = ("filtered_pool_trace", "filtered_oracle_trace", "filtered_pool", "filtered_oracle")
GOOD = ("violates", "satisfies")  # of the weaker program, of the stronger one
QUALITY = ("quality_1", "quality_2", "quality_3")
CONTAMINATED = {"filtered_oracle_trace", "filtered_oracle"}
QUOTAS = {"quota_50": 50, "quota_100": 100, "quota_200": 200}
TABLES = ("libraries", "library_distances", "supply", "failure_mix")
PROPERTIES = {  # property -> the tests that draw cases for it
    "a match never exceeds supply, never reorders, is idempotent for the same budgets": "tests/unit/test_libraries_matching.py",
    "merged weights conserve the sum; blocks and the order of input decide nothing": "tests/unit/test_libraries_merging.py",
    "retrieval allocations sum to k; the order of the library changes nothing": "tests/unit/test_libraries_retrieval.py",
    "allocations sum, drawn ones have their expectation": "tests/unit/test_statistics_allocation.py",
    "total variation is a metric": "tests/unit/test_statistics_distances.py",
    "quota plans sum; bins stop early": "tests/unit/test_libraries_quota.py",
    "lessons cite what is there; a gate turns down for every reason that holds": "tests/unit/test_libraries_contrasts.py",
}
BAD_INPUT = (
    "tests/unit/test_libraries_exchange.py",
    "tests/unit/test_libraries_retrieval.py",
    "tests/unit/test_libraries_merging.py",
    "tests/unit/test_libraries_matching.py",
    "tests/unit/test_libraries_mining.py",
    "tests/unit/test_failures_types.py",  # output of 50 MB in one line, bytes that are no UTF-8
)


def failures(evidence: Evidence) -> None:
    """Detection, types, categories: measured by a part of its own."""
    try:
        part = importlib.import_module("tests.evidence.libraries_failures")
    except ModuleNotFoundError:
        evidence.item("detection, types and categories", False, "tests/evidence/libraries_failures.py is not there")
        return
    part.items(evidence)


def published(evidence: Evidence) -> None:
    """Published figures beside recomputed ones."""
    lines = recompute(Published(TOP / "resources" / "published"))
    for line in lines:
        figure = f"published {line.published}; recomputed {line.recomputed}" + (f" ({line.note})" if line.note else "")
        if line.standing in (Standing.OPEN, Standing.OTHER_RULE):
            evidence.report(f"{line.about}, {line.figure} [{line.standing.value}]", figure)
        else:
            evidence.item(f"{line.about}, {line.figure}", line.standing is not Standing.DIFFERENT, figure)
    counts = Counter(line.standing.value for line in lines)
    evidence.report("published figures", ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))


def passing(*paths: str) -> tuple[bool, str]:
    """Whether the tests of some files pass, and how many there are."""
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", *paths], cwd=TOP, capture_output=True, text=True, check=False)
    passed = sum(line.count(".") for line in run.stdout.splitlines() if re.fullmatch(r"[.sFEx]+ *\[ *\d+%\]", line.strip()))
    failed = re.findall(r"^FAILED (\S+)", run.stdout, re.MULTILINE)
    return run.returncode == 0 and passed > 0, f"{passed} tests pass" + (f", failed: {', '.join(failed)}" if failed else "")


def properties(evidence: Evidence) -> None:
    for name, path in PROPERTIES.items():
        evidence.item(name, *passing(path))


def bad_input(evidence: Evidence) -> None:
    evidence.item(
        "missing fields, empty library, one category, NaN embeddings, duplicate ids, a 50 MB line, invalid UTF-8: refused by name or defined",
        *passing(*BAD_INPUT),
    )


def table(clone: Clone, name: str) -> list[dict[str, str]]:
    with open(clone.folder / "results" / "tables" / f"{name}.csv", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def library(clone: Clone, name: str, file: str = "rubrics.jsonl") -> list[Rubric]:
    return read_records(clone.folder / "results" / "libraries" / name / file, Rubric)


def manifest(clone: Clone, name: str) -> LibraryManifest:
    return LibraryManifest.model_validate_json((clone.folder / "results" / "libraries" / name / "manifest.json").read_text())


def study(evidence: Evidence, clone: Clone) -> None:
    """Every library of config/libraries.yaml on the packaged pool, with simulated models."""
    targets = [f"results/tables/{name}.csv" for name in TABLES]
    run = clone.run("snakemake", *targets, *MINERS)
    evidence.item("config/studies/miners.yaml builds", run.returncode == 0, f"exit code {run.returncode}")
    if run.returncode:
        print(run.stdout[-2000:] + run.stderr[-4000:])
        return
    rows = {row["library"]: row for row in table(clone, "libraries")}
    distances = {(row["library"], row["target"]): row for row in table(clone, "library_distances")}
    print(
        f"\n{'library':26}{'recipe':24}{'candid.':>8}{'rubrics':>8}{'crash':>6}{'wrong':>6}{'caused':>7}{'to pool':>9}{'before':>8}{'after':>7}{'floor':>7}"
    )
    for name, row in rows.items():
        to_pool = distances[name, "pool_complete"]["distance"]
        print(
            f"{name:26}{row['recipe']:24}{row['candidates']:>8}{row['rubrics']:>8}{row['crash']:>6}{row['wrong_result']:>6}{row['crash_caused_wrong_result']:>7}"
            f"{to_pool:>9}{row['distance_before']:>8}{row['distance']:>7}{row['noise_floor']:>7}{'  contaminated' if row['contaminated'] == 'true' else ''}"
        )
    print()
    recipes = yaml.safe_load((TOP / "config" / "libraries.yaml").read_text())["libraries"]
    empty = [name for name, recipe in recipes.items() if recipe["recipe"] != "contrast" and int(rows[name]["rubrics"]) == 0]
    evidence.item(
        "every library of config/libraries.yaml is built, and says something unless a gate may keep all of it out",
        not empty and all(name in rows for name in recipes),
        f"{len(recipes)} recipes, empty: {empty or 'none'}",
    )
    nearer = {
        name: (float(rows[name]["distance_before"]), float(rows[name]["distance"]), float(rows[name]["noise_floor"])) for name in MATCHED
    }
    evidence.item(
        "matching brings every library nearer to its target than the target's noise floor",
        all(after < before and after < floor for before, after, floor in nearer.values()),
        "; ".join(f"{name} {before:.1f} to {after:.1f} (floor {floor:.1f})" for name, (before, after, floor) in nearer.items()),
    )
    checks = {
        name: [json.loads(line) for line in (clone.folder / "results/libraries" / name / "verification.jsonl").read_text().splitlines()]
        for name in MATCHED
    }
    evidence.item(
        "the independent verifier confirms every match from the raw records",
        all(check["holds"] for found in checks.values() for check in found),
        f"{sum(check['holds'] for found in checks.values() for check in found)} of {sum(map(len, checks.values()))} checks hold",
    )
    marked = {
        name: {row.get("library") or row["series"] for row in table(clone, name) if row["contaminated"] == "true"}
        for name in ("libraries", "library_distances", "supply", "failure_mix")
    }
    evidence.item(
        "libraries fitted to held-out failures are marked in every table, and no other",
        all(found == CONTAMINATED for found in marked.values()),
        "; ".join(f"{name}: {', '.join(sorted(found))}" for name, found in marked.items()),
    )
    frequency(evidence, clone)
    gates(evidence, clone)
    shared(evidence, clone)
    quotas(evidence, clone)
    exchange(evidence, clone)


def rollouts_behind(rubrics: list[Rubric]) -> set[tuple[str, str, int]]:
    return {(support.collection, support.task, support.attempt) for rubric in rubrics for support in rubric.support}


def frequency(evidence: Evidence, clone: Clone) -> None:
    lost, weights = [], []
    for name in WRITTEN:
        candidates, merged = library(clone, name, "candidates.jsonl"), library(clone, name, "merged.jsonl")
        if rollouts_behind(candidates) != rollouts_behind(merged):
            lost.append(name)
        if manifest(clone, name).recipe["merge"]["keep"] == "sum":
            weights.append((sum(rubric.weight for rubric in candidates), sum(rubric.weight for rubric in merged)))
    evidence.item(
        "a merged rubric knows every rollout behind it", not lost, f"{len(WRITTEN)} libraries, rollouts lost in: {lost or 'none'}"
    )
    evidence.item("merged weights conserve the sum", all(a == b for a, b in weights), "; ".join(f"{a} to {b}" for a, b in weights))


def gates(evidence: Evidence, clone: Clone) -> None:
    """The lessons from pairs of programs: how many came through each step, and whether the accepted ones are those that the reviews bear out, counted
    here without the gate's own code."""
    right, steps = [], []
    for name in QUALITY:
        folder = clone.folder / "results" / "libraries" / name
        pairs = {one.id: one for one in read_records(folder / "contrasts.jsonl", Contrast)}
        unique = {lesson.id: lesson for lesson in library(clone, name, "merged.jsonl")}
        accepted = {lesson.id for lesson in library(clone, name, "accepted.jsonl")}
        found: dict[str, dict[str, LessonReview]] = {lesson: {} for lesson in unique}
        for review in read_records(folder / "reviews.jsonl", LessonReview):
            found[review.lesson][review.contrast] = review
        deserved = {lesson for lesson in unique if deserves(unique[lesson], found[lesson], pairs)}
        right.append(accepted == deserved and all(len(reviews) == len(pairs) for reviews in found.values()))
        rejected = sum(json.loads((folder / "rejected.json").read_text()).values())
        kept = len(library(clone, name, "candidates.jsonl"))
        development = len({one.task for one in pairs.values() if one.development})
        steps.append(
            f"{name}: {len(pairs)} contrasts on {len({one.task for one in pairs.values()})} tasks ({development} for development), {kept + rejected} proposed, "
            f"{kept} cite what is there, {len(unique)} differ, {len(accepted)} accepted"
        )
    evidence.item("accepted lessons are those that the reviews bear out, and every lesson met every contrast", all(right), "; ".join(steps))


def deserves(lesson: Rubric, reviews: dict[str, LessonReview], pairs: dict[str, Contrast]) -> bool:
    """Whether a lesson tells the pair apart that its words were written from, the programs of two other tasks and of one for development among them, and
    none of development or of its own tasks the wrong way round."""
    weaker, stronger = lesson.support[:2]
    own = {support.task for support in lesson.support}
    (source,) = (
        one
        for one in pairs.values()
        if (one.task, one.weaker.attempt, one.stronger.attempt) == (weaker.task, weaker.attempt, stronger.attempt)
    )
    said = [(pairs[name].task, pairs[name].development, (review.weaker, review.stronger)) for name, review in reviews.items()]
    told_apart = (reviews[source.id].weaker, reviews[source.id].stronger) == GOOD
    others = {task for task, _, found in said if found == GOOD} - own
    for_development = {task for task, development, found in said if development and found == GOOD} - own
    turned = any(found == GOOD[::-1] for task, development, found in said if development or task in own)
    return (
        told_apart and len(others) >= 2 and len(for_development) >= 1 and not turned and all(review.usable for review in reviews.values())
    )


def shared(evidence: Evidence, clone: Clone) -> None:
    """Two libraries of the weighted miner over the same rollouts: the second is served from the store."""
    ledger = clone.folder / "store/requests/mine/weighted/pool/ledger.jsonl"
    sent = Counter(line["key"] for line in map(json.loads, ledger.read_text().splitlines()) if line.get("state") == "sent")
    evidence.item(
        "answers are cached by request, across libraries",
        bool(sent) and max(sent.values()) == 1,
        f"{len(sent)} requests of three libraries, each sent once",
    )


def quotas(evidence: Evidence, clone: Clone) -> None:
    encoder = Encoder(clone.folder / "results" / "encoder")
    sizes = {}
    for name, planned in QUOTAS.items():
        lines = read_records(clone.folder / "results/libraries" / name / "quota.jsonl", QuotaLine)
        merged = library(clone, name, "merged.jsonl")
        sizes[name] = len(merged)
        stopped = Counter(line.stopped for line in lines if line.planned)
        ends = all(
            line.written == line.planned if line.stopped == "filled" else line.written < line.planned for line in lines if line.planned
        )
        evidence.item(
            f"quota of {planned}: every bin is filled or has nothing new to say",
            ends and sum(line.planned for line in lines) == planned,
            f"{len(merged)} of {planned} written; {stopped['filled']} bins filled, {stopped['covered']} covered; distance to the pool "
            f"{next(row['distance'] for row in table(clone, 'library_distances') if (row['library'], row['target']) == (name, 'pool_four_complete'))}",
        )
        start, nearest = 0, -1.0
        for line in lines:
            vectors = encoder.encode([merging_text(rubric) for rubric in merged[start : start + line.written]])
            start += line.written
            if len(vectors) > 1:
                nearest = max(nearest, float(np.triu(vectors @ vectors.T, 1).max()))
        evidence.item(f"quota of {planned}: no two rubrics of a bin are within 0.82", nearest < 0.82, f"largest cosine {nearest:.4f}")
    evidence.item(
        "a larger quota gives a larger library",
        all(a <= b for a, b in pairwise(sizes.values())),
        "; ".join(f"{name} {size}" for name, size in sizes.items()),
    )


def exchange(evidence: Evidence, clone: Clone) -> None:
    """Out and in again: the imported library is the exported one."""
    made = clone.run("snakemake", "results/exports/libraries/filtered_pool", *MINERS)
    folder = clone.folder / "results/exports/libraries/filtered_pool"
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    wanted = {"rubrics.jsonl", "schema.json", "README.md", "checklist.md", "instructions.md", "index.html"}
    evidence.item("export", made.returncode == 0 and wanted <= set(names), ", ".join(names) or made.stderr[-500:])
    given = {"recipe": "import", "path": "results/exports/libraries/filtered_pool/rubrics.jsonl"}
    (clone.folder / "imported.yaml").write_text(yaml.safe_dump({"extends": "config/studies/miners.yaml", "libraries": {"given": given}}))
    run = clone.run("snakemake", "results/libraries/given/rubrics.jsonl", "--configfile", "imported.yaml")
    same = run.returncode == 0 and [one.id for one in library(clone, "given")] == [one.id for one in library(clone, "filtered_pool")]
    evidence.item(
        "import of the export", same, f"{len(library(clone, 'given')) if not run.returncode else 0} rubrics, the same ids in the same order"
    )


def exposure(evidence: Evidence, clone: Clone) -> None:
    """The default study's judges: what of each library reached them."""
    run = clone.run("snakemake", "results/tables/exposure_runs.csv")
    evidence.item("the exposure audit of the default study", run.returncode == 0, f"exit code {run.returncode}")
    if run.returncode:
        return
    bins = table(clone, "exposure")
    for row in table(clone, "exposure_runs"):
        shown = [bin for bin in bins if (bin["judge"], bin["run"]) == (row["judge"], row["run"])]
        ordered = all(int(bin["in_retrieved"]) >= int(bin["in_applicable"]) >= int(bin["in_flagged"]) for bin in shown)
        sums = all(sum(int(bin[f"in_{stage}"]) for bin in shown) == int(row[stage]) for stage in ("retrieved", "applicable", "flagged"))
        evidence.item(
            f"exposure of {row['judge']}, {row['run']}",
            ordered and sums,
            f"{row['library_rubrics']} in the library, {row['retrieved']} retrieved, {row['applicable']} applicable, {row['flagged']} flagged in {row['verdicts']} "
            f"verdicts; distance to the held-out failures {row['distance_library']} / {row['distance_retrieved']} / {row['distance_applicable']} / "
            f"{row['distance_flagged']}; runtime share of the twelve {row['runtime_share']}",
        )


def scale(evidence: Evidence) -> None:
    """The benchmarks, printed as they are; what is asserted are equal answers and bounded memory, no time."""
    merging = subprocess.run([sys.executable, "tests/benchmarks/merging.py"], cwd=TOP, capture_output=True, text=True, check=False)
    print(merging.stdout + merging.stderr[-2000:])
    rows = [re.split(r"\s{2,}", line.strip()) for line in merging.stdout.splitlines()[2:] if " of " in line]
    ours = {row[0]: row for row in rows if row[1] == "ours"}
    same = all(a == b for row in rows for a, _, b in [row[-1].partition(" of ")])
    evidence.item(
        "merging 10k and 100k: every way gives the same groups",
        {"10000", "100000"} <= ours.keys() and same,
        "; ".join(f"{row[0]} {row[1]}: {row[-1]}" for row in rows),
    )
    peak = float(ours["100000"][6]) if "100000" in ours else float("inf")
    evidence.item("merging 100k: memory beside the vectors", peak < 500, f"{peak:.0f} MB (all pairs at once would be 40,000)")
    retrieval = subprocess.run([sys.executable, "tests/benchmarks/retrieval.py"], cwd=TOP, capture_output=True, text=True, check=False)
    print(retrieval.stdout + retrieval.stderr[-2000:])
    evidence.item(
        "one retrieval from 1k, 100k and 1M rubrics", retrieval.returncode == 0, f"{len(retrieval.stdout.splitlines()) - 2} lines above"
    )


def main(parts: list[str]) -> int:
    evidence = Evidence()
    alone = {"failures": failures, "published": published, "properties": properties, "scale": scale, "input": bad_input}
    for name, part in alone.items():
        if not parts or name in parts:
            part(evidence)
    if not parts or {"study", "exposure"} & set(parts):
        with tempfile.TemporaryDirectory(prefix="evidence-", dir=os.environ.get("EVIDENCE_FOLDER")) as folder:
            clone = Clone(Path(folder) / "study")
            if not parts or "study" in parts:
                study(evidence, clone)
            if not parts or "exposure" in parts:
                exposure(evidence, clone)
    return evidence.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
