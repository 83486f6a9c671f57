"""What benchmarks, hold-outs and graders must show, measured afresh. Call: make evidence NAME=benchmarks (some minutes on two cores).

python tests/evidence/benchmarks.py [PART ...]     only some parts: pool, corpus, bundles, archives, listing, sources, graders

The benchmarks' own files are read where they are: ../shared/corpus beside the clone, or below the folder that RUBRICS_CORPUS names.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from rubrics_gym.records.archives import UnsafeArchive, unpack_archive
from rubrics_gym.records.tasks import Role, TaskKind
from rubrics_gym.tasks.bundles import write_bundles
from rubrics_gym.tasks.catalog import Entry
from rubrics_gym.tasks.holdouts import list_tasks, load_rule
from rubrics_gym.tasks.loaders import dacode, loader_of, mlagentbench, mlgym, openml, paperbench
from rubrics_gym.tasks.unpacking import unpack_public
from tests.corpus import CORPUS, corpus_of
from tests.evidence.clones import TOP, Clone, Evidence

Row = dict[str, str]
NOT_SHIPPED = "its files are not in the repository"


# ---------------------------------------------------------------- the pool


def pool(evidence: Evidence, folder: Path) -> None:
    """Counts from tables/pool.csv beside the published ones, and what the variants do."""
    clone = Clone(folder / "pool")
    run = clone.run("snakemake", "results/tables/pool.csv")
    path = clone.folder / "results" / "tables" / "pool.csv"
    evidence.item("tables/pool.csv is made", run.returncode == 0 and path.is_file(), f"exit code {run.returncode}")
    if not path.is_file():
        print((run.stdout + run.stderr)[-2000:])
        return
    with open(path, newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    evidence.report("tasks in pool.csv", f"{len(rows)} of {len({row['benchmark'] for row in rows})} benchmarks")
    _counts(evidence, rows)
    _variants(evidence, rows)


def _counted(rows: list[Row], benchmark: str, among: Callable[[Row], bool] = lambda row: True) -> tuple[int, int]:
    """Kept and removed under the published variant."""
    chosen = [row["published"] for row in rows if row["benchmark"] == benchmark and among(row)]
    return chosen.count("kept"), chosen.count("removed")


def _counts(evidence: Evidence, rows: list[Row]) -> None:
    def beside(name: str, published: str, found: tuple[int, int], expected: tuple[int, int], why: str) -> None:
        evidence.item(f"{name} kept/removed", found == expected, f"published {published}, found {found[0]}/{found[1]}. {why}")

    def can_run(row: Row) -> bool:
        return not row["cannot_run"]

    beside("DABench", "217/40", _counted(rows, "dabench"), (217, 40), "Equal.")
    shipped = _counted(rows, "dacode", lambda row: row["cannot_run"] != NOT_SHIPPED)
    beside("DA-Code (62 that ship files)", "56/6", shipped, (56, 6), "Equal; the repository ships files of 62 of 500 tasks.")
    with_data = [row for row in rows if row["benchmark"] == "dacode" and can_run(row)]
    kept = sum(row["published"] == "kept" for row in with_data)
    evidence.item(
        "DA-Code with input data",
        (len(with_data), kept) == (53, 48),
        f"published 53 used, found {len(with_data)} with input data, of which {kept} are kept: nine of the 62 folders hold a description or a "
        "template only; the published 53 equal those with data before the filter",
    )
    beside("DSBench", "21/54", _counted(rows, "dsbench"), (20, 54), "The task list of the pinned commit has 74 tasks, not 75.")
    beside("MLGym", "13/1", _counted(rows, "mlgym", can_run), (13, 1), "Of 19 task files five are variants or have no data set file.")
    beside(
        "MLAgentBench",
        "12/0",
        _counted(rows, "mlagentbench", can_run),
        (10, 2),
        "Of 15 folders 12 can be graded; the published count leaves a held-out competition (identify-contrails) and a development one "
        "(spaceship-titanic) in the pool.",
    )
    beside("RE-Bench", "2/0", _counted(rows, "rebench", can_run), (2, 0), "No name is shared; two of seven fit one GPU.")
    statuses = Counter((row["benchmark"], row["status"]) for row in rows)
    evidence.item(
        "two columns: hold-out and cannot run here",
        any(row["holdout"] == "removed" and row["cannot_run"] for row in rows) and statuses["dabstep", "cannot run"] == 1,
        f"{sum(row['holdout'] == 'removed' for row in rows)} removed by the filter, {sum(bool(row['cannot_run']) for row in rows)} cannot run here, "
        f"{sum(row['holdout'] == 'removed' and bool(row['cannot_run']) for row in rows)} both",
    )


def _variants(evidence: Evidence, rows: list[Row]) -> None:
    named = {f"{row['benchmark']}/{row['task']}": row for row in rows if row["role"] != "held_out" and row["benchmark"] != "mlebench"}
    aliases = {alias for others in load_rule("mle-bench").aliases.values() for alias in others}
    competitions = {row["task"] for row in rows if row["benchmark"] == "mlebench"}
    overlaps = {name for name, row in named.items() if name in aliases or row["task"] in competitions}
    by_id = {name for name in overlaps if named[name]["task"] in competitions}
    for variant in ("strict", "exact"):
        missed = sorted(name for name in overlaps if named[name][variant] == "kept")
        evidence.item(
            f"{variant}: real overlaps that are caught", not missed and len(overlaps) >= 13, f"{len(overlaps)} of {len(overlaps)}"
        )
    by_word = sorted(name for name in overlaps - by_id if named[name]["published"] == "removed")
    missed = sorted(name for name in overlaps if named[name]["published"] == "kept")
    evidence.report(
        "published: real overlaps",
        f"{len(by_id)} caught by id; {len(by_word)} only because a word happens to be shared ({', '.join(by_word)}); "
        f"{len(missed)} missed {missed or ''}; strict and exact catch them by alias, whatever the words",
    )
    returning = {
        name for name, row in named.items() if row["published"] == "removed" and row["exact"] == "kept" and row["benchmark"] != "packaged"
    }
    counts = Counter(name.split("/")[0] for name in returning)
    evidence.item(
        "exact: namesakes that return",
        not returning & overlaps and counts["dabench"] == 40,
        ", ".join(f"{name} {number}" for name, number in sorted(counts.items())) + ", such as dsbench/titanic and mlgym/titanic",
    )


# ---------------------------------------------------------------- loaders on the corpus


def corpus(evidence: Evidence, folder: Path) -> None:
    """Every loader on the benchmarks' own files."""
    if not CORPUS.is_dir():
        evidence.item("the corpus of real files", False, f"not at {CORPUS}; RUBRICS_CORPUS names its parent")
        return
    benchmark, source = corpus_of("dabench")
    made = [loader_of("dabench")(source, entry) for entry in benchmark.entries]
    answers = sum(len(json.loads(_bytes(task.private["answers.json"]))) for task in made)
    evidence.item("DABench loads", (len(made), answers) == (257, 461), f"{len(made)} of 257 tasks, {answers} sub-answers")

    benchmark, source = corpus_of("dacode")
    there = sorted(path.name for path in (CORPUS / "DA-Code" / "da_code" / "source").iterdir())
    loaded = {name: dacode.load(source, benchmark.entry(name)) for name in there}
    with_gold = sum(any(member.startswith("gold/") for member in task.private) for task in loaded.values())
    evidence.item("DA-Code loads", len(loaded) == 16, f"{len(loaded)} of {len(there)} tasks with files there, {with_gold} with gold files")

    benchmark, source = corpus_of("dsbench")
    stored = CORPUS / "DSBench" / "data_modeling" / "save_performance"

    def score(model: str, name: str) -> float:
        return float((stored / model / name / "result.txt").read_text())

    same = [entry.facts == {"baseline": score("baseline", entry.id), "reference": score("GT", entry.id)} for entry in benchmark.entries]
    higher = sum(entry.facts["reference"] > entry.facts["baseline"] for entry in benchmark.entries)
    evidence.item(
        "DSBench: scores of the task table equal the stored ones",
        all(same) and len(same) == 74,
        f"{sum(same)} of 74; {higher} higher is better",
    )

    benchmark, source = corpus_of("mlgym")
    readable = {entry.id: mlgym.read_task_files(source, entry) for entry in benchmark.entries if not entry.exclude}
    split, gold = mlgym.split_data(source, benchmark.entry("regressionKaggleHousePrice"), [])
    sizes = {name.split("/")[-1]: _bytes(content).count(b"\n") - 1 for name, content in {**split, **gold}.items()}
    evidence.item(
        "MLGym: task files and the split of house prices",
        len(readable) == 14 and sizes == {"train.csv": 1022, "validation.csv": 146, "test.csv": 292, "answer.csv": 292},
        f"{len(readable)} of 14 distinct tasks; rows {sizes}",
    )

    benchmark, source = corpus_of("mlagentbench")
    problems = [mlagentbench.research_problem(source, entry) for entry in benchmark.entries]
    evidence.item("MLAgentBench: task files", len(problems) == 15 and all(problems), f"{len(problems)} of 15")

    _, source = corpus_of("openml")
    task = openml.load(source, Entry(id="1882", kind=TaskKind.PREDICTION, role="train", title="anneal"))
    test = list(csv.DictReader(_bytes(task.public["data/test.csv"]).decode().splitlines()))
    evidence.item(
        "OpenML task 1882", len(test) == 90 and "class" not in test[0], f"{len(test)} test rows of fold 0 without their label, 100 folds"
    )

    benchmark, source = corpus_of("paperbench")
    papers = [entry for entry in benchmark.entries if f"{paperbench.ROOT}/{entry.id}/rubric.json" in source.hashes]
    leaves = {entry.id: paperbench.check_tree(source.json(f"{paperbench.ROOT}/{entry.id}/rubric.json"), entry.id) for entry in papers}
    evidence.item(
        "PaperBench: rubrics",
        len(leaves) == 6 and leaves.get("stochastic-interpolants") == 69,
        f"{len(leaves)} trees, {sum(leaves.values())} leaves",
    )


