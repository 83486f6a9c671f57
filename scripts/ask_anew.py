"""Set the stored attempts and responses of a unit aside, so that its paid work is asked anew. Call: make fresh UNIT=rollouts/pool/packaged/TASK/0"""

import sys
from contextlib import suppress

from rubrics_gym.settings.places import store_folder
from rubrics_gym.store.attempts import AttemptStore, UnknownUnit
from rubrics_gym.store.storage import LeaseHeld

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("fresh: name one unit: make fresh UNIT=rollouts/pool/packaged/TASK/0")
    unit = sys.argv[1]
    store = AttemptStore(store_folder())
    try:
        aside = store.fresh(unit)
        with suppress(UnknownUnit):  # the judge of an episode keeps a ledger of its own
            store.fresh(f"judge/{unit}")
    except UnknownUnit:
        sys.exit(f"fresh: the store knows nothing of {unit}; results/tables/attempts.csv lists every rollout, episode and final run")
    except (LeaseHeld, ValueError) as error:
        sys.exit(f"fresh: {error}")
    print(
        f"{aside} attempts of {unit} and its stored answers set aside (nothing is deleted). Now delete its outputs under results/ and run the same command again."
    )
