"""What a command costs beyond a bare shell, in milliseconds, by kind of sandbox. Prints medians, 95th percentiles and ratios; asserts nothing.

    python tests/benchmarks/command_overhead.py [commands] [--mini-swe-agent PYTHON]

The baseline is `subprocess.run(["bash", "-c", "true"])`. Measured beside it: mini-swe-agent's local environment, when a Python that has that
package is named; `Sandbox.run` of each kind; and the whole harness around a command (router, policy, files, record) for bubblewrap. All
commands take turns, so that a busy machine is busy for all of them alike. `start` is what opening a sandbox costs.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from rubrics_gym.harness.execution import Commands
from rubrics_gym.harness.recorder import Recorder
from rubrics_gym.harness.sandbox import Sandbox, SandboxRefused
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.settings.study import Arm, CodeRuns, Limits, SandboxKind, SandboxPhase

PROMPTS = Path(__file__).parents[2] / "resources" / "prompts"
COMMAND = "true"
SERVER = """
import sys, time
from minisweagent.environments.local import LocalEnvironment
environment = LocalEnvironment()
def run():
    try:
        environment.execute({"command": "true"})
    except TypeError:
        environment.execute("true")
run()
print("ready", flush=True)
for _ in sys.stdin:
    began = time.perf_counter()
    run()
    print(time.perf_counter() - began, flush=True)
"""


def timed(run: Callable[[], object]) -> Callable[[], float]:
    def measure() -> float:
        began = time.perf_counter()
        run()
        return time.perf_counter() - began

    return measure


@contextmanager
def mini_swe_agent(python: str) -> Iterator[Callable[[], float]]:
    """Its local environment, in a process of its own that does nothing else; the time is measured there."""
    with subprocess.Popen([python, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        if "ready" not in (line.strip() for line in iter(server.stdout.readline, "")):  # it greets first
            raise SystemExit(f"{python} has no mini-swe-agent")

        def measure() -> float:
            assert server.stdin is not None and server.stdout is not None
            server.stdin.write("\n")
            server.stdin.flush()
            return float(server.stdout.readline())

        yield measure
        server.stdin.close()


def measure(commands: int, python: str | None, folder: Path) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Name -> seconds of each command, and name -> seconds to open the sandbox."""
    (folder / "data").mkdir()
    (folder / "data" / "train.csv").write_text("a,b\n1,2\n")
    ways: dict[str, Callable[[], float]] = {"bash": timed(lambda: subprocess.run(["bash", "-c", COMMAND], capture_output=True, check=True))}
    starts: dict[str, float] = {}
    with ExitStack() as stack:
        if python:
            ways["mini-swe-agent local"] = stack.enter_context(mini_swe_agent(python))
        opened: dict[str, Sandbox] = {}
        for kind in SandboxKind:
            began = time.perf_counter()
            try:
                sandbox = stack.enter_context(Sandbox(SandboxPhase(kind=kind), Limits(), folder / kind.value, folder / "data"))
            except SandboxRefused as refused:
                print(f"{kind.value}: not here ({str(refused)[:150]})")
                continue
            starts[kind.value] = time.perf_counter() - began
            opened[kind.value] = sandbox
            ways[f"sandbox {kind.value}"] = timed(lambda sandbox=sandbox: sandbox.run(COMMAND, 60))  # type: ignore[misc]
        if "bubblewrap" in opened:
            recorder = stack.enter_context(Recorder(folder / "trajectory.jsonl"))
            feedback = load_prompt(str(PROMPTS / "feedback.yaml"))
            harness = Commands(opened["bubblewrap"], Arm(code_runs=CodeRuns.EXECUTE), 1, None, feedback, recorder.append, lambda: 3600.0)
            ways["whole harness, bubblewrap"] = timed(lambda: harness.run_line(1, COMMAND))
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(commands):
            for name, way in ways.items():
                taken[name].append(way())
    return taken, starts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="?", type=int, default=100)
    parser.add_argument("--mini-swe-agent", metavar="PYTHON")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        taken, starts = measure(chosen.commands, chosen.mini_swe_agent, Path(name))
    base = statistics.median(taken["bash"])
    print(f"{chosen.commands} commands each; ms, and what is beyond bash\n{'':28}{'median':>9}{'p95':>9}{'beyond':>9}{'ratio':>8}")
    for name, seconds in taken.items():
        median, late = statistics.median(seconds), statistics.quantiles(seconds, n=20)[-1]
        print(f"{name:28}{median * 1000:9.1f}{late * 1000:9.1f}{(median - base) * 1000:9.1f}{median / base:8.1f}")
    for name, seconds in starts.items():
        print(f"start {name:22}{seconds * 1000:9.0f}")


if __name__ == "__main__":
    main()
