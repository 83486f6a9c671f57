"""Attempt again what ended in a loss of the infrastructure (a provider that was down, a sandbox that died). Call: make retry [STUDY=config/studies/mine.yaml,
or a results folder]

What the lost attempts were answered is served to the new ones: only what is missing is asked. They stay on record, and so does their cost.
"""

import sys

from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.records.files import DamagedFile, write_text
from rubrics_gym.settings.loading import ConfigurationError
from rubrics_gym.settings.lock import holder
from rubrics_gym.settings.places import store_folder
from rubrics_gym.settings.study import ReplayAttempts
from rubrics_gym.store.attempts import AttemptStore
from rubrics_gym.store.durable import now
from rubrics_gym.store.storage import LeaseHeld
from rubrics_gym.studies.progress import ENDS, LOST, resumption_mark, slots_that_ended
from rubrics_gym.studies.steering import delivered_slots, steered

if __name__ == "__main__":
    config = sys.argv[1] if len(sys.argv) > 1 else "config/config.yaml"
    try:
        study, results = steered(config)
        if study.budget.replay_attempts is ReplayAttempts.NEVER:
            sys.exit(
                f"retry: the study {study.name} attempts nothing again (budget.replay_attempts: never); what was lost stays lost, and visible."
            )
        if at_work := holder(results):
            sys.exit(f"retry: a workflow is still at work on {results}: {at_work}. Wait for it, or stop it, and try then.")
        store = AttemptStore(store_folder(), study.name)
        lost = list(slots_that_ended(delivered_slots(study, results), LOST))
        for slot in lost:
            store.retry(read_trajectory(slot / ENDS)[0].unit)
            write_text(resumption_mark(results, slot.relative_to(results).as_posix()), now() + "\n")
    except (ConfigurationError, FileNotFoundError, DamagedFile, LeaseHeld) as error:
        sys.exit(f"retry: {error}")
    print(f"{len(lost)} lost slots of {results}/ are planned again; what they were answered is served. Now run the same command as before.")
