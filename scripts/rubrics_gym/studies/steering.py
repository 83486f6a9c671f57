"""Which study a person means who stops it, lets it go on or has its losses made again: that of a configuration file, or that of a run whose results
folder is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rubrics_gym.settings.loading import load_study, read_file
from rubrics_gym.settings.places import use_store
from rubrics_gym.settings.study import Study
from rubrics_gym.studies.progress import ENDS
from rubrics_gym.studies.protocols import store_of

RUN_CONFIG = "run_config.yaml"  # in a results folder: the configuration of its last run, with all that was given on the command line


def steered(named: str) -> tuple[Study, Path]:
    """The study and its results folder; from now on its store is the store of this process. ConfigurationError when there is none.

    A run that was started with `--config` is named by its results folder: no file says what it was told.
    """
    path = Path(named)
    config = path / RUN_CONFIG if path.is_dir() else path
    study = load_study(read_file(config), str(config))
    if study.protocol is not None:
        use_store(store_of(study.protocol))
    return study, path if path.is_dir() else Path(study.pathvars.get("results", "results"))


def delivered_slots(study: Study, results: Path) -> Iterator[Path]:
    """The folders of the slots that a study may attempt and has something in: rollouts of collections that are not sealed, and episodes."""
    stages = [Path("rollouts", name) for name, collection in study.collected.items() if not collection.sealed] + [Path("episodes")]
    for stage in stages:
        for record in sorted((results / stage).rglob(ENDS)):
            yield record.parent
