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
from rubrics_gym.studies.progress import ENDS, closed_slots, resumption_mark
from rubrics_gym.studies.steering import steered

if __name__ == "__main__":
    config = sys.argv[1] if len(sys.argv) > 1 else "config/config.yaml"
    try:
        study, results = steered(config)
        if at_work := holder(results):  # it was told the old budget, and would stop the study again at its old limits
            sys.exit(f"resume: a workflow is still at work on {results}: {at_work}. Wait for it, or stop it, and resume then.")
        StudyRecord(store_folder(), study.name).resume(study.budget)
    except (ConfigurationError, FileNotFoundError, StudyStopped) as error:
        sys.exit(f"resume: {error}")
    planned = [Path("rollouts", name) for name, collection in study.collected.items() if not collection.sealed] + [Path("episodes")]
    slots = (path.parent for stage in planned for path in (results / stage).rglob(ENDS))
    closed = list(closed_slots(slots))
    for path in closed:
        write_text(resumption_mark(results, path.parent.relative_to(results).as_posix()), now() + "\n")
    print(
        f"The study {study.name} goes on as a continuation; {len(closed)} slots of {results}/ are planned again. Now run the same command as before."
    )
