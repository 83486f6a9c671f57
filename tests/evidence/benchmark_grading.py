"""What graders must show, on the benchmarks' own files where they are at hand; called by benchmarks.py."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from rubrics_gym.grading import dabench, dacode, dsbench, paperbench
from rubrics_gym.grading.acceptance import Acceptance, is_full, is_missing, oracle_verdict, reference_answer
from rubrics_gym.grading.attempts import grade
from rubrics_gym.grading.bundle import PrivateBundle
from rubrics_gym.grading.denominators import load_denominators
from rubrics_gym.grading.leaderboards import Cutoffs, LeaderboardProblem, cutoffs, leaderboard_sha256, load_cutoffs, read_leaderboard
from rubrics_gym.harness.acceptance import NOP, ORACLE, ScriptedAgent, lay_out
from rubrics_gym.harness.attempts import WorkPlace, record_attempt
from rubrics_gym.harness.episode import Attempt
from rubrics_gym.harness.outcomes import attempt_outcome
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.records.archives import unpack_archive
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.records.tasks import TaskKind
from rubrics_gym.settings.study import Arm, CodeRuns, Limits, ModelSettings, Sandbox
from rubrics_gym.tasks.bundles import build_task, write_bundles
from rubrics_gym.tasks.catalog import Entry, load_benchmark
from rubrics_gym.tasks.loaders import loader_of
from rubrics_gym.tasks.sources import SourceProblem, place_of
from tests.corpus import CORPUS, corpus_of
from tests.evidence.clones import TOP, Evidence
from tests.mlebench_shapes import traps
from tests.mlebench_stand_ins import FUNCTIONS, LOWER_IS_BETTER, answers_of, write_private, write_upstream

Lines = dict[str, dict]
INVERTED = ("ml-competition-003", "ml-competition-005", "ml-competition-009")
SAME = ("perfect", "shuffled rows", "reordered columns", "extra column")


def items(evidence: Evidence) -> None:
    """Every item about graders."""
    with tempfile.TemporaryDirectory(prefix="rubrics-gym-evidence-") as name:
        folder = Path(name)
        for part in (dabench_items, dacode_items, dsbench_items, paperbench_items, medal_items):
            part(evidence)
        with grading_environment(evidence):
            trap_items(evidence, folder)
            published_functions(evidence, folder)
        acceptance_items(evidence, folder)


# ---------------------------------------------------------------- DABench


def dabench_items(evidence: Evidence) -> None:
    labels = [line["common_answers"] for line in json_lines(CORPUS / "DABench/examples/DA-Agent/data/da-dev-labels.jsonl")]
    texts = ["\n".join(f"@{name}[{value}]" for name, value in answers) for answers in labels]
    for rule, judged in (("official", dabench.official), ("corrected", dabench.corrected)):
        questions = [dabench.Question(judged(answers, text), True) for answers, text in zip(labels, texts, strict=True)]
        found = dabench.accuracies(questions, skip_unanswered=False)
        holds = found[:3] == (1.0, 1.0, 1.0) and found.questions == 257
        evidence.item(
            f"DABench, gold as the answer ({rule} rule)", holds, f"{found.by_question:.2%} of {found.questions} questions in full"
        )
    corrupted, passed = 0, Counter[str]()
    for answers in labels:
        for place, (name, value) in enumerate(answers):
            wrong = [*answers[:place], [name, f"{value}0~"], *answers[place + 1 :]]
            text = "\n".join(f"@{one}[{other}]" for one, other in wrong)
            corrupted += 1
            passed["official"] += all(dabench.official(answers, text))
            found = dabench.corrected(answers, text)
            passed["corrected"] += [number for number, right in enumerate(found) if not right] != [place]
    figure = f"{corrupted - passed['corrected']} of {corrupted} corrupted parts are found, each alone; the official rule misses {passed['official']}"
    evidence.item("DABench, each single corrupted part is wrong", passed["corrected"] == 0 and corrupted == 461, figure)
    answered = [
        dabench.Question(dabench.corrected(answers, text) if number < 3 else [False] * len(answers), number < 3)
        for number, (answers, text) in enumerate(zip(labels, texts, strict=True))
    ]
    ours, theirs = (dabench.accuracies(answered, skip_unanswered=skip) for skip in (False, True))
    evidence.item(
        "DABench, unanswered questions are counted",
        theirs.by_question == 1.0 and ours.questions == 257 and ours.by_question == 3 / 257,
        f"3 of 257 answered: {ours.by_question:.2%} of {ours.questions}; officially {theirs.by_question:.0%} of {theirs.questions}",
    )


# ---------------------------------------------------------------- DA-Code


def dacode_items(evidence: Evidence) -> None:
    records = {line["id"]: line for line in json_lines(CORPUS / "DA-Code/da_code/configs/eval/eval_all.jsonl")}
    with_files = {path.name for kind in ("source", "gold") for path in (CORPUS / "DA-Code/da_code" / kind).iterdir()}
    benchmark, source = corpus_of("dacode")
    loaded, full, without, wrong = [], [], [], []
    for name in sorted(with_files):
        try:
            made = loader_of("dacode")(source, benchmark.entry(name))
        except SourceProblem as problem:
            without.append(f"{name} ({str(problem).split('.')[0].removeprefix(f'dacode {name}: ')})")
            continue
        loaded.append(name)
        with tempfile.TemporaryDirectory() as place:
            write_bundles(made, f"{place}/public", f"{place}/private")
            answer = reference_answer(PrivateBundle(f"{place}/private"))
            if answer is None:
                without.append(f"{name} (no complete gold)")
                continue
            lay_out(answer, Path(place))
            result = grade(f"{place}/private", Path(place) / "reference" / made.task.deliverable, None)
            (full if result.score == 1.0 else wrong).append(name)
    evidence.item(
        "DA-Code, gold of every task with files scores 1.0",
        bool(full) and not wrong,
        f"{len(full)} of {len(full) + len(wrong)}; {len(loaded)} load. Not graded: {'; '.join(without)}",
    )
    texts = {name: record for name, record in records.items() if dacode.asks_for_text(record)}
    scores = [
        dacode.score(record, Path(), Path(), json.dumps(record["result"][0]["number"][0]), dacode.CORRECTED) for record in texts.values()
    ]
    evidence.item(
        "DA-Code, gold of every answer in words scores 1.0", scores.count(1.0) == len(texts) == 71, f"{scores.count(1.0)} of {len(texts)}"
    )
    _inverted(evidence, records)
    misspelt = {
        name: sorted(options)
        for name, record in records.items()
        for options in record["options"]
        if options and not options.keys() <= set(dacode.rules.OPTIONS)
    }
    read = Counter(key for name, keys in misspelt.items() for key in keys if key not in dacode.rules.OPTIONS)
    honoured = all(set(dacode.rules.corrected_options(dict.fromkeys(keys))) <= set(dacode.rules.OPTIONS) for keys in misspelt.values())
    evidence.item(
        "DA-Code, misspelt options are honoured", honoured and sum(read.values()) == 11, f"{dict(read)}, {sum(read.values())} in all"
    )


def _inverted(evidence: Evidence, records: Lines) -> None:
    """Perfect predictions and bad ones under both rules; on the benchmark's own gold where it is at hand, else on a table of the right shape."""
    for name in INVERTED:
        record = records[name]
        with tempfile.TemporaryDirectory() as place:
            work, made = Path(place) / "work", Path(place) / "gold"
            work.mkdir()
            own = next(
                (top / "da_code/gold" / name for top in (place_of("dacode"), CORPUS / "DA-Code") if (top / "da_code/gold" / name).is_dir()),
                None,
            )
            gold = own or _gold_of_shape(record["config"]["metric"], made)
            shutil.copy(gold / "submission.csv", work)
            perfect = dacode.official_score(record, work, gold, None), dacode.score(record, work, gold, None, dacode.CORRECTED)
            _spoil(work / "submission.csv", record["config"]["metric"])
            bad = dacode.official_score(record, work, gold, None), dacode.score(record, work, gold, None, dacode.CORRECTED)
        evidence.item(
            f"DA-Code, {name} ({record['config']['metric']}, less is better)",
            perfect == (0.0, 1.0) and bad[0] > 0.0 and bad[1] == 0.0,
            f"perfect predictions {perfect[0]:g} officially, {perfect[1]:g} corrected; bad ones {bad[0]:g} and {bad[1]:g} "
            f"({'its own gold' if own else 'gold of the right shape; its own is not in the corpus'})",
        )


