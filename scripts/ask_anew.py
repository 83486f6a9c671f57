"""Set the stored attempts and responses of a unit aside, so that its paid work is asked anew. Call: make fresh UNIT=rollouts/pool/packaged/TASK/0

Its slot is marked in the results, so that the next run plans it, and what is made from it, whatever else is there.
"""

import sys
from contextlib import suppress
from pathlib import Path

from rubrics_gym.records.files import write_text
from rubrics_gym.settings.places import store_folder
from rubrics_gym.store.attempts import AttemptStore, UnknownUnit
from rubrics_gym.store.durable import now
from rubrics_gym.store.stops import StudyRecord
from rubrics_gym.store.storage import LeaseHeld
from rubrics_gym.studies.progress import resumption_mark, slots_of_unit

# kind of a unit that is no slot -> the rules that ask for it
RULES = {
    "mine": "mine_candidates fill_quota mine_lessons",
    "classify": "categorize_failures categorize_rubrics",
    "classify_again": "recategorize_failures",
    "attribute": "attribute_causes",
    "review": "review_lessons",
    "draft": "draft_taxonomy",
    "judge": "replay_judge",
}

if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("fresh: name one unit: make fresh UNIT=rollouts/pool/packaged/TASK/0 [RESULTS=results]")
    unit, results = sys.argv[1], Path(sys.argv[2] if len(sys.argv) == 3 else "results")
    store = AttemptStore(store_folder())
    try:
        studies = {attempt.begun.study for attempt in store.of_unit(unit)}
        if never := sorted(name for name in studies if StudyRecord(store_folder(), name).attempts_nothing_again):
            sys.exit(
                f"fresh: the study {never[0]} attempts nothing again (budget.replay_attempts: never): asked anew, {unit} would count as not run, for good."
            )
        aside = store.fresh(unit)
        with suppress(UnknownUnit):  # the judge of an episode keeps a ledger of its own
            store.fresh(f"judge/{unit}")
    except UnknownUnit:
        sys.exit(f"fresh: the store knows nothing of {unit}; results/tables/attempts.csv lists every rollout, episode and final run")
    except (LeaseHeld, ValueError) as error:
        sys.exit(f"fresh: {error}")
    slots = list(slots_of_unit(results, unit))
    for slot in slots:
        write_text(resumption_mark(results, slot), now() + "\n")
    rules = RULES.get(unit.split("/")[0])
    again = f"the same command with --forcerun {rules}" if rules else "the same command again"
    print(
        f"{aside} attempts of {unit} and its stored answers set aside (nothing is deleted); {len(slots)} slots of {results}/ are planned again. Now run {again}."
    )
