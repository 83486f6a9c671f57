"""What the harness must show, measured afresh. Call: make evidence NAME=harness (about ten minutes on two cores).

python tests/evidence/harness.py [PART ...]     only some parts: router, sandbox, overhead, memory, kills, finals, policies
"""

from __future__ import annotations

import importlib
import json
import os
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from rubrics_gym.harness.artifacts import write_artifacts
from rubrics_gym.harness.final import is_lost, run_final
from rubrics_gym.harness.recorder import Recorder, read_trajectory
from rubrics_gym.harness.router import classify, kind_of
from rubrics_gym.harness.sandbox import Sandbox
from rubrics_gym.records.trajectory import CommandEvent, CommandKind
from rubrics_gym.settings.places import wheel_folder
from rubrics_gym.settings.study import Arm, CodeRuns, FinalStart, Limits, Network, SandboxKind, SandboxPhase
from rubrics_gym.store.attempts import AttemptStore
from rubrics_gym.store.leases import LeaseHeld
from tests.benchmarks.command_overhead import measure
from tests.evidence.clones import TOP, Evidence
from tests.evidence.episode_to_kill import KEY, UNIT
from tests.unit.test_harness_episode import Run
from tests.unit.test_harness_router import CASES
from tests.unit.test_harness_sandbox_attacks import COLUMNS, is_promised, outcome

_MINI = ["mini-swe-agent", "pydantic", "pydantic-core", "typing-extensions", "annotated-types", "typing-inspection", "platformdirs"]
_MINI += ["python-dotenv", "rich", "markdown-it-py", "mdurl", "pygments", "pyyaml", "jinja2", "markupsafe"]


def router(evidence: Evidence) -> None:
    """Accuracy per kind on the labelled command lines, every error listed; recall of code; no input breaks it."""
    if not CASES.exists():
        evidence.item("router accuracy", False, f"{CASES} is not on this machine")
        return
    cases = [json.loads(line) for line in CASES.read_text().splitlines()]
    total, right = Counter(case["kind"] for case in cases), Counter[str]()
    slipped = 0
    for case in cases:
        found = kind_of(case["command"])
        right[case["kind"]] += found == case["kind"]
        slipped += case["kind"] == CommandKind.CODE_RUN and found is CommandKind.INSPECT
        if found != case["kind"]:
            reason = next((part.reason for part in classify(case["command"]) if part.kind is found), "a notebook cell")
            judged = "the label is arguable by its own note" if "DOUBTFUL" in case["note"] else "our error"
            evidence.report(
                f"router error {case['id']}", f"labelled {case['kind']}, found {found.value} ({reason}): {judged}: {case['command'][:80]!r}"
            )
    for kind, count in sorted(total.items()):
        recall = right[kind] / count
        if kind == CommandKind.CODE_RUN:
            evidence.item(
                "recall of code_run at least 0.95", recall >= 0.95, f"{right[kind]} of {count}; {slipped} taken for an inspection"
            )
        else:
            evidence.report(f"router: {kind}", f"{right[kind]} of {count}")
    evidence.item("router accuracy, all kinds, at least 0.95", right.total() / total.total() >= 0.95, f"{right.total()} of {total.total()}")
    doubtful = [case for case in cases if "DOUBTFUL" in case["note"]]
    agreed = sum(kind_of(case["command"]) == case["kind"] for case in doubtful)
    evidence.report(
        "labels that are arguable by their own note",
        f"{len(doubtful)}, we agree with {agreed}: compilers, notebook servers and one-line checks of versions run code (docs/decisions.md)",
    )
    tests = [
        f"test_harness_router.py::{name}" for name in ("test_no_input_breaks_the_router", "test_code_is_found_however_deep_it_is_wrapped")
    ]
    passed, last = _pytest(*tests)
    evidence.item("fuzz over generated shell", passed, last)


def _pytest(*names: str) -> tuple[bool, str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"tests/unit/{name}" for name in names)]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    return done.returncode == 0, (done.stdout.strip().splitlines() or [done.stderr[-200:]])[-1]


def sandbox(evidence: Evidence) -> None:
    """The attack suite in every kind as root and as an ordinary user, against the documented table; the network index; what ends a command."""
    for column in COLUMNS:
        found = outcome(*column)
        name = f"attacks on {column[0]} as {'root' if column[1] == 'root' else 'an ordinary user'}"
        if "skipped" in found:
            evidence.report(name, f"not tried: {found['skipped']}")
            continue
        promised = {attack for attack in found["results"] if is_promised(attack, column, found["controllers"])}
        broken = {attack: came for attack, came in found["results"].items() if came}
        failed = sorted(promised & set(broken))
        evidence.item(
            f"{name}: what docs/sandbox.md promises holds",
            not failed,
            f"{len(found['results']) - len(broken)} of {len(found['results'])} held, {len(promised)} promised, control group: "
            f"{', '.join(found['controllers']) or 'none'}{'; broken: ' + ', '.join(failed) if failed else ''}",
        )
        better = sorted(set(found["results"]) - promised - set(broken))
        evidence.report(f"{name}: cannot be enforced", ", ".join(sorted(broken)) or "nothing")
        if better:
            evidence.report(f"{name}: held though not promised", ", ".join(better))
    with tempfile.TemporaryDirectory() as folder:
        _networks(evidence, Path(folder))
        _ends(evidence, Path(folder))


