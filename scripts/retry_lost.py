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
from rubrics_gym.store.stops import StudyRecord
from rubrics_gym.store.storage import LeaseHeld
from rubrics_gym.studies.progress import ENDS, LOST, outcome_of, resumption_mark, slots_that_ended
from rubrics_gym.studies.steering import delivered_slots, steered


def refusal(study, results):
    """Why nothing is retried now; empty when something may be."""
    if study.budget.replay_attempts is ReplayAttempts.NEVER:
        return f"the study {study.name} attempts nothing again (budget.replay_attempts: never); what was lost stays lost, and visible."
    if standing := StudyRecord(store_folder(), study.name).standing:
        return f"the study {study.name} stands still ({standing.why}), and would close what is set aside: make resume first."
    at_work = holder(results)
    return f"a workflow is still at work on {results}: {at_work}. Wait for it, or stop it, and try then." if at_work else ""


def is_needed(store, unit):
    """Whether an attempt of a unit belongs to a study that could not make it once more."""
    studies = {attempt.begun.study for attempt in store.of_unit(unit)}
    return any(StudyRecord(store_folder(), name).attempts_nothing_again for name in studies)


if __name__ == "__main__":
    config = sys.argv[1] if len(sys.argv) > 1 else "config/config.yaml"
    try:
        study, results = steered(config)
        if why := refusal(study, results):
            sys.exit(f"retry: {why}")
        store = AttemptStore(store_folder(), study.name)
        lost = {slot: read_trajectory(slot / ENDS)[0].unit for slot in slots_that_ended(delivered_slots(study, results), LOST)}
        retried = {slot: unit for slot, unit in lost.items() if not is_needed(store, unit)}
        for slot, unit in retried.items():
            store.retry(unit, lambda attempt: outcome_of(attempt.folder / ENDS) in LOST)
            write_text(resumption_mark(results, slot.relative_to(results).as_posix()), now() + "\n")
    except (ConfigurationError, FileNotFoundError, DamagedFile, LeaseHeld) as error:
        sys.exit(f"retry: {error}")
    left = f" ({len(lost) - len(retried)} others belong to a study that attempts nothing again)" if len(lost) > len(retried) else ""
    print(
        f"{len(retried)} lost slots of {results}/ are planned again{left}; what they were answered is served. Now run the same command as before."
    )