def _gold_of_shape(metric: str, folder: Path) -> Path:
    folder.mkdir()
    classes = ["a", "b", "c"] if metric == "logloss_total" else ["a", "b"]
    if metric == "rmsle":
        rows = [["id", "cost"], *([number, 50 + number % 90] for number in range(300))]
    else:
        rows = [
            ["id", *classes],
            *([number, *(int(number % len(classes) == place) for place in range(len(classes)))] for number in range(300)),
        ]
    with open(folder / "submission.csv", "w", newline="") as table:
        csv.writer(table).writerows(rows)
    return folder


def _spoil(path: Path, metric: str) -> None:
    """Ten times too much, or all the probability on a wrong class."""
    header, *rows = list(csv.reader(io.StringIO(path.read_text())))
    if metric == "rmsle":
        spoilt = [[row[0], *(str(10 * float(cell)) for cell in row[1:])] for row in rows]
    else:
        spoilt = [[row[0], *row[2:], row[1]] for row in rows]
    with open(path, "w", newline="") as table:
        csv.writer(table).writerows([header, *spoilt])


# ---------------------------------------------------------------- DSBench, PaperBench, medals


def dsbench_items(evidence: Evidence) -> None:
    folder = CORPUS / "DSBench/data_modeling/save_performance"
    names = sorted(path.name for path in (folder / "GT").iterdir())
    right = greater = 0
    for name in names:
        baseline, gold = (float((folder / kind / name / "result.txt").read_text()) for kind in ("baseline", "GT"))
        points = [dsbench.normalised(baseline + share * (gold - baseline), baseline, gold) for share in (0, 1, 0.5, -1)]
        right += all(abs(point - expected) < 1e-9 for point, expected in zip(points, (0, 1, 0.5, 0), strict=True))
        greater += gold > baseline
    evidence.item(
        "DSBench, normalisers: baseline 0, reference 1, half-way 0.5, worse than the baseline 0",
        right == len(names) == 74,
        f"{right} of {len(names)}; more is better in {greater}, less in {len(names) - greater}",
    )