def _networks(evidence: Evidence, folder: Path) -> None:
    (folder / "data").mkdir()
    wheel = next(iter(sorted(wheel_folder().glob("humanize-*.whl"))), None)
    if wheel is None:
        evidence.item("network index", False, f"no wheel of humanize in {wheel_folder()}")
        return
    install = "pip install --quiet humanize 2>&1 | tail -1; python -c 'import humanize; print(humanize.intcomma(12345))'"
    reached = {}
    for network in (Network.INDEX, Network.NONE):
        with Sandbox(SandboxPhase(network=network), Limits(), folder / network.value, folder / "data", wheel_folder()) as box:
            reached[network] = "12,345" in box.run(install, 120).output.text
    evidence.item(
        "network index installs from the folder of wheels, none does not",
        reached[Network.INDEX] and not reached[Network.NONE],
        str(wheel.name),
    )


def _ends(evidence: Evidence, folder: Path) -> None:
    limits = Limits(memory_mb=400, file_mb=50, disk_mb=40)
    touching = "import sys; x = bytearray(3 * 10**8); x[::4096] = bytes(len(x[::4096])); print(1)"
    with Sandbox(SandboxPhase(), limits, folder / "ends", folder / "data") as box:
        grouped = "memory" in box.controllers
        ends = {
            "an allocation beyond the limit": (box.run("python -c 'bytearray(10**9)'", 60).out_of_memory, True),
            "a SIGKILL of its own": (box.run("kill -9 $$", 60).out_of_memory, not grouped),
            "an ordinary error": (box.run("python -c '1/0'", 60).out_of_memory, False),
            "a time limit": (box.run("sleep 60", 0.3).out_of_memory, False),
            "the disk quota": (
                box.run("for i in 1 2 3 4 5 6; do head -c 20000000 /dev/zero > $i; sleep 0.2; done", 60).out_of_memory,
                False,
            ),
        }
        if grouped:
            many = box.run(f"for i in 1 2; do python -c '{touching}' & done; wait -n && wait -n", 60)
            ends["a kill by the kernel for want of memory"] = (many.out_of_memory, True)
    wrong = [name for name, (found, expected) in ends.items() if found is not expected]
    evidence.item(
        "out of memory is told from other ends",
        not wrong,
        f"{len(ends) - len(wrong)} of {len(ends)} right {wrong or ''}, control group: {grouped}",
    )


def overhead(evidence: Evidence) -> None:
    """Milliseconds per command beyond a bare bash, by kind, beside mini-swe-agent's local environment; start-up cost."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = folder / "mini" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "mini")], check=True)
        install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", *_MINI]
        installed = subprocess.run(install, capture_output=True, text=True, check=False)
        (folder / "measured").mkdir()
        taken, starts = measure(60, str(python) if installed.returncode == 0 else None, folder / "measured")
    base = statistics.median(taken["bash"])
    for way, seconds in taken.items():
        late = statistics.quantiles(seconds, n=20)[-1]
        evidence.report(
            f"overhead: {way}",
            f"median {(statistics.median(seconds) - base) * 1e3:.1f} ms, p95 {(late - base) * 1e3:.1f} ms beyond bash, {len(seconds)} commands",
        )
    for kind, seconds_to_start in starts.items():
        evidence.report(f"start-up: {kind}", f"{seconds_to_start * 1e3:.0f} ms, its probe included")
    for kind in sorted({kind.value for kind in SandboxKind} - set(starts)):
        evidence.report(f"overhead: sandbox {kind}", "not measured: this kind is refused here (see above)")
    beside = "mini-swe-agent local" in taken
    evidence.item("overhead measured beside mini-swe-agent", beside, "its local environment" if beside else installed.stderr[-200:])


def memory(evidence: Evidence) -> None:
    """An episode of 250 steps with 100 MB of output: what the harness's own memory grows by, and that nothing is lost from the record."""
    with tempfile.TemporaryDirectory() as folder:
        turns = ["head -c 400000 /dev/zero | tr '\\0' x"] * 249
        Run(Path(folder) / "warm", Arm(code_runs=CodeRuns.EXECUTE), ["ls"])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        done = Run(Path(folder) / "long", Arm(code_runs=CodeRuns.EXECUTE), turns, Limits(steps=250))
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        commands = done.of(CommandEvent)
        written = sum(event.output_bytes for event in commands) / 1e6
        kept = sum(path.stat().st_size for path in (Path(folder) / "long" / "outputs").iterdir()) / 1e6
    evidence.item(
        "250 steps with 100 MB of output",
        len(commands) == 250 and written > 99 and grown < 100,
        f"{len(commands)} commands, {written:.0f} MB of output, {kept:.0f} MB kept whole; the harness grew by {grown:.0f} MB",
    )