def _bytes(content: bytes | Path) -> bytes:
    return content if isinstance(content, bytes) else content.read_bytes()


# ---------------------------------------------------------------- bundles

# sha256 over the names and contents of all bundles of DABench, without the compression: any machine must find the same
DABENCH_CONTENT = "432be1b3cceca968fa0d5e61cafcfc11a431c459eede6baaccc373ab4ea88760"


def build_dabench(folder: str) -> None:
    """Build both bundles of every task; a process of its own, so that time and memory are those of the work."""
    benchmark, source = corpus_of("dabench")
    load = loader_of("dabench")
    began, used = time.perf_counter(), time.process_time()
    for entry in benchmark.entries:
        place = Path(folder) / entry.id
        write_bundles(load(source, entry), place / "public.tar.gz", place / "private.tar.gz")
    seconds = {"wall_s": time.perf_counter() - began, "processor_s": time.process_time() - used}
    print(json.dumps({**seconds, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000}))


def bundles(evidence: Evidence, folder: Path) -> None:
    """Two builds in two processes that differ in everything that must not matter; time and memory of one."""
    if not CORPUS.is_dir():
        evidence.item("bundles of DABench", False, f"no corpus at {CORPUS}")
        return
    program = [sys.executable, str(Path(__file__)), "build_dabench"]
    plain = {**os.environ, "TZ": "UTC", "PYTHONHASHSEED": "1"}
    other = {**os.environ, "TZ": "Asia/Kolkata", "PYTHONHASHSEED": "2", "LC_ALL": "C", "SOURCE_DATE_EPOCH": "1"}
    first = subprocess.run([*program, str(folder / "one")], env=plain, capture_output=True, text=True, check=False)
    second = subprocess.run(
        [*program, str(folder / "two")], env=other, cwd=folder, umask=0o077, capture_output=True, text=True, check=False
    )
    archives = sorted(path.relative_to(folder / "one") for path in (folder / "one").rglob("*.tar.gz"))
    unequal = [path for path in archives if (folder / "one" / path).read_bytes() != (folder / "two" / path).read_bytes()]
    evidence.item(
        "bundles are the same bytes in two builds",
        len(archives) == 514 and not unequal and second.returncode == 0,
        f"{len(archives) - len(unequal)} of {len(archives)} (other time zone, hash seed, umask, locale, folder)",
    )
    digest = hashlib.sha256()
    for path in archives:
        digest.update(f"{path}\0".encode() + hashlib.sha256(gzip.decompress((folder / "one" / path).read_bytes())).digest())
    evidence.item(
        "and hold what is on record for every machine",
        digest.hexdigest() == DABENCH_CONTENT,
        f"sha256 of their contents {digest.hexdigest()[:16]}",
    )
    measured = json.loads(first.stdout) if first.returncode == 0 else {}
    evidence.item(
        "loading and bundling all 257 tasks",
        bool(measured) and measured["peak_mb"] < 300,
        f"{measured['processor_s']:.1f} s of processor time ({measured['wall_s']:.1f} s by the clock), peak {measured['peak_mb']:.0f} MB of memory, "
        f"{sum((folder / 'one' / path).stat().st_size for path in archives) / 1e6:.1f} MB written"
        if measured
        else first.stderr[-300:],
    )
    whole = sum(unpack_public(folder / "one" / entry / "public.tar.gz", folder / "work" / entry).id == entry for entry in ("0", "734"))
    evidence.item("a bundle unpacks to the task it was made from", whole == 2, f"{whole} of 2")
    tests = _pytest("tests/workflow/test_graph.py", "-k", "private")
    evidence.item("private bundles are opened by no rule but grading", " passed" in tests and "failed" not in tests, tests)


