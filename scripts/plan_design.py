"""Print what a comparison of two arms could show before it is paid for: python scripts/plan_design.py TASKS RUN_SD [REPEATS …]

RUN_SD is the run-to-run standard deviation of valid tasks in one run over all of them (table `noise` of a finished study, or a pilot's).
"""

import sys

from rubrics_gym.report.designs import EFFECTS, REPEATS, plan_rows
from rubrics_gym.statistics.noise import Spread


def main(arguments: list[str]) -> int:
    try:
        tasks, run_sd = int(arguments[0]), float(arguments[1])
        repeats = tuple(map(int, arguments[2:])) or REPEATS
        rows = plan_rows(tasks, Spread(run_sd, None, None, None, 0, 0, 0, 0.95), "given", "plan", False, repeats=repeats)
    except (IndexError, ValueError) as error:
        print(f"{error}\nusage: make design TASKS=22 RUN_SD=1.35 REPEATS='1 2 4'", file=sys.stderr)
        return 2
    print(f"{tasks} tasks, run-to-run SD {run_sd:g} valid; paired t test, two-sided 5%, the true effect equal over tasks")
    print("repeats  detectable (80%)  " + "  ".join(f"power at {100 * effect:g} pp" for effect in EFFECTS))
    for row in rows:
        powers = "  ".join(f"{row[f'power_{round(100 * effect)}']:>{len(f'power at {100 * effect:g} pp')}.2f}" for effect in EFFECTS)
        print(f"{row['repeats']:>7}  {row['detectable']:>8.1f} pp ({row['detectable'] * tasks / 100:.1f})  {powers}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