def paperbench_items(evidence: Evidence) -> None:
    marked = json.loads(
        (CORPUS / "PaperBench/project/paperbench/data/judge_eval/semantic-self-consistency/0/grading/expected_result.json").read_text()
    )
    found = paperbench.tree_score(marked)
    evidence.item(
        "PaperBench, the stored tree gives its stored root",
        abs(found - marked["score"]) < 1e-12,
        f"{found:.6f}, stored {marked['score']:.6f}, {len(list(paperbench.leaves(marked)))} leaves",
    )


def medal_items(evidence: Evidence) -> None:
    published = json.loads((CORPUS / "mle-bench-tables/thresholds.json").read_text())

    def as_published(name: str, found: Cutoffs) -> bool:
        known = published[name]
        numbers = [known[f"{medal}_threshold"] for medal in ("gold", "silver", "bronze", "median")]
        return (found.teams, found.lower_is_better, found.gold, found.silver, found.bronze, found.median) == (
            known["n_teams"],
            known["is_lower_better"],
            *numbers,
        )

    boards = sorted((CORPUS / "mle-bench/mlebench/competitions").glob("*/leaderboard.csv"))
    equal = 0
    for board in boards:
        scores, digest = read_leaderboard(board)
        equal += as_published(board.parent.name, cutoffs(scores)) and digest == leaderboard_sha256(board.parent.name)
    evidence.item(
        "MLE-bench, cut-offs computed from leaderboards",
        equal == len(boards) == 25,
        f"{equal} of {len(boards)} equal the published ones, with the sha256 of the shipped table",
    )
    shipped = sum(as_published(name, load_cutoffs(name)) for name in published)
    evidence.item(
        "MLE-bench, the shipped table",
        shipped == len(published),
        f"{shipped} of {len(published)} competitions equal the published cut-offs",
    )
    sizes = {name: len(one.tasks) for name, one in load_denominators().items()}
    evidence.item(
        "MLE-bench, declared denominators",
        list(sizes.values())[:4] == [22, 20, 17, 15],
        ", ".join(f"{name} {size}" for name, size in sizes.items()),
    )


