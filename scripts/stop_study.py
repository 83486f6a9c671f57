"""Ask a study to stop: what is under way goes on to its end, nothing else begins. Call: make stop [STUDY=config/studies/mine.yaml, or a results folder]"""

import sys

from rubrics_gym.settings.loading import ConfigurationError
from rubrics_gym.settings.places import store_folder
from rubrics_gym.store.stops import StudyRecord
from rubrics_gym.studies.steering import steered

if __name__ == "__main__":
    config = sys.argv[1] if len(sys.argv) > 1 else "config/config.yaml"
    try:
        study, _ = steered(config)
    except (ConfigurationError, FileNotFoundError) as error:
        sys.exit(f"stop: {error}")
    standing = StudyRecord(store_folder(), study.name).stop("asked for with `make stop`")
    print(
        f"The study {study.name} stands still since {standing.at} ({standing.why}). Units that have begun go on to their end; others are not begun. "
        f"To go on: make resume STUDY={config}, then the same command as before."
    )
