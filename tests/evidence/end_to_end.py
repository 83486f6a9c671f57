"""What the end-to-end study must show, measured afresh. Call: make evidence NAME=end_to_end (about an hour on two cores).

python -m tests.evidence.end_to_end [PART ...]     only some parts: fresh, reruns, errors, kills, study
"""

from __future__ import annotations

import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from rubrics_gym.records.trajectory import EVENT
from tests.evidence.clones import TOP, Clone, Evidence

CHANGES = {  # what the README's table says, in its order
    "evaluation.split": ("evaluation={split: all}",),
    "one arm's library": ("arms={matched: {judge: {library: random}}}",),
    "one merge threshold": ("libraries={mined: {merge: {threshold: 0.9}}}",),
}
SWEEP = {"sharp": {}, "blunt": {"miss": 0.3, "false_alarm": 0.15}}  # fixed before the evaluation ran


def fresh(evidence: Evidence, folder: Path) -> Clone:
    """`make dashboard` where there is no environment yet, in under 12 minutes, the workflow itself in under 6."""
    clone = Clone(folder / "fresh")
    began = time.monotonic()
    made = clone.run("make", "dashboard")
    minutes = (time.monotonic() - began) / 60
    workflow = re.search(r"Elapsed time: (\d+):(\d+):([\d.]+)", made.stdout + made.stderr)
    took = int(workflow.group(1)) * 60 + int(workflow.group(2)) + float(workflow.group(3)) / 60 if workflow else float("inf")
    done = made.returncode == 0 and (clone.folder / "results" / "dashboard.html").exists()
    evidence.item("make dashboard without an environment", done and minutes < 12, f"{minutes:.1f} minutes (limit 12)")
    evidence.item("the workflow itself", done and took < 6, f"{took:.1f} minutes (limit 6)")
    clone.use(clone.folder / ".venv" / "bin")
    evidence.item("then a dry-run", clone.planned() == {}, f"plans {clone.planned() or 'nothing'}")
    return clone