# ---------------------------------------------------------------- MLE-bench: the process and the traps


@contextmanager
def grading_environment(evidence: Evidence) -> Iterator[None]:
    """`.venv-grading` of this checkout, made when it is not there (`make grading`)."""
    made = subprocess.run(
        ["bash", "envs/grading/set_up.sh"],
        cwd=TOP,
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    python = TOP / ".venv-grading/bin/python"
    version = (
        subprocess.run(
            [str(python), "-c", "import pandas; print(pandas.__version__)"], capture_output=True, text=True, check=False
        ).stdout.strip()
        if python.is_file()
        else "none"
    )
    evidence.item(
        "a grading environment of its own",
        made.returncode == 0 and version.startswith("2.2."),
        f"pandas {version} there, {pd.__version__} here",
    )
    before = os.environ.get("RUBRICS_GRADING_PYTHON")
    os.environ["RUBRICS_GRADING_PYTHON"] = str(python)
    yield
    if before is None:
        del os.environ["RUBRICS_GRADING_PYTHON"]
    else:
        os.environ["RUBRICS_GRADING_PYTHON"] = before


def trap_items(evidence: Evidence, folder: Path) -> None:
    """The nine traps, each through a private bundle and a process of the grading environment. The functions are stand-ins of ours with the known
    defects; `published_functions` asks upstream's own where they are at hand."""
    upstream = write_upstream(folder / "upstream")
    cactus, nomad, jigsaw, taxi, text, leaf = FUNCTIONS
    private, tables = {}, {}
    for name in FUNCTIONS:
        answers, sample = answers_of(name)
        private[name] = write_private(folder / f"{name}.tar.gz", name, answers, sample, upstream, name not in LOWER_IS_BETTER)
        tables[name] = traps(answers, sample, str(sample.columns[0]))

    def asked(name: str, trap: str) -> Grade:
        submission = folder / "submission.csv"
        submission.write_text(tables[name][trap])
        return grade(private[name], submission, None)

    def said(result: Grade) -> str:
        both = [rule for rule in (result.official, result.corrected) if rule is not None] or [result]
        return ", ".join(f"{rule.outcome} {'' if rule.score is None else rule.score}".strip() for rule in both)

    def trap(number: int, what: str, name: str, kind: str, official: tuple[Outcome, bool], corrected: tuple[Outcome, bool]) -> None:
        """`official` and `corrected`: the outcome, and whether the score is the perfect one."""
        result = asked(name, kind)
        best = 0.0 if name in LOWER_IS_BETTER else 1.0
        found = [(rule.outcome, rule.score == best) for rule in (result.official, result.corrected) if rule is not None]
        evidence.item(
            f"trap {number}, {what} ({name})",
            found == [official, corrected],
            f"official: {said(result).replace(', ', '; corrected: ')}. {result.corrected.reason if result.corrected else result.reason}",
        )

    full, less, no, stopped = (Outcome.VALID, True), (Outcome.VALID, False), (Outcome.INVALID, False), (Outcome.GRADER_ERROR, False)
    trap(1, "rows in another order", nomad, "shuffled rows", less, full)
    trap(2, "columns in another order", jigsaw, "reordered columns", less, full)
    trap(3, "a column too many", leaf, "extra column", no, full)
    trap(3, "a column too many, at which the function stops", jigsaw, "extra column", stopped, full)
    trap(4, "wrong ids", nomad, "wrong ids", full, no)
    trap(4, "wrong ids", taxi, "wrong ids", less, no)
    trap(5, "a repeated id", nomad, "duplicated id", full, no)
    trap(6, "a missing prediction", cactus, "missing prediction", no, no)
    trap(7, "empty answers, pandas 2.2", text, "perfect", full, full)
    _under_pandas_3(evidence, folder, upstream, text)
    for name in (cactus, leaf):
        result = asked(name, "ragged CSV")
        evidence.item(f"trap 8, a ragged CSV ({name})", result.outcome is Outcome.INVALID, f"{result.outcome}: {result.reason[:90]}")
    pointer = folder / "leaderboard.csv"
    pointer.write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 53369\n")
    try:
        read_leaderboard(pointer)
        message = ""
    except LeaderboardProblem as problem:
        message = str(problem).replace(f"{folder}/", "")
    evidence.item("trap 9, a pointer file instead of a leaderboard", "Git LFS pointer" in message, message or "was read")


def _under_pandas_3(evidence: Evidence, folder: Path, upstream: Path, name: str) -> None:
    """The same worker, function and answers in this environment: the function stops, and the submission is not blamed."""
    with tempfile.TemporaryDirectory() as place:
        answers, sample = answers_of(name)
        paths = {part: f"{place}/{part}.csv" for part in ("answers", "sample", "submission")}
        for part, table in {"answers": answers, "sample": sample, "submission": answers}.items():
            table.to_csv(paths[part], index=False)
        request = {**paths, "competition": name, "upstream": str(upstream), "gold": paths["answers"]}
        run = subprocess.run(
            [sys.executable, "-m", "rubrics_gym.grading.outside.worker"],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(TOP / "scripts")},
        )
    found = json.loads(run.stdout)
    version, status = found["packages"]["pandas"], found["official"]["status"]
    holds = status == "error" if version >= "3" else status == "scored"
    evidence.item(
        f"trap 7, empty answers, pandas {version}",
        holds,
        f"{status}: {found['official']['reason'][:90]} (a grader error, not an invalid submission)",
    )


