"""Write a page that says in what two finished studies differ: python scripts/compare_studies.py FIRST SECOND PAGE (results folders)."""

import sys

from rubrics_gym.records.files import write_text
from rubrics_gym.report.comparison import compare, comparison_page, read_finished


def main(arguments: list[str]) -> int:
    if len(arguments) != 3:
        print("usage: make compare FIRST=results SECOND=results/other PAGE=comparison.html", file=sys.stderr)
        return 2
    try:
        found = compare(read_finished(arguments[0]), read_finished(arguments[1]))
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 1
    write_text(arguments[2], comparison_page(found))
    print(
        f"{len(found.settings)} settings, {len(found.requests)} units with other requests, {len(found.attempts)} attempts and "
        f"{sum(map(len, found.tables.values()))} cells in {len(found.tables)} tables differ: {arguments[2]}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