def kills(evidence: Evidence) -> None:
    """kill -9 of an episode at random moments: the record is whole, nothing lives on, the loss is visible, nobody else can write it."""
    moments = random.Random(20261130)
    for number in range(3):
        with tempfile.TemporaryDirectory() as name:
            folder, mark = Path(name), f"{800_000 + os.getpid() + number}.5"
            program = [sys.executable, str(TOP / "tests" / "evidence" / "episode_to_kill.py"), name, mark]
            with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                process.stdout.readline()
                store = AttemptStore(folder / "store")
                record = store.of_unit(UNIT)[0].folder / "trajectory.jsonl"
                _wait_for(lambda record=record: record.exists() and record.read_bytes().count(b"\n") > 4)  # type: ignore[misc]
                time.sleep(moments.uniform(0, 4))
                second = _second_writer(store)
                os.kill(process.pid, signal.SIGKILL)
            _wait_for(lambda mark=mark: not _alive(mark))  # type: ignore[misc]
            lost = store.lost(UNIT, KEY)
            path = lost[0].folder / "trajectory.jsonl"
            whole = [line for line in path.read_bytes().split(b"\n")[:-1] if line]
            events = read_trajectory(path)
            alive = _alive(mark)
            with store.begin(UNIT, KEY) as following:
                told = [attempt.name for attempt in store.lost(UNIT, KEY)]
                follows = following.number == 2 and len(told) == 1
            evidence.item(
                f"kill -9 of an episode {number + 1}",
                len(events) == len(whole) > 2 and not alive and follows and second,
                f"{len(events)} events, all whole lines read; {len(alive)} processes left; the next attempt is number {following.number} and sees {told}; "
                f"a second writer was {'refused' if second else 'let in'}",
            )

    evidence.report("kill -9 of the workflow above an episode", "make evidence NAME=end_to_end, part kills")


def _wait_for(condition: Callable[[], bool], patience_s: float = 60) -> None:
    """Wait until something holds, however busy the machine is; what is shown is looked at afterwards."""
    deadline = time.monotonic() + patience_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)


def _alive(mark: str) -> list[str]:
    """Processes with a mark in their command line."""
    return [entry.name for entry in Path("/proc").glob("[0-9]*") if mark.encode() in _command_line(entry)]


def _second_writer(store: AttemptStore) -> bool:
    """Whether another process is refused, both as an attempt of the same unit and as a writer of the same record."""
    try:
        store.begin(UNIT, KEY).release()
        return False
    except LeaseHeld:
        pass
    try:
        Recorder(store.of_unit(UNIT)[0].folder / "trajectory.jsonl").close()
        return False
    except FileExistsError:
        return True


def _command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def finals(evidence: Evidence) -> None:
    """The final run is clean, its last line is the exit record, and a run without one is lost, whatever the program printed."""
    program = "cat > final.py <<'EOF'\nimport os\nprint(sorted(os.listdir('.')), os.listdir('/tmp'))\nprint('[exit] {\"exit_code\": 0}')\nopen('answer.txt', 'w').write('2')\nEOF"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        done = Run(folder / "episode", Arm(code_runs=CodeRuns.EXECUTE), ["touch /tmp/left; echo old > answer.txt", program])
        artifacts = folder / "artifacts.tar.gz"
        write_artifacts(artifacts, done.folder / "work")
        places = done.folder / "data", artifacts, SandboxPhase(network=Network.NONE), Limits(), FinalStart.CLEAN
        event = run_final("answer.txt", *places, folder / "final_run.log", folder / "final.tar.gz")
        lines = (folder / "final_run.log").read_text().splitlines()
        clean = "'answer.txt'" not in lines[0] and lines[0].endswith("[]")
        record = json.loads(lines[-1].removeprefix("[exit] "))
        evidence.item(
            "the final run is clean and ends with its exit record",
            clean and record["exit_code"] == 0 and event.deliverable_present,
            lines[-1],
        )
    passed, last = _pytest("test_harness_episode.py::test_a_lost_final_run_is_not_the_agents_failure", "test_harness_finals.py")
    evidence.item("no exit line is a lost final, run once more at most, both kept", passed and not is_lost(event), last)


PARTS = {"router": router, "sandbox": sandbox, "overhead": overhead, "memory": memory, "kills": kills, "finals": finals}


def main(parts: list[str]) -> int:
    evidence = Evidence()
    for part in parts or [*PARTS, "policies"]:
        if part == "policies":
            importlib.import_module("tests.evidence.harness_policies").items(evidence)
        else:
            PARTS[part](evidence)
    return evidence.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