def _pytest(*arguments: str) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments], cwd=TOP, capture_output=True, text=True, check=False
    )
    return run.stdout.strip().splitlines()[-1] if run.stdout.strip() else run.stderr[-200:]


# ---------------------------------------------------------------- hostile archives


def archives(evidence: Evidence, folder: Path) -> None:
    """Each hostile archive is refused with a message, and nothing is written where it points."""
    for name, make in {
        "a member that climbs out (../)": _climbing,
        "a symbolic link": _linking,
        "a 10 GB sparse file": _sparse,
        "a 10 GB file of zeros": _zeros,
        "200,000 entries": _crowded,
    }.items():
        place = folder / re.sub(r"\W+", "_", name)
        place.mkdir()
        archive = make(place)
        for reader in (unpack_archive, unpack_public):
            began = time.perf_counter()
            try:
                reader(archive, place / "out")
                message = ""
            except UnsafeArchive as error:
                message = str(error).replace(str(place), "…")
            left = [path for path in (place / "out", place.parent / "escaped") if path.exists()]
            evidence.item(
                f"{name}, by {reader.__name__}",
                bool(message) and not left,
                f"{message or 'NOT refused'} ({time.perf_counter() - began:.2f} s, nothing written)" if not left else f"wrote {left}",
            )
    evidence.report("peak memory of all refusals", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000:.0f} MB")


