"""Let a stopped study go on, under the budget that its configuration says now. Call: make resume [STUDY=config/studies/mine.yaml, or a results folder]

Slots that were closed are marked in its results, so that the next run plans exactly these and what is made from them; attempts in the store stay as they are.
"""

import sys
from pathlib import Path

from rubrics_gym.records.files import write_text
from rubrics_gym.settings.loading import ConfigurationError
from rubrics_gym.settings.lock import holder
from rubrics_gym.settings.places import store_folder
from rubrics_gym.store.durable import now
from rubrics_gym.store.stops import StudyRecord, StudyStopped
from rubrics_gym.studies.progress import CLOSED, resumption_mark, slots_that_ended
from rubrics_gym.studies.steering import delivered_slots, steered

if __name__ == "__main__":
    config = sys.argv[1] if len(sys.argv) > 1 else "config/config.yaml"
    try:
        study, results = steered(config)
        if at_work := holder(results):  # it was told the old budget, and would stop the study again at its old limits
            sys.exit(f"resume: a workflow is still at work on {results}: {at_work}. Wait for it, or stop it, and resume then.")
        StudyRecord(store_folder(), study.name).resume(study.budget)
    except StudyStopped as error:
        where = f" (the run that lies in {config}: in its run_config.yaml, then start it with the same)" if Path(config).is_dir() else ""
        sys.exit(f"resume: {error}{where}")
    except (ConfigurationError, FileNotFoundError) as error:
        sys.exit(f"resume: {error}")
    closed = list(slots_that_ended(delivered_slots(study, results), CLOSED))
    for slot in closed:
        write_text(resumption_mark(results, slot.relative_to(results).as_posix()), now() + "\n")
    print(
        f"The study {study.name} goes on as a continuation; {len(closed)} slots of {results}/ are planned again. Now run the same command as before."
    )