def reruns(evidence: Evidence, clone: Clone) -> None:
    """Nothing reruns that need not, and what must rerun does, from the finished study of a clone."""
    tracked = clone.run("git", "ls-files").stdout.splitlines()
    for name in tracked:
        (clone.folder / name).touch()
    evidence.item("touch of every tracked file", clone.planned() == {}, f"{len(tracked)} files, plans {clone.planned() or 'nothing'}")

    modules = sorted((clone.folder / "scripts").rglob("*.py"))
    for module in modules:
        module.write_text(module.read_text() + "\n# a remark\n")
    evidence.item(
        "a changed comment in every module", clone.planned() == {}, f"{len(modules)} modules, plans {clone.planned() or 'nothing'}"
    )
    clone.run("git", "checkout", "--quiet", ".")

    config = yaml.safe_load((clone.folder / "config" / "config.yaml").read_text())
    turned = clone.folder / "turned.yaml"
    turned.write_text(yaml.safe_dump(dict(reversed(list(config.items()))), sort_keys=False))
    same = {
        "reordered YAML keys": ("--configfile", "turned.yaml"),
        "an overlay of equal values": ("--config", f"seed={config['seed']}", "evaluation={split: quick}"),
        "numbers as text": ("--config", 'evaluation={repeats: "1"}', 'statistics={draws: "4000"}'),
    }
    for name, arguments in same.items():
        evidence.item(name, clone.planned(*arguments) == {}, f"plans {clone.planned(*arguments) or 'nothing'}")

    copy = Clone(clone.folder.parent / "copy", clone.folder / ".venv" / "bin")
    for name in ("results", ".snakemake"):
        shutil.copytree(clone.folder / name, copy.folder / name)
    evidence.item("a clone with results/ and .snakemake/", copy.planned() == {}, f"plans {copy.planned() or 'nothing'}")

    readme = (clone.folder / "README.md").read_text()
    for change, overlay in CHANGES.items():
        plan = clone.planned("--config", *overlay) or {}
        row = next((line for line in readme.splitlines() if line.startswith(f"| {change}")), "")
        named = set(re.findall(r"`(\w+)`", row.split("|")[2])) if row else set()
        evidence.item(
            f"planned after changing {change}", named == set(plan), f"{sum(plan.values())} jobs of {len(plan)} rules, as in the README"
        )
    prompt = clone.folder / "resources" / "prompts" / "judge.yaml"
    prompt.write_text(prompt.read_text().replace("version: judge/", "version: judge/x"))
    plan = clone.planned() or {}
    row = next((line for line in readme.splitlines() if line.startswith("| one prompt")), "")
    named = set(re.findall(r"`(\w+)`", row.split("|")[2])) if row else set()
    evidence.item(
        "planned after changing one prompt", named == set(plan), f"{sum(plan.values())} jobs of {len(plan)} rules, as in the README"
    )
    clone.run("git", "checkout", "--quiet", ".")

    module = clone.folder / "scripts" / "rubrics_gym" / "harness" / "policies.py"
    module.write_text(module.read_text() + "\n_ANOTHER_LINE = 1\n")
    plan = clone.planned() or {}
    before = requests_sent(clone)
    run = clone.snakemake()
    logs = [
        log for rule in ("collect_rollout", "run_episode", "run_final") for log in (clone.folder / "results" / "logs" / rule).rglob("*.log")
    ]
    made = sum("made attempt" in log.read_text() for log in logs)
    evidence.item(
        "a line of logic in harness/policies.py: its rules run, nothing stored is made again",
        run.returncode == 0
        and {"collect_rollout", "run_episode"} <= set(plan)
        and "merge_library" in plan
        and made == 0
        and requests_sent(clone) == before,
        f"{sum(plan.values())} jobs of {len(plan)} rules planned; 0 requests sent, {made} attempts made",
    )
    clone.run("git", "checkout", "--quiet", ".")
    clone.snakemake()

    clone.run("make", "seal", "COLLECTION=pool")
    sealed = clone.planned("--config", "collections={pool: {sealed: true}}", "seed=1", "simulation={agent: {repair_success: 0.5}}") or {}
    evidence.item(
        "a sealed collection",
        bool(sealed) and "collect_rollout" not in sealed,
        f"seed and agent changed: {len(sealed)} rules planned, collect_rollout not among them",
    )