def _packed(place: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    import io

    with tarfile.open(place / "hostile.tar.gz", "w:gz") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return place / "hostile.tar.gz"


def _climbing(place: Path) -> Path:
    return _packed(place, (tarfile.TarInfo("good"), b"x"), (tarfile.TarInfo("../../escaped"), b"x"))


def _linking(place: Path) -> Path:
    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return _packed(place, (tarfile.TarInfo("good"), b"x"), (link, b""))


def _sparse(place: Path, *options: str) -> Path:
    with open(place / "huge", "wb") as huge:
        huge.truncate(10_000_000_000)
    subprocess.run(["tar", "--create", "--gzip", "--sparse", "-C", place, "-f", place / "hostile.tar.gz", "huge"], check=True)
    return place / "hostile.tar.gz"


def _zeros(place: Path) -> Path:
    """Its header claims ten gigabytes; the first of them are there."""
    info = tarfile.TarInfo("huge")
    info.size = 10_000_000_000
    with gzip.open(place / "hostile.tar.gz", "wb") as archive:
        archive.write(info.tobuf() + b"\0" * 50_000_000)
    return place / "hostile.tar.gz"


def _crowded(place: Path) -> Path:
    return _packed(place, *((tarfile.TarInfo(f"file{number}"), b"") for number in range(200_000)))


# ---------------------------------------------------------------- listing and sources


def list_benchmarks() -> None:
    """List every task of every benchmark as the workflow does when it is parsed, and say what was opened for it."""
    opened: list[str] = []
    sys.addaudithook(lambda event, details: opened.append(str(details[0])) if event == "open" else None)
    from rubrics_gym.tasks.catalog import benchmark_names, load_benchmark
    from rubrics_gym.tasks.holdouts import decide, rules_for

    opened.clear()
    began, used = time.perf_counter(), time.process_time()
    tasks = sum(len(decide(load_benchmark(name), rules_for(load_benchmark(name)))) for name in benchmark_names())
    seconds = {"wall_s": time.perf_counter() - began, "processor_s": time.process_time() - used}
    data = sorted({path for path in opened if not path.endswith((".pyc", ".py", ".so"))})
    print(json.dumps({"tasks": tasks, **seconds, "opened": data}))


def listing(evidence: Evidence, folder: Path) -> None:
    """Listing all benchmarks reads task tables and hold-out rules, and nothing else. Processor time, because other work may share the machine."""
    program = [sys.executable, str(Path(__file__)), "list_benchmarks"]
    runs = [json.loads(subprocess.run(program, capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    fastest, by_clock = (min(run[what] for run in runs) for what in ("processor_s", "wall_s"))
    tables = [path for path in runs[0]["opened"] if re.search(r"resources/(benchmarks|holdouts)/[\w-]+\.yaml$", path)]
    other = [path for path in runs[0]["opened"] if path not in tables]
    figure = f"{1000 * fastest:.0f} ms of processor time ({1000 * by_clock:.0f} ms by the clock) for {runs[0]['tasks']} tasks; fastest of 5"
    evidence.item("listing all benchmarks under 0.3 s", fastest < 0.3, figure)
    evidence.item(
        "no data is read for it", not other and len(tables) >= 11, f"{len(tables)} tables of resources/ opened, {other or 'nothing else'}"
    )


def sources(evidence: Evidence, folder: Path) -> None:
    """A collection whose benchmark is missing, incomplete or under terms that were not accepted does not start, and says what to run."""
    clone = Clone(folder / "sources")
    for name, overlays, says in (
        (
            "terms that were not accepted",
            ("collections={pool: {tasks: {benchmark: dabench}}}",),
            "add `dabench-non-commercial` to `accepted_terms`",
        ),
        (
            "a missing source",
            ("collections={pool: {tasks: {benchmark: dabench}}}", "accepted_terms=[dabench-non-commercial]"),
            "Run `make source NAME=dabench`",
        ),
    ):
        run = clone.snakemake("--config", *overlays)
        printed = run.stdout + run.stderr
        line = next((line for line in printed.splitlines() if says in line), "no message")
        ok = run.returncode != 0 and "Traceback" not in printed and not (clone.folder / "results").exists()
        evidence.item(name, ok and line != "no message", line[:220])
    if not CORPUS.is_dir():
        return
    place = clone.folder / "sources"
    place.mkdir()
    (place / "dabench").symlink_to(CORPUS / "DABench")
    run = clone.run("snakemake", "results/sources/dabench.json", "--force")
    found = next((line for line in (run.stdout + run.stderr).splitlines() if "tasks are complete" in line), "no message")
    stray = [str(path) for path in (clone.folder / "results").rglob("*.csv")]
    evidence.item("a source that is there is looked through", "257 tasks are complete, 0 are not" in found and not stray, found)
    overlay = ("collections={pool: {tasks: {benchmark: dabench, limit: 300}}}", "accepted_terms=[dabench-non-commercial]")
    plan = clone.planned("--config", *overlay) or {}
    kept = {held_out: len(list_tasks("dabench", Role.TRAIN, evaluated=held_out)) for held_out in ("mlebench", "packaged")}
    evidence.item(
        "and the collection is planned",
        plan.get("collect_rollout") == kept["packaged"] and kept["mlebench"] == 217,
        f"{plan.get('collect_rollout', 0)} rollouts: of {kept['mlebench']} tasks that MLE-bench's list keeps, {kept['packaged']} also pass that of the "
        "benchmark that this study is evaluated on",
    )


def graders(evidence: Evidence, folder: Path) -> None:
    """What the graders must show; see tests/evidence/benchmark_grading.py."""
    if find_spec("tests.evidence.benchmark_grading") is None:
        evidence.item("graders", False, "tests/evidence/benchmark_grading.py is missing")
        return
    from tests.evidence import benchmark_grading

    benchmark_grading.items(evidence)


PARTS: dict[str, Callable[[Evidence, Path], None]] = {
    "pool": pool,
    "corpus": corpus,
    "bundles": bundles,
    "archives": archives,
    "listing": listing,
    "sources": sources,
    "graders": graders,
}


def main(parts: list[str]) -> int:
    evidence = Evidence()
    with tempfile.TemporaryDirectory(prefix="evidence-") as name:
        for part in parts:
            place = Path(name) / part
            place.mkdir()
            PARTS[part](evidence, place)
    return evidence.finish()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["build_dabench", target]:
            build_dabench(target)
        case ["list_benchmarks"]:
            list_benchmarks()
        case chosen:
            sys.exit(main(chosen or list(PARTS)))