def published_functions(evidence: Evidence, folder: Path) -> None:
    """Upstream's own 22 functions of Lite on synthetic answers of the right shape, in one process of the grading environment."""
    checkout = place_of("mlebench")
    if not (checkout / "mlebench/grade_helpers.py").is_file():
        evidence.report("upstream's own grading functions", f"not measured: there is no checkout in {checkout} (make source NAME=mlebench)")
        return
    program = (
        "import json, sys; sys.path[:0] = sys.argv[3:]; from tests.mlebench_shapes import examine;"
        "json.dump(examine(sys.argv[1], sys.argv[2]), open('found.json', 'w'))"
    )
    python = os.environ["RUBRICS_GRADING_PYTHON"]
    run = subprocess.run(
        [python, "-W", "ignore", "-c", program, str(checkout.resolve()), str(folder), str(TOP / "scripts"), str(TOP)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        evidence.item("upstream's own grading functions", False, run.stderr[-300:])
        return
    found = json.loads((folder / "found.json").read_text())
    perfect = [name for name, one in found.items() if one["gold"] in (0.0, 1.0) and one["shuffled_canonical"] == one["gold"]]
    evidence.item(
        "upstream's functions: reference answers are perfect, in any order in canonical form",
        len(perfect) == len(found) == 22,
        f"{len(perfect)} of {len(found)}",
    )
    right = [name for name, one in found.items() if all(one["traps"][trap]["corrected"] == ["scored", one["gold"]] for trap in SAME)]
    refused = [
        name
        for name, one in found.items()
        if all(one["traps"][trap]["corrected"][0] == "invalid" for trap in ("wrong ids", "duplicated id", "no rows", "ragged CSV"))
    ]
    evidence.item(
        "upstream's functions: order and further columns change nothing by the corrected rule",
        len(right) == 22,
        f"{len(right)} of {len(found)}",
    )
    evidence.item(
        "upstream's functions: wrong or repeated ids, no rows and ragged files are invalid",
        len(refused) == 22,
        f"{len(refused)} of {len(found)}",
    )
    differing = Counter(trap for one in found.values() for trap, both in one["traps"].items() if both["official"] != both["corrected"])
    evidence.report(
        "upstream's functions: disagreements of the two rules", ", ".join(f"{trap} {count}" for trap, count in sorted(differing.items()))
    )


# ---------------------------------------------------------------- acceptance agents


def acceptance_items(evidence: Evidence, folder: Path) -> None:
    """Both agents through the harness: every task of the packaged benchmark, and tasks of the corpus."""
    tried = [_tried(folder / "packaged" / entry.id, "packaged", entry.id) for entry in load_benchmark("packaged").entries]
    tried += [
        _tried(folder / "dabench" / task, "dabench", task) for task in [entry.id for entry in load_benchmark("dabench").entries][::50]
    ]
    tried += [
        _tried(folder / "dacode" / task, "dacode", task) for task in ("di-text-001", "dm-csv-001", "ml-competition-003", "ml-cluster-002")
    ]
    tried.append(_tried(folder / "openml" / "1882", "openml", "1882"))
    verdicts = Counter((one.benchmark, oracle_verdict(one)) for one in tried)
    short = [f"{one.benchmark} {one.task}" for one in tried if oracle_verdict(one) == "not full"]
    counted = ", ".join(f"{benchmark}: {count} {verdict}" for (benchmark, verdict), count in sorted(verdicts.items()))
    evidence.item(
        "the oracle scores in full where a reference answer exists",
        not short and len(tried) > 40,
        f"{counted}{'; short: ' + ', '.join(short) if short else ''}",
    )
    scored = [f"{one.benchmark} {one.task}" for one in tried if not is_missing(one.nop)]
    evidence.item("nothing scores as missing", not scored, f"{len(tried) - len(scored)} of {len(tried)} tasks")
    assert all(is_full(one.oracle) for one in tried if one.oracle and oracle_verdict(one) == "full")


def _tried(folder: Path, benchmark: str, task: str) -> Acceptance:
    folder.mkdir(parents=True)
    public, private = folder / "public.tar.gz", folder / "private.tar.gz"
    if benchmark == "packaged":
        build_task(benchmark, task, public, private)
    else:
        of, source = corpus_of(benchmark)
        entry = Entry(id=task, kind=TaskKind.PREDICTION, role="train", title="anneal") if benchmark == "openml" else of.entry(task)
        write_bundles(loader_of(benchmark)(source, entry), public, private)
    reference = reference_answer(PrivateBundle(private))
    oracle = _attempt(folder, "oracle", ORACLE, reference) if reference else None
    return Acceptance(benchmark=benchmark, task=task, oracle=oracle, nop=_attempt(folder, "nop", NOP, {}))


def _attempt(folder: Path, name: str, lines: tuple[str, ...], reference: dict[str, bytes]) -> Grade:
    prompts = [load_prompt(TOP / "resources/prompts" / f"{prompt}.yaml") for prompt in ("agent", "feedback")]
    with WorkPlace(folder / "public.tar.gz") as place, tempfile.TemporaryDirectory() as left:
        lay_out(reference, place.work)
        arm, model = Arm(code_runs=CodeRuns.EXECUTE), ModelSettings(model=name)
        what = Attempt(unit=name, number=1, task=place.task, arm_name="execute", arm=arm, limits=Limits(), model=model, seed=0, code="c")
        record_attempt(what, ScriptedAgent(lines), None, Sandbox(), place, Path(left), *prompts)
        unpack_archive(f"{left}/artifacts.tar.gz", f"{left}/work")
        outcome = attempt_outcome(read_trajectory(Path(left) / "trajectory.jsonl"))
        return grade(folder / "private.tar.gz", Path(left) / "work" / place.task.deliverable, outcome)


def json_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
