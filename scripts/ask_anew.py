"""Set the stored attempts and responses of a unit aside, so that its paid work is asked anew. Call: make fresh UNIT=rollouts/pool/packaged/TASK/0"""

import sys

from rubrics_gym.settings.places import store_folder
from rubrics_gym.store.attempts import AttemptStore

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("fresh: name one unit: make fresh UNIT=rollouts/pool/packaged/TASK/0")
    unit = sys.argv[1]
    aside = AttemptStore(store_folder()).fresh(unit)
    if not aside:
        sys.exit(f"fresh: the store has no attempt of {unit}; results/tables/attempts.csv lists every unit")
    print(f"{aside} attempts of {unit} set aside (nothing is deleted). Now delete its outputs under results/ and run the same command again.")
