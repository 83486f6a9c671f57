"""The part of `make evidence NAME=requests` about frozen protocols and `make plan`."""

from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

from tests.evidence.clones import Clone, Evidence

PROTOCOL = "config/protocols/small"
RUN = ("snakemake", "--configfile", f"{PROTOCOL}/config.yaml")


def items(evidence: Evidence, folder: Path) -> None:
    """Measure the shipped protocol and the plans in clones under `folder`."""
    reproduced(evidence, folder)
    changed(evidence, folder)
    plans(evidence, folder)


def reproduced(evidence: Evidence, folder: Path) -> None:
    """In a fresh clone, with the network off where this machine allows it."""
    clone = Clone(folder / "protocol")
    offline = ("unshare", "--net", "--map-root-user") if os.getuid() else ("unshare", "--net")
    able = shutil.which("unshare") and subprocess.run([*offline, "true"], check=False, capture_output=True).returncode == 0
    run = clone.run(*(offline if able else ()), *RUN)
    table = clone.folder / "results/protocols/small/tables/verification.csv"
    rows = list(csv.DictReader(table.open(newline=""))) if table.exists() else []
    states = Counter(row["state"] for row in rows)
    equal = run.returncode == 0 and len(rows) > 100 and set(states) == {"equal"}
    others = [f"{row['artefact']} {row['state']}: {row['where']}" for row in rows if row["state"] != "equal"]
    evidence.item(
        "the shipped protocol, fresh clone, network off",
        bool(equal and able),
        f"{dict(states)} of {len(rows)} artefacts; network off: {bool(able)}{''.join(f'; {other}' for other in others)}",
    )
    sent = sum(
        json.loads(line).get("state") == "sent"
        for ledger in (clone.folder / "store/requests").rglob("ledger.jsonl")
        for line in ledger.read_text().splitlines()
    )
    evidence.item("it asks nobody", run.returncode == 0 and sent == 0, f"{sent} requests in this machine's store")

    response = next((clone.folder / "store/protocols/small/recompute/responses").rglob("*.json"))
    damaged = bytearray(response.read_bytes())
    at = damaged.index(b'"response"') + 30
    damaged[at] ^= 1
    response.write_bytes(bytes(damaged))
    shutil.rmtree(clone.folder / "results")
    run = clone.run(*RUN)
    line = first_line(run, response.name)
    evidence.item("one byte of an unpacked response changed", run.returncode != 0 and bool(line), line or "not noticed")


def changed(evidence: Evidence, folder: Path) -> None:
    """What differs from what was frozen is refused by name, before the first job."""
    clone = Clone(folder / "changed")
    changes = {
        "one byte of a prompt": ("resources/prompts/judge.yaml", "judge.yaml is not what was frozen"),
        "one price": ("resources/prices.yaml", "prices.yaml is not what was frozen"),
    }
    for name, (path, says) in changes.items():
        place = clone.folder / path
        kept = place.read_bytes()
        place.write_bytes(kept.replace(b"1", b"2", 1))
        run = clone.run(*RUN)
        evidence.item(
            f"{name} changed",
            run.returncode != 0 and not (clone.folder / "results/protocols").exists() and bool(first_line(run, says)),
            first_line(run, says) or "not refused",
        )
        place.write_bytes(kept)
    archive = clone.folder / PROTOCOL / "paid.tar.gz"
    kept = archive.read_bytes()
    raw = bytearray(gzip.decompress(kept))
    raw[raw.index(b"store/responses/") + 600] ^= 1
    archive.write_bytes(gzip.compress(bytes(raw), mtime=0))
    run = clone.run(*RUN)
    says = "paid.tar.gz is not what was frozen"
    evidence.item(
        "one byte of a stored response changed", run.returncode != 0 and bool(first_line(run, says)), first_line(run, says) or "not refused"
    )
    archive.write_bytes(kept)
    run = clone.run(*RUN, "-n", "--config", "seed=1")
    evidence.item(
        "a setting changed", run.returncode != 0 and "`seed`" in run.stdout + run.stderr, first_line(run, "`seed`") or "not refused"
    )
    module = clone.folder / "scripts/rubrics_gym/failures/detection.py"
    module.write_text(module.read_text() + "\n_ANOTHER = 1\n")
    lenient, strict = clone.run(*RUN, "-n"), clone.run(*RUN, "-n", "--config", "protocol={strict_code: true}")
    holds = lenient.returncode == 0 and strict.returncode != 0 and "failures.detection" in strict.stdout + strict.stderr
    evidence.item("code changed: reported, refused under strict_code", holds, first_line(strict, "strict_code") or "not refused")


def plans(evidence: Evidence, folder: Path) -> None:
    """`make plan` before anything ran, after the judge's prompt was changed in a finished study, and on the published design."""
    clone = Clone(folder / "plan")
    plan = ("python", "scripts/plan_costs.py")
    clone.environment["PYTHONPATH"] = "scripts"
    for name, arguments in {
        "the untouched default study": (),
        "MLE-bench Lite, before anything was run": ("config/studies/mle_bench_lite.yaml",),
    }.items():
        run = clone.run(*plan, *arguments)
        evidence.item(f"plan of {name}", run.returncode == 0 and "run_episode" in run.stdout, total(run.stdout))
    made = clone.run("snakemake", "--configfile", "config/studies/small.yaml")
    run = clone.run(*plan, "config/studies/small.yaml")
    evidence.item("plan of a finished study", made.returncode == 0 and "nothing would run" in run.stdout, run.stdout.strip()[:120])
    prompt = clone.folder / "resources/prompts/judge.yaml"
    prompt.write_text(prompt.read_text().replace("version: judge/", "version: judge/x"))
    run = clone.run(*plan, "config/studies/small.yaml")
    asked = {
        line.split()[0]
        for line in run.stdout.splitlines()
        if line.startswith(("run_episode", "replay_judge", "collect_rollout", "mine_candidates"))
    }
    evidence.item("plan after changing the judge's prompt", asked == {"run_episode", "replay_judge"}, total(run.stdout))
    print(run.stdout)


def total(printed: str) -> str:
    """The last line of a plan's table."""
    return next((" ".join(line.split()) for line in printed.splitlines() if line.startswith("total")), printed.strip()[-160:])


def first_line(run: subprocess.CompletedProcess[str], says: str) -> str:
    """The first line of what a run printed that holds some words."""
    return next((line.strip()[:200] for line in (run.stdout + run.stderr).splitlines() if says in line), "")
