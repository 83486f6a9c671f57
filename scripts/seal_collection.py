"""Seal a finished collection: write the hashes of its rollouts beside them. Call: make seal COLLECTION=pool"""

import sys
from pathlib import Path

from rubrics_gym.records.files import DamagedFile
from rubrics_gym.store.sealing import seal
from rubrics_gym.studies.progress import CLOSED, ENDS, slots_that_ended

if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("seal: name one collection: make seal COLLECTION=pool")
    collection, results = sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else "results"
    closed = list(slots_that_ended((path.parent for path in (Path(results) / "rollouts" / collection).rglob(ENDS)), CLOSED))
    if closed:
        sys.exit(
            f"seal: {len(closed)} rollouts of {collection} were not run, or cut off (the first: {closed[0]}); finish it first: make resume"
        )
    try:
        rollouts = seal(Path(results) / "rollouts" / collection)
    except DamagedFile as error:
        sys.exit(f"seal: {error}")
    print(f"sealed {rollouts} rollouts of {collection}; now set collections.{collection}.sealed to true")
