"""Run final.py once in a clean sandbox after an episode. A run that was lost is asked once more, and both attempts are kept."""

import tempfile
from pathlib import Path

from rubrics_gym.harness.attempts import WorkPlace
from rubrics_gym.harness.episode import PROTOCOL
from rubrics_gym.harness.final import FINAL, leave_unrun, obtain_final, run_final
from rubrics_gym.harness.outcomes import was_run
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.records.files import write_json
from rubrics_gym.settings.asking import read_asking
from rubrics_gym.settings.code import digest
from rubrics_gym.settings.job import job
from rubrics_gym.settings.places import store_folder, wheel_folder
from rubrics_gym.settings.rules import RunFinal
from rubrics_gym.settings.study import ReplayAttempts
from rubrics_gym.store.attempts import AttemptStore
from rubrics_gym.store.serving import deliver, work_key, write_attempts

FILES = {FINAL: "final", "final_run.log": "run_log", "final_artifacts.tar.gz": "artifacts"}

with job(snakemake, RunFinal) as (settings, log):
    w = snakemake.wildcards
    unit = f"finals/{w.arm}/{w.repeat}/{w.benchmark}/{w.task}"
    key = work_key(settings, {"public": snakemake.input.public, "artifacts": snakemake.input.artifacts}, PROTOCOL)
    store, how = AttemptStore(store_folder()), read_asking(snakemake.resources.asking)

    def make(attempt):
        with WorkPlace(snakemake.input.public) as place:
            final = run_final(
                place.task.deliverable,
                place.data,
                snakemake.input.artifacts,
                settings.sandbox,
                settings.limits,
                settings.start,
                attempt.folder / "final_run.log",
                attempt.folder / "final_artifacts.tar.gz",
                wheel_folder(),
            )
        write_json(attempt.folder / FINAL, final)
        log.info("exit code %s, stopped at the cap: %s, deliverable: %s", final.exit_code, final.timed_out, final.deliverable_present)

    code = digest(snakemake.params.code)
    outputs = {name: snakemake.output[output] for name, output in FILES.items()}
    if was_run(read_trajectory(snakemake.input.trajectory)):
        attempt, made = obtain_final(store, unit, key, code, make, again=how.budget.replay_attempts is not ReplayAttempts.NEVER)
        log.info("%s attempt %s", "made" if made else "served from the store:", attempt.name)
        deliver(attempt.folder, outputs)
    else:
        log.warning("the episode was not run, so its program is not run either")
        with tempfile.TemporaryDirectory() as folder:
            leave_unrun(Path(folder), settings.limits.final_s)
            deliver(Path(folder), outputs)
    write_attempts(store, unit, snakemake.output.attempts)
