"""What the arms, shadow runs, logs of other systems and pages must show, measured afresh: a part of `make evidence NAME=harness`.

python tests/evidence/harness_policies.py [PART ...]     only some parts: imports, arms, replay, shadows, pages, exports
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import jsonschema
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.interchange.formats import find
from rubrics_gym.interchange.importing import ImportRow, import_runs
from rubrics_gym.interchange.sources import candidates
from rubrics_gym.judge.verifying import rebuilt_requests
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.records.base import canonical_json
from rubrics_gym.records.files import read_records
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.records.shadows import ShadowRun, ShadowState
from rubrics_gym.records.trajectory import CommandEvent, CommandKind, EndEvent, Event, MessageEvent
from rubrics_gym.settings import loading
from rubrics_gym.settings.study import CodeRuns, LogFormat, Study
from tests.evidence.clones import TOP, Clone, Evidence

SHARED = Path(os.environ.get("RUBRICS_CORPUS", TOP.parent / "shared"))
TASK = "penguins-body-mass"
# one packaged competition; few rollouts, because the arms are what is looked at
SMALL = {
    "extends": "config/arms.yaml",
    "collections": {"pool": {"tasks": {"limit": 4}}},
    "evaluation": {"split": "development", "shadows": {"flagged": 1.0, "clean": 1.0, "repeat": 1.0}},
}
# pages and exports of a few arms, served from the same store
FEW = {
    "extends": "every_arm.yaml",
    "pathvars": {"results": "results_few"},
    "evaluation": {"arms": ["ceiling", "floor", "final_harness", "scheduled_library"]},
}
FEW_ATTEMPTS = 4 + 4 * 2  # rollouts, and arms on the two competitions of the split
PARTS = ("imports", "arms", "replay", "shadows", "pages", "exports")


def items(evidence: Evidence, parts: tuple[str, ...] = PARTS) -> None:
    """All items, or those of some parts."""
    if "imports" in parts:
        imports(evidence)
    if set(parts) - {"imports"}:
        with tempfile.TemporaryDirectory(prefix="evidence-policies-") as name:
            run = Run(evidence, Path(name) / "arms")
            for part, show in (("arms", arms), ("replay", replay), ("shadows", shadows), ("pages", pages), ("exports", exports)):
                if part in parts:
                    show(evidence, run)


# ---------------------------------------------------------------- logs of other systems


def imports(evidence: Evidence) -> None:
    """Each file of the cases: steps, commands, outputs and exit codes, counted by the import and a second time from the raw file."""
    cases = SHARED / "cases" / "trajectories"
    if not cases.is_dir():
        evidence.item("imports of the cases", False, f"there are no cases at {cases}")
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = import_runs(find(candidates(cases), LogFormat.AUTO, single=False), "cases", Path(folder), frozenset())
    for row in rows:
        name = Path(row.source).relative_to(cases)
        if row.skipped:
            evidence.report(f"import of {name}", f"passed over: {row.skipped.removeprefix(row.source).lstrip(': ')}")
        else:
            evidence.report(
                f"import of {name} ({row.format}, {row.task})",
                f"{row.steps} steps, {row.commands} commands ({row.typed} typed by the agent), {row.with_output} outputs, {row.with_exit_code} exit codes "
                f"({row.failed_exit} not 0), {row.timed_out} timed out, {row.not_executed} refused, {row.files} files",
            )
    for name, expected in recounted(cases).items():
        found = counts([row for row in rows if row.source == str(cases / name) and not row.skipped])
        evidence.item(
            f"counted a second time: {name}",
            found == expected,
            f"commands, outputs, exit codes, not 0: {found}, from the raw file {expected}",
        )
    others = [row for row in rows if not row.skipped and row.format in ("swe_agent", "aide", "super")]
    evidence.item(
        "formats without exit codes give none",
        all(row.with_exit_code == 0 for row in others),
        f"0 of {sum(row.commands for row in others)} commands",
    )


def counts(rows: list[ImportRow]) -> tuple[int, int, int, int]:
    return (
        sum(row.commands for row in rows),
        sum(row.with_output for row in rows),
        sum(row.with_exit_code for row in rows),
        sum(row.failed_exit for row in rows),
    )


def recounted(cases: Path) -> dict[str, tuple[int, int, int, int]]:
    """The same counts from the raw files, by other means."""
    found: dict[str, tuple[int, int, int, int]] = {}
    openhands = cases / "openhands" / "multi_swe_bench_output.jsonl"
    events = [event for line in openhands.read_text().splitlines() for event in json.loads(line)["history"]]
    codes = [event["extras"]["metadata"]["exit_code"] for event in events if event.get("observation") == "run"]
    acts = [event["id"] for event in events if event.get("action") in ("run", "read", "edit", "finish")]
    # an error without a cause answers a call that could not be parsed: no command
    answered = sum(event.get("observation") in ("run", "read", "edit", "error") and event.get("cause") is not None for event in events)
    found["openhands/multi_swe_bench_output.jsonl"] = (len(acts), answered, len(codes), sum(code != 0 for code in codes))
    mini = (cases / "mini-swe-agent" / "github_issue.traj.json").read_text()
    returned = re.findall(r"<returncode>(-?\d+)</returncode>\\n<output>", mini)
    acted = [message for message in json.loads(mini) if message["role"] == "assistant"]
    found["mini-swe-agent/github_issue.traj.json"] = (len(acted), len(acted), len(returned), sum(code != "0" for code in returned))
    for notebook in sorted(cases.glob("super/*/*/history.ipynb")):
        cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
        found[str(notebook.relative_to(cases))] = (len(cells), len(cells), 0, 0)
    marshmallow = json.loads((cases / "swe-agent" / "marshmallow-1867.traj").read_text())["trajectory"]
    found["swe-agent/marshmallow-1867.traj"] = (len(marshmallow), len(marshmallow), 0, 0)
    simple = json.loads((cases / "swe-agent" / "function_calling_simple.traj").read_text())["history"]
    called = sum(bool(message.get("action")) for message in simple)
    found["swe-agent/function_calling_simple.traj"] = (called, sum(message["role"] == "tool" for message in simple), 0, 0)
    aide = (cases / "aide" / "dog-breed" / "aide.verbose.log").read_text()
    ran, parsed = aide.count("INFO: REPL is executing code"), aide.count("INFO: Agent is parsing execution results")
    found["aide/dog-breed/aide.verbose.log"] = (ran, parsed, 0, 0)
    return found


# ---------------------------------------------------------------- one study with every arm


class Run:
    """Every arm of config/arms.yaml on one packaged competition, run in a clone."""

    def __init__(self, evidence: Evidence, folder: Path):
        self.clone = Clone(folder)
        path = self.clone.folder / "every_arm.yaml"
        path.write_text(yaml.safe_dump(SMALL))
        (self.clone.folder / "few_arms.yaml").write_text(yaml.safe_dump(FEW))
        here = Path.cwd()
        os.chdir(self.clone.folder)
        self.study: Study = loading.load_study(loading.read_file("every_arm.yaml"), "every_arm.yaml")
        os.chdir(here)
        self.arms = list(self.study.evaluation.arms)
        self.judged = [arm for arm in self.arms if self.study.arms[arm].code_runs is CodeRuns.JUDGE]
        began = time.monotonic()
        targets = [f"{self.folder(arm)}/grade.json" for arm in self.arms] + [f"{self.shadow(arm)}" for arm in self.judged]
        made = self.clone.run("snakemake", "--configfile", "every_arm.yaml", "--", *targets)
        evidence.item(
            f"every arm of config/arms.yaml runs {TASK} with the simulated agent",
            made.returncode == 0,
            f"{len(self.arms)} arms, {(time.monotonic() - began) / 60:.1f} minutes",
        )
        if made.returncode:
            print((made.stdout + made.stderr)[-3000:])

    def folder(self, arm: str) -> str:
        return f"results/episodes/development/{arm}/0/packaged/{TASK}"

    def shadow(self, arm: str) -> str:
        return f"results/shadows/development/{arm}/0/packaged/{TASK}.jsonl"

    def events(self, arm: str) -> list[Event]:
        return read_trajectory(self.clone.folder / self.folder(arm) / "trajectory.jsonl")


def arms(evidence: Evidence, run: Run) -> None:
    """What the agent was shown on the same command under each arm."""
    first: dict[str, CommandEvent] = {}
    for arm in run.arms:
        commands = [event for event in run.events(arm) if isinstance(event, CommandEvent) and event.kind is CommandKind.CODE_RUN]
        if commands:
            first[arm] = commands[0]
    common = Counter(command.text for command in first.values()).most_common(1)[0][0] if first else ""
    same = [arm for arm, command in first.items() if command.text == common]
    evidence.item(
        "the same first code command under every arm", len(same) == len(run.arms), f"`{common[:80]}` in {len(same)} of {len(run.arms)} arms"
    )
    for arm in same:
        answers = [
            event.text
            for event in run.events(arm)
            if isinstance(event, MessageEvent) and event.role == "user" and event.step == first[arm].step
        ]
        shown = " / ".join(line.strip() for line in "\n".join(answers).splitlines() if line.strip())
        evidence.report(f"shown under {arm}", f"{first[arm].route.value}: {shown[:700]}{' …' if len(shown) > 700 else ''}")
    ended = {arm: next((event for event in run.events(arm) if isinstance(event, EndEvent)), None) for arm in run.arms}
    lost = [arm for arm, end in ended.items() if end is None or (end.outcome is not None and end.outcome.value != "limit_reached")]
    evidence.item(
        "no episode is lost", not lost, f"{len(run.arms) - len(lost)} of {len(run.arms)} ended by the agent or a limit {lost or ''}"
    )


def replay(evidence: Evidence, run: Run) -> None:
    """The requests of every judged episode, built again from its trajectory (and the library's texts), beside the bytes that were stored."""
    prompt = load_prompt(run.clone.folder / "resources" / "prompts" / "judge.yaml")
    equal = total = 0
    for arm in run.judged:
        settings = run.study.arms[arm].judge
        assert settings is not None
        library = {}
        if settings.library:
            rubrics = read_records(run.clone.folder / "results" / "libraries" / settings.library / "rubrics.jsonl", Rubric)
            library = {rubric.id: rubric for rubric in rubrics}
        for one in rebuilt_requests(run.events(arm), settings.sees, prompt, run.study.models.judge, run.study.seed, library):
            key = one.event.verdict.request_key or ""
            stored = json.loads((run.clone.folder / "store" / "responses" / key[:2] / f"{key}.json").read_text())
            # the client adds how a simulated model errs, which is a setting and no part of what the judge knows
            sent = one.request.body() | {"simulation": run.study.simulation.judge.model_dump(mode="json")}
            total += 1
            equal += one.same and canonical_json(sent) == canonical_json(stored["request"])
    evidence.item(
        "judge requests built again from the record alone",
        equal == total > 0,
        f"{equal} of {total} equal the stored ones byte for byte ({len(run.judged)} arms)",
    )


def shadows(evidence: Evidence, run: Run) -> None:
    """Judged commands run afterwards with a logged chance; nothing flows back, and twice the same command ends alike."""
    before = {arm: digest(run, arm) for arm in run.judged}
    removed = [run.clone.folder / run.shadow(arm) for arm in run.judged]
    for path in removed:
        path.unlink(missing_ok=True)
    made = run.clone.run("snakemake", "--configfile", "every_arm.yaml", "--", *(run.shadow(arm) for arm in run.judged))
    evidence.item(
        "shadow runs leave the episodes as they were",
        made.returncode == 0 and before == {arm: digest(run, arm) for arm in run.judged},
        f"{len(before)} trajectories unchanged",
    )
    runs = [shadow for arm in run.judged for shadow in read_records(run.clone.folder / run.shadow(arm), ShadowRun)]
    states = Counter(one.state.value for one in runs if not one.repeat)
    ran = [one for one in runs if one.state is ShadowState.RAN]
    chances = {one.probability for one in runs}
    dependent = sum(one.unexecuted_before > 0 for one in ran)
    evidence.item(
        "every judged command has a chance on record",
        bool(runs) and None not in chances,
        f"{dict(states)}, chances {sorted(chances)}, {dependent} after commands that had not run",
    )
    pairs = [
        (one, again)
        for one in ran
        for again in ran
        if not one.repeat and again.repeat and (one.unit, one.step, one.index) == (again.unit, again.step, again.index)
    ]
    agree = sum(one.failed == again.failed for one, again in pairs)
    evidence.report("noise of outcomes", f"{agree} of {len(pairs)} repeated runs ended alike")


def digest(run: Run, arm: str) -> str:
    return hashlib.sha256((run.clone.folder / run.folder(arm) / "trajectory.jsonl").read_bytes()).hexdigest()


def few(run: Run, target: str) -> bool:
    """Whether a target of the study with a few arms was made."""
    made = run.clone.run("snakemake", "--configfile", "few_arms.yaml", "--", f"results_few/{target}")
    if made.returncode:
        print((made.stdout + made.stderr)[-3000:])
    return made.returncode == 0


def few_trajectories(run: Run) -> list[Path]:
    folder = run.clone.folder / "results_few"
    return [path for kind in ("rollouts", "episodes") for path in sorted((folder / kind).rglob("trajectory.jsonl"))]


def pages(evidence: Evidence, run: Run) -> None:
    """A page for each attempt, reachable from the dashboard, without anything that runs."""
    made = few(run, "dashboard.html")
    results = run.clone.folder / "results_few"
    found = sorted(path for path in (results / "pages").rglob("*.html") if path.name != "index.html")
    evidence.item("a page per attempt", made and len(found) == FEW_ATTEMPTS, f"{len(found)} pages, {FEW_ATTEMPTS} attempts")
    links = set(re.findall(r'href="(pages/[^"]+)"', (results / "dashboard.html").read_text())) if made else set()
    broken = [link for link in links if not (results / link).is_file()]
    evidence.item("linked from the dashboard", len(links) == FEW_ATTEMPTS + 1 and not broken, f"{len(links)} links, {len(broken)} broken")
    scripts = [path for path in found if "<script" in path.read_text()]
    size = sum(path.stat().st_size for path in found) / max(1, len(found)) / 1000
    evidence.item(
        "nothing in a page runs", bool(found) and not scripts, f"{len(scripts)} of {len(found)} hold a script; {size:.0f} kB on average"
    )


READ = """
import json, sys
from inspect_ai.log import read_eval_log
counts = []
for path in sys.argv[1:]:
    log = read_eval_log(path)
    for sample in log.samples:
        calls = sum(len(message.tool_calls or []) for message in sample.messages if message.role == "assistant")
        codes = [event.result for event in sample.events if event.event == "sandbox"]
        counts.append([sample.metadata["unit"], sum(message.role == "assistant" for message in sample.messages), calls, codes])
print(json.dumps(counts))
"""


def exports(evidence: Evidence, run: Run) -> None:
    """ATIF against its schema; Inspect's own reader, in an environment that is thrown away, shows the same turns, calls and exit codes."""
    made = few(run, "exports/trajectories")
    folder = run.clone.folder / "results_few" / "exports" / "trajectories"
    documents = sorted((folder / "atif").rglob("*.json")) if made else []
    schema = SHARED / "schemas" / "atif_v1.8.schema.json"
    if schema.is_file():
        validator = jsonschema.Draft202012Validator(json.loads(schema.read_text()))
        invalid = [str(path) for path in documents if list(validator.iter_errors(json.loads(path.read_text())))]
        evidence.item(
            "ATIF 1.8 validates", bool(documents) and not invalid, f"{len(documents) - len(invalid)} of {len(documents)} documents"
        )
    else:
        evidence.item("ATIF 1.8 validates", False, f"there is no schema at {schema}")
    ours = {}
    for path in few_trajectories(run):
        events = read_trajectory(path)
        turns = [event for event in events if getattr(event, "role", "") == "assistant"]
        codes = [event.exit_code for event in events if isinstance(event, CommandEvent) and event.route.value == "executed"]
        ours[events[0].unit] = (len(turns), sum(len(turn.tool_calls) for turn in turns), codes)
    place = run.clone.folder.parent / "inspect"
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    installed = subprocess.run([place / "bin" / "pip", "install", "-q", "inspect-ai"], capture_output=True, text=True, check=False)
    if installed.returncode:
        evidence.item(
            "Inspect opens our logs", False, f"inspect-ai could not be installed: {installed.stderr.strip().splitlines()[-1][:200]}"
        )
        return
    logs = sorted(str(path) for path in (folder / "inspect").glob("*.json"))
    opened = subprocess.run([place / "bin" / "python", "-c", READ, *logs], capture_output=True, text=True, check=False)
    if opened.returncode:
        evidence.item("Inspect opens our logs", False, opened.stderr.strip().splitlines()[-1][:300])
        return
    theirs = {unit: (turns, calls, codes) for unit, turns, calls, codes in json.loads(opened.stdout)}
    differ = [unit for unit in ours if theirs.get(unit) != ours[unit]]
    evidence.item(
        "Inspect opens our logs and shows the same turns, calls and exit codes",
        bool(ours) and not differ and len(theirs) == len(ours),
        f"{len(ours) - len(differ)} of {len(ours)} attempts in {len(logs)} logs, {sum(len(one[2]) for one in ours.values())} exit codes {differ[:3] or ''}",
    )


if __name__ == "__main__":
    shown = Evidence()
    items(shown, tuple(sys.argv[1:]) or PARTS)
    sys.exit(shown.finish())
