"""Freeze a study: run it under a configuration that is complete in itself, then pack what it used and what came out.

Call: make freeze NAME=small STUDY=config/studies/small.yaml. What the store holds is served from there, so freezing a finished study costs nothing.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from rubrics_gym.records.files import DamagedFile, read_records, write_text
from rubrics_gym.settings.code import commit
from rubrics_gym.settings.loading import ConfigurationError, load_study, read_file
from rubrics_gym.settings.places import store_folder
from rubrics_gym.settings.study import Protocol
from rubrics_gym.store.attempts import AttemptRow
from rubrics_gym.store.ledger import read_entries
from rubrics_gym.studies.protocols import CONFIG, PROTOCOLS, FinishedRun, write_protocol

# Measured times, and what is made from them, differ between equal runs; the page also names the commit.
ARTEFACTS = (
    "tasks/*/*/*.tar.gz",
    "rollouts/*/*/*/*/*.*",
    "episodes/*/*/*/*/*/*.*",
    "failures/*/*.parquet",
    "distributions/*.*",
    "libraries/*/*.json*",
    "verdicts/*/*/*.jsonl",
    "tables/*.csv",
    "figures/*.svg",
)
LOOKS = ("resources/dashboard/", "resources/pages/")
NOT_COMPARED = {
    "tables/times.csv",
    "tables/time_contrasts.csv",
    "tables/replaced.csv",
    "figures/time_validity.svg",
    "tables/verification.csv",
}


def units(results: Path) -> set[str]:
    """Every unit that the results of a study say asked a model or was attempted."""
    asked = {entry.unit for path in results.rglob("*requests.jsonl") for entry in read_entries(path) if entry.unit}
    return asked | {row.unit for path in results.rglob("*attempts.jsonl") for row in read_records(path, AttemptRow)}


def artefacts(results: Path) -> list[Path]:
    """What must come out equal, byte for byte."""
    found = {path for pattern in ARTEFACTS for path in results.glob(pattern) if path.is_file()}
    return sorted(path for path in found if path.relative_to(results).as_posix() not in NOT_COMPARED)


def write_config(folder: Path, settings: dict[str, object], protocol: Protocol | None) -> None:
    """The complete configuration of a protocol."""
    content = {**settings, "extends": None, "protocol": protocol and protocol.model_dump(mode="json")}
    head = "# A frozen protocol, written by `make freeze`. It is run as it is: snakemake --configfile config/protocols/NAME/config.yaml\n"
    write_text(folder / CONFIG, head.replace("NAME", folder.name) + yaml.safe_dump(content, sort_keys=False))


def run(*arguments: str) -> str:
    """Snakemake on the configuration that is being frozen; its output."""
    done = subprocess.run(["snakemake", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"freeze: the study did not finish, so nothing was frozen:\n{(done.stderr or done.stdout)[-2000:]}")
    return done.stdout + done.stderr


def planned(printed: str) -> dict[str, int]:
    """Rule -> jobs of a dry-run's own table."""
    rows = re.findall(r"^(\w+) +(\d+)$", printed.partition("Job stats:")[2].partition("total")[0], re.MULTILINE)
    return {rule: int(count) for rule, count in rows if rule != "all"}


def inputs(summary: str) -> list[str]:
    """What the jobs of a `--detailed-summary` read of the repository, but for the looks of pages. A study that reads nothing is a mistake."""
    header, *rows = [line.split("\t") for line in summary.splitlines() if "\t" in line]
    column = header.index("input-file(s)")
    read = {path for row in rows for path in row[column].split(",")}
    found = sorted(path for path in read if path.startswith("resources/") and not path.startswith(LOOKS))
    if not found:
        raise DamagedFile("snakemake --detailed-summary names no file of resources/, so nothing could be frozen of what the study reads")
    return found


def freeze(name: str, config: str) -> None:
    folder = PROTOCOLS / name
    results = Path("results/protocols") / name
    if "://" in store_folder():
        sys.exit(
            f"freeze: the store is a bucket ({store_folder()}); copy it to a folder first and name that: RUBRICS_STORE=FOLDER make freeze NAME={name}"
        )
    if folder.exists():
        sys.exit(f"freeze: {folder} exists; a protocol is never changed. Choose another name, or remove the folder first.")
    study = load_study(read_file(config), config)
    settings = study.model_dump(mode="json") | {"pathvars": {"results": str(results)}}
    write_config(folder, settings, None)
    try:
        target = (f"{results}/dashboard.html", "--configfile", str(folder / CONFIG))
        dry = run("-n", "--forceall", *target)
        run(*target)
        read = inputs(run("--detailed-summary", *target))
        write_config(folder, settings, Protocol(name=name))
        made = units(results), results, artefacts(results)
        finished = FinishedRun(Path(), commit(but=folder), read, Path(store_folder()), *made, planned(dry))
        manifest = write_protocol(folder, study, finished)
    except BaseException:
        shutil.rmtree(folder)
        raise
    print(json.dumps({"protocol": str(folder), "stored files": len(manifest.store), "artefacts": len(manifest.artefacts)}))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("freeze: name the protocol: make freeze NAME=small [STUDY=config/studies/small.yaml]")
    try:
        freeze(sys.argv[1], sys.argv[2])
    except (ConfigurationError, DamagedFile, FileNotFoundError) as error:
        sys.exit(f"freeze: {error}")