def ledgers(clone: Clone) -> dict[str, list[dict[str, object]]]:
    """Unit -> the lines of its ledger."""
    return {
        str(path.parent): [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
        for path in (clone.folder / "store" / "requests").rglob("ledger.jsonl")
    }


def requests_sent(clone: Clone) -> int:
    return sum(line.get("state") == "sent" for lines in ledgers(clone).values() for line in lines)


def errors(evidence: Evidence, folder: Path) -> None:
    """Each mistake is one paragraph before or at the job, and nothing is half-written."""
    clone = Clone(folder / "errors")
    cases = {
        "an unknown key": ("evalution={repeats: 2}", "Did you mean `evaluation`?"),
        "a misspelt arm": ("evaluation={arms: [excute]}", "Did you mean `execute`?"),
        "a missing library": ("arms={matched: {judge: {library: lost}}}", "the library `lost`"),
        "an empty benchmark": ("collections={pool: {tasks: {benchmark: dabstep}}}", "has no task in the role `train`"),
    }
    for name, (overlay, says) in cases.items():
        run = clone.snakemake("--config", overlay)
        printed = run.stdout + run.stderr
        ok = run.returncode != 0 and says in printed and "Traceback" not in printed and not (clone.folder / "results").exists()
        line = next((line for line in printed.splitlines() if says in line), "no message")
        evidence.item(name, ok, line.strip()[:160])

    with mounted(folder / "read_only", "size=10m,ro") as place:
        run = clone.run("snakemake", "--config", f"pathvars={{results: {place}}}")
        printed = run.stdout + run.stderr
        says = "cannot be written" in printed and "Traceback" not in printed
        evidence.item(
            "a read-only results folder",
            run.returncode != 0 and says,
            next((x for x in printed.splitlines() if "cannot be" in x), "no message")[:160],
        )
    with mounted(folder / "full", "size=400k") as place:
        run = clone.run("snakemake", "--config", f"pathvars={{results: {place}}}")
        printed = run.stdout + run.stderr
        half = [str(path) for path in place.rglob("*") if path.name.startswith(".") and path.is_file() and path.name != ".workflow.lock"]
        line = next((line for line in printed.splitlines() if "the disk is full" in line), "no message")
        evidence.item(
            "a full disk", run.returncode != 0 and "the disk is full" in printed and "Traceback" not in printed and not half, line[:160]
        )


class mounted:
    """A small tmpfs for the time of a block."""

    def __init__(self, folder: Path, options: str):
        self.folder, self.options = folder, options

    def __enter__(self) -> Path:
        self.folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", self.options, "tmpfs", str(self.folder)], check=True)
        return self.folder

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", str(self.folder)], check=False)


def kills(evidence: Evidence, undisturbed: Clone, folder: Path) -> None:
    """kill -9 of the workflow at three random moments, then the same command again."""
    clone = Clone(folder / "killed", undisturbed.folder / ".venv" / "bin")
    moments = random.Random(20261129)
    for number in range(3):
        workflow = clone.start("snakemake", "results/dashboard.html")
        time.sleep(moments.uniform(25, 90))
        os.kill(workflow.pid, signal.SIGKILL)
        workflow.wait()
        time.sleep(2)
        left = subprocess.run(["pgrep", "-f", str(clone.folder)], capture_output=True, text=True, check=False).stdout.split()
        evidence.item(f"kill {number + 1}: no child lives on", not left, f"{len(left)} processes left")
    again = clone.snakemake()
    evidence.item("the same command again", again.returncode == 0, f"exit code {again.returncode}")

    mine, theirs = clone.tables(), undisturbed.tables()
    differ = sorted(name for name in theirs if mine.get(name) != theirs[name])
    evidence.item(
        "scientific tables equal an undisturbed run's",
        not differ and len(theirs) >= 8,
        f"{len(theirs) - len(differ)} of {len(theirs)} equal byte for byte {differ or ''}",
    )
    bundles = sorted((undisturbed.folder / "results" / "tasks").rglob("*.tar.gz"))
    unequal = [path for path in bundles if path.read_bytes() != (clone.folder / path.relative_to(undisturbed.folder)).read_bytes()]
    evidence.item(
        "bundles equal between two runs",
        not unequal and len(bundles) >= 40,
        f"{len(bundles) - len(unequal)} of {len(bundles)} equal byte for byte",
    )

    lost = [row for row in rows(clone, "attempts") if row["state"] == "lost"]
    begun_and_lost = [
        path.parent for path in (clone.folder / "store" / "attempts").rglob("begun.json") if not (path.parent / "complete.json").exists()
    ]
    kept = {(row["unit"], row["attempt"]) for row in rows(clone, "attempts") if row["state"] != "lost"}
    evidence.item(
        "attempts differ by exactly the lost ones",
        len(lost) == len(begun_and_lost),
        f"{len(lost)} lost in the table, {len(begun_and_lost)} in the store, {len(kept)} others",
    )
    repeated = unresolved = 0
    for lines in ledgers(clone).values():
        answered: set[object] = set()
        for line in lines:
            if line.get("state") == "sent" and line["key"] in answered:
                repeated += 1
            if line.get("state") == "returned":
                answered.add(line["key"])
            unresolved += line.get("state") == "unresolved"
    evidence.item(
        "no stored response is requested twice",
        repeated == 0,
        f"{repeated} repeated, {unresolved} requests unresolved by the kills, {requests_sent(clone)} sent",
    )

    events = 0
    for path in (clone.folder / "results").rglob("trajectory.jsonl"):
        for line in path.read_text().splitlines():
            EVENT.validate_json(line)
            events += 1
    evidence.item("trajectories validate against their schema", events > 1000, f"{events} events")


def rows(clone: Clone, table: str) -> list[dict[str, str]]:
    with open(clone.folder / "results" / "tables" / f"{table}.csv", newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def study(evidence: Evidence, folder: Path) -> None:
    """The larger study over the sweep of the judge's error rates: validity per arm with intervals, and the truth table."""
    clone = Clone(folder / "study")
    judged: dict[str, list[tuple[str, ...]]] = {}
    for name, errors in SWEEP.items():  # one results folder: what does not depend on the judge is made once
        config = {"extends": "config/studies/evidence.yaml", "simulation": {"judge": errors}}
        (clone.folder / f"{name}.yaml").write_text(yaml.safe_dump(config))
        began = time.monotonic()
        run = clone.run("snakemake", "results/dashboard.html", "--configfile", f"{name}.yaml")
        minutes = (time.monotonic() - began) / 60
        evidence.item(f"evidence study, judge {name}", run.returncode == 0, f"{minutes:.1f} minutes")
        if run.returncode:
            print((run.stdout + run.stderr)[-3000:])
            continue
        validity = {row["arm"]: float(row["validity"]) for row in rows(clone, "arms")}
        for row in rows(clone, "arms"):
            evidence.report(
                f"[simulated] {name}: validity under {row['arm']}",
                f"{float(row['validity']):.3f} [{row['validity_low']}, {row['validity_high']}], {row['valid']} of {row['finished']} finished "
                f"({row['planned']} planned, {row['lost']} lost), {row['clusters']} competitions, {row['interval_kind']}",
            )
        order = validity["notice"] < validity["task_only"] < validity["matched"] <= validity["execute"]
        evidence.report(
            f"{name}: notice < task_only < matched <= execute", "as the mechanism predicts" if order else "NOT as the mechanism predicts"
        )
        for row in rows(clone, "contrasts"):
            if {row["first"], row["second"]} & {"scrambled", "matched"} and row["endpoint"] == "valid":
                evidence.report(
                    f"{name}: {row['first']} - {row['second']}", f"{row['estimate']} pp [{row['low']}, {row['high']}], p {row['p']}"
                )
        judged[name] = [
            (row["judge"], row["reading"], row["tp"], row["fp"]) for row in rows(clone, "precision_recall") if row["kind"] == "judge"
        ]
        for row in rows(clone, "precision_recall"):
            evidence.report(
                f"{name}: {row['kind']} {row['judge']} ({row['reading']})",
                f"precision {row['precision'] or 'not identified'}, recall {row['recall'] or 'not identified'}, {row['commands']} commands",
            )
    moved = sum(sharp != blunt for sharp, blunt in zip(judged.get("sharp", []), judged.get("blunt", []), strict=False))
    evidence.item(
        "the sweep moves the judge", moved > 0, f"{moved} of {len(judged.get('sharp', []))} rows of true and false positives differ"
    )
    for row in rows(clone, "truth"):
        figure = (
            f"{row['surfaced']} of {row['planted']} surfaced; detected {row['detected_share'] or '-'}, typed right {row['typed_share'] or '-'} "
            f"(n {row['typed_n']}), categorised right {row['categorised_share'] or '-'} (n {row['categorised_n']})"
        )
        if row["kind"] == "total":
            good = float(row["detected_share"]) > 0.95 and float(row["typed_share"]) > 0.95
            evidence.item("truth table: detected and typed right above 0.95", good, figure)
        else:
            evidence.report(f"truth table: {row['kind']}", figure)


def isolation(evidence: Evidence) -> None:
    """The simulated models see nothing but the rendered request, and share nothing."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "isolation", "tests"],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=False,
    )
    last = run.stdout.strip().splitlines()[-1] if run.stdout.strip() else run.stderr[-200:]
    evidence.item("isolation tests of the simulated models", run.returncode == 0 and "passed" in last, last)


def main(parts: list[str]) -> int:
    evidence = Evidence()
    with tempfile.TemporaryDirectory(prefix="evidence-") as name:
        folder = Path(name)
        if {"fresh", "reruns", "kills"} & set(parts):
            clone = fresh(evidence, folder)
            if "kills" in parts:
                kills(evidence, clone, folder)
            if "reruns" in parts:
                reruns(evidence, clone)
        if "errors" in parts:
            errors(evidence, folder)
        if "study" in parts:
            isolation(evidence)
            study(evidence, folder)
    return evidence.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["fresh", "kills", "reruns", "errors", "study"]))
