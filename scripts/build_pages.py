"""A page per attempt, and their list: linked from the dashboard."""

from pathlib import Path

from rubrics_gym.failures.types import load_rules
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.judge.replay import ReplayedVerdict
from rubrics_gym.records.files import attempt_files, read_json, read_records, write_text
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.shadows import ShadowRun
from rubrics_gym.records.trajectory import FinalEvent
from rubrics_gym.report.dashboard import page_path
from rubrics_gym.report.pages import Attempt, build_index, build_page
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import BuildPages

with job(snakemake, BuildPages) as (settings, log):
    finals = dict(zip(snakemake.input.final_of, snakemake.input.finals, strict=True))
    shadows = dict(zip(snakemake.input.shadow_of, snakemake.input.shadows, strict=True))
    replayed: dict[str, dict[str, list[ReplayedVerdict]]] = {}  # unit -> judge -> its verdicts
    for row in (row for path in snakemake.input.verdicts for row in read_records(path, ReplayedVerdict)):
        replayed.setdefault(row.unit, {}).setdefault(row.verdict.judge, []).append(row)
    attempts = []
    for path, grade in zip(
        attempt_files(snakemake.input.trajectories, "trajectory.jsonl"), attempt_files(snakemake.input.grades, "grade.json"), strict=True
    ):
        events = read_trajectory(path)
        attempts.append(
            Attempt(
                events,
                Grade.model_validate(read_json(grade)),
                FinalEvent.model_validate(read_json(finals[path])) if path in finals else None,
                read_records(shadows[path], ShadowRun) if path in shadows else (),
                replayed.get(events[0].unit, {}),
            )
        )
    folder = Path(snakemake.output.pages)
    for attempt in attempts:
        write_text(folder / page_path(attempt.start.unit), build_page(attempt, settings.simulated))
    write_text(folder / "index.html", build_index(attempts, load_rules(snakemake.input.types), settings.simulated))
    log.info("%d pages", len(attempts))
