"""Library, retrieved, applicable, flagged: what of each library reached its judge, in the replay and in every repeat of the episodes."""

from collections import defaultdict

from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.judge.replay import ReplayedVerdict
from rubrics_gym.libraries.exposure import audit
from rubrics_gym.records.failures import Distribution
from rubrics_gym.records.files import read_json, read_records
from rubrics_gym.records.rubrics import LibraryManifest, Rubric
from rubrics_gym.records.trajectory import VerdictEvent
from rubrics_gym.report.libraries import Run
from rubrics_gym.report.specs import EXPOSURE, EXPOSURE_RUNS
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import AuditExposure

with job(snakemake, AuditExposure) as (settings, log):
    inputs = snakemake.input
    verdicts, competitions = defaultdict(list), defaultdict(set)  # (judge, run) -> what was said, about which competitions
    if settings.replayed:
        for judge, path in zip(settings.judges, inputs.verdicts, strict=True):
            for row in read_records(path, ReplayedVerdict):
                verdicts[judge, "replay"].append(row.verdict)
                competitions[judge, "replay"].add(row.task)
    for path in inputs.trajectories:
        events = read_trajectory(path)
        _, judge, repeat, *_ = events[0].unit.split("/")
        run = f"episodes {repeat}"
        competitions[judge, run].add(events[0].task)
        verdicts[judge, run] += [event.verdict for event in events if isinstance(event, VerdictEvent)]
    target = Distribution.model_validate(read_json(inputs.target)) if inputs.target else None
    libraries = {
        judge: (LibraryManifest.model_validate(read_json(manifest)), read_records(rubrics, Rubric))
        for judge, manifest, rubrics in zip(settings.judges, inputs.manifests, inputs.rubrics, strict=True)
    }
    runs = []
    for judge, run in sorted(verdicts, key=lambda key: (settings.judges.index(key[0]), key[1])):
        manifest, rubrics = libraries[judge]
        runs.append(Run(judge, run, manifest, audit(rubrics, verdicts[judge, run]), len(competitions[judge, run])))
    write_table(EXPOSURE_RUNS, [run.row(target) for run in runs], snakemake.output.runs)
    write_table(EXPOSURE, [row for run in runs for row in run.bin_rows(target)], snakemake.output.bins)
    log.info("%d runs of %d judges", len(runs), len(settings.judges))
