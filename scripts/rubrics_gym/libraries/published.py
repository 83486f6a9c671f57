"""Figures that the published study prints about its libraries, recomputed by this project's own matching, distances and allocation.

`resources/published/` holds the figures as they were printed: shares in percent with one decimal, some rows of the table cut off. So a figure is
either determined by what is visible, or only bounded by it, or left open, and each line says which.
"""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from rubrics_gym.libraries.matching import Total, budget
from rubrics_gym.records.base import Record
from rubrics_gym.statistics.allocation import largest_remainder
from rubrics_gym.statistics.distances import total_variation

HALF_STEP = 0.05 + 1e-9  # a printed share is off by at most half of its last digit
PLENTY = 10**6
RULES: tuple[Total, ...] = ("floor_then_round", "largest_that_fills")
CUT = ("output_missing_or_overwritten", "parameter_without_validation", "fabricated_or_partial_data", "runtime:disk_full")


class Standing(StrEnum):
    """How a recomputed figure stands to the published one."""

    EQUAL = "equal"
    WITHIN = "within what is visible"
    OPEN = "not determined"
    OTHER_RULE = "another rule"  # what a rule gives that the sources word and did not use
    DIFFERENT = "different"


class Line(Record):
    """One figure, published and recomputed."""

    about: str
    figure: str
    published: str
    recomputed: str
    standing: Standing
    note: str = ""


class Published:
    """The published figures: `mixes` (mix -> bin -> percent; cut rows are absent), `totals`, `libraries`, `distances`, `counts`."""

    def __init__(self, folder: str | Path):
        folder = Path(folder)
        self.mixes: dict[str, dict[str, float]] = {}
        for row in _rows(folder / "mixes.csv"):
            name = row.pop("bin")
            for mix, cell in row.items():
                if cell:
                    self.mixes.setdefault(mix, {})[name] = float(cell)
        self.totals = {row["mix"]: int(row["items"]) for row in _rows(folder / "totals.csv")}
        self.libraries = {row["library"]: row for row in _rows(folder / "libraries.csv")}
        self.distances = {(row["target"], row["mix"]): float(row["distance"]) for row in _rows(folder / "distances.csv")}
        self.counts: dict[str, dict[str, dict[str, int]]] = {}  # library -> available|kept -> bin -> count
        for row in _rows(folder / "named_counts.csv"):
            for what in ("available", "kept"):
                if row[what]:
                    self.counts.setdefault(row["library"], {}).setdefault(what, {})[row["bin"]] = int(row[what])

    def visible(self, mix: str) -> dict[str, float]:
        """bin -> percent, without zeros."""
        return {name: share for name, share in self.mixes[mix].items() if share}


def _rows(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def whole_counts(shares: Mapping[str, float], total: int) -> dict[str, list[int]]:
    """bin -> the counts of `total` items whose share prints as published (one decimal)."""
    return {
        name: [k for k in range(math.floor((share - 1) * total / 100), math.ceil((share + 1) * total / 100) + 1) if k >= 0 and abs(100 * k / total - share) <= HALF_STEP]
        for name, share in shares.items()
    }  # fmt: skip


def heldout_counts(published: Published) -> list[tuple[dict[str, int], dict[str, int]]]:
    """Every pair of integer columns (trace, complete) that fits all that is printed about the held-out failures and the library matched to them.

    Visible cells fix their counts. The four cut rows are tried in all ways that reach the totals; one is right when the match of the complete
    column has the printed total, size and named budgets. Causes add to visible rows only.
    """
    trace = {name: counts for name, counts in whole_counts(published.visible("heldout_trace"), published.totals["heldout_trace"]).items()}
    complete = {
        name: counts for name, counts in whole_counts(published.visible("heldout_complete"), published.totals["heldout_complete"]).items()
    }
    line = published.libraries["filtered_oracle"]
    named = published.counts["filtered_oracle"]
    found = []
    for known in _choices(trace):
        left = published.totals["heldout_trace"] - sum(known.values())
        for cut in _compositions(left, len(CUT)):
            column = known | {name: count for name, count in zip(CUT, cut, strict=True) if count}
            for visible in _choices(complete):
                whole = visible | {name: column[name] for name in CUT if name in column}
                if sum(whole.values()) != published.totals["heldout_complete"] or any(
                    whole.get(name, 0) < count for name, count in column.items()
                ):
                    continue
                have = (
                    dict.fromkeys(whole, PLENTY)
                    | named["available"]
                    | {line["binding_bin"]: int(line["binding_rubrics"]), "runtime:disk_full": 0}
                )
                match = budget(have, whole)
                fits = match.total == int(line["total"]) and sum(match.of.values()) == int(line["rubrics"])
                if fits and all(match.of.get(name, 0) == kept for name, kept in named["kept"].items()):
                    found.append((column, whole))
    return found


def _choices(counts: Mapping[str, Sequence[int]]) -> Iterator[dict[str, int]]:
    for chosen in itertools.product(*counts.values()):
        yield dict(zip(counts, chosen, strict=True))


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write `total` as a sum of `parts` whole numbers that are not negative."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


def recompute(published: Published) -> list[Line]:
    """All lines, library by library."""
    solutions = heldout_counts(published)
    lines = [
        Line(
            about="heldout_trace",
            figure="integer columns that fit 128 and 147",
            published="one pair of columns",
            recomputed=f"{len(solutions)}",
            standing=Standing.EQUAL if len(solutions) == 1 else Standing.OPEN if solutions else Standing.DIFFERENT,
            note="cut rows: " + "; ".join(", ".join(f"{name} {column.get(name, 0)}" for name in CUT) for column, _ in solutions),
        )
    ]
    if not solutions:
        return lines
    trace, complete = solutions[0]
    lines += list(_filtered_oracle(published, complete))
    lines += list(_filtered_oracle_trace(published, trace))
    lines += list(_filtered_pool(published))
    lines += list(_filtered_pool_trace(published))
    lines += list(_exact_distances(published, trace, complete))
    lines += list(_category_split(published))
    return lines


def _equal(about: str, figure: str, published: Any, recomputed: Any, note: str = "") -> Line:
    standing = Standing.EQUAL if str(published) == str(recomputed) else Standing.DIFFERENT
    return Line(about=about, figure=figure, published=str(published), recomputed=str(recomputed), standing=standing, note=note)


def _filtered_oracle(published: Published, complete: Mapping[str, int]) -> Iterator[Line]:
    """The 186: total, size, every budget, distance; and which wording of the rule gives them."""
    name = "filtered_oracle"
    line, named = published.libraries[name], published.counts[name]
    have = (
        dict.fromkeys(complete, PLENTY) | named["available"] | {line["binding_bin"]: int(line["binding_rubrics"]), "runtime:disk_full": 0}
    )
    match = budget(have, complete)
    share = 100 * complete[line["binding_bin"]] / (sum(complete.values()) - complete["runtime:disk_full"])
    yield _equal(name, "share of the binding bin, renormalised", line["binding_share_percent"], f"{share:.1f}")
    yield _equal(name, "binding bin", line["binding_bin"], match.binding)
    yield _equal(name, "total", line["total"], match.total)
    yield _equal(name, "rubrics", line["rubrics"], sum(match.of.values()))
    printed = whole_counts(published.visible(name), int(line["rubrics"]))
    for one in sorted(match.of):
        options = printed[one] if one in printed else [named["kept"][one]] if one in named["kept"] else []
        yield _equal(name, f"budget of {one}", " or ".join(map(str, options)), match.of[one])
    other = budget(have, complete, "largest_that_fills")
    yield Line(
        about=name,
        figure="rubrics by the published wording (largest total whose rounded budgets fill)",
        published=line["rubrics"],
        recomputed=f"{sum(other.of.values())} (total {other.total})",
        standing=Standing.OTHER_RULE if sum(other.of.values()) != int(line["rubrics"]) else Standing.EQUAL,
        note="so the rule behind the published size is floor, then round",
    )
    yield _equal(name, "distance to its target", line["distance_to_target"], f"{total_variation(match.of, complete):.1f}")


def _filtered_oracle_trace(published: Published, trace: Mapping[str, int]) -> Iterator[Line]:
    """The 177, under both wordings."""
    name = "filtered_oracle_trace"
    line = published.libraries[name]
    have = dict.fromkeys(trace, PLENTY) | {line["binding_bin"]: int(line["binding_rubrics"]), "runtime:disk_full": 0}
    matches = {rule: budget(have, trace, rule) for rule in RULES}
    yield _equal(name, "binding bin", line["binding_bin"], matches["floor_then_round"].binding)
    for rule, match in matches.items():
        yield _equal(name, f"rubrics, {rule}", line["rubrics"], sum(match.of.values()), f"total {match.total}")
    match = matches["floor_then_round"]
    off = _misprinted(match.of, published.visible(name), int(line["rubrics"]))
    yield _equal(name, "visible cells that differ", 0, len(off), ", ".join(off))
    same = matches["floor_then_round"].of == matches["largest_that_fills"].of
    yield Line(
        about=name,
        figure="which wording was used",
        published="not printed",
        recomputed="both give the same budgets" if same else "the budgets differ",
        standing=Standing.OPEN if same else Standing.DIFFERENT,
    )
    yield _equal(name, "distance to its target", line["distance_to_target"], f"{total_variation(match.of, trace):.1f}")


def _filtered_pool(published: Published) -> Iterator[Line]:
    """The 187: its shares are known to one decimal only, and three of its rows are cut."""
    name, target = "filtered_pool", "pool_complete"
    line = published.libraries[name]
    shares, printed = published.visible(target), published.mixes[name]
    rubrics, share = int(line["binding_rubrics"]), float(line["binding_share_percent"]) / 100
    total = math.floor(rubrics / share)
    yield _equal(name, "total = floor(29 / 0.154)", line["total"], total)
    for rule, size in (("floor_then_round", total), ("largest_that_fills", math.ceil((rubrics + 0.5) / share) - 1)):
        off = [
            one
            for one, percent in shares.items()
            if not _budget_at(size, percent - HALF_STEP)
            <= _count_of(printed[one], int(line["rubrics"]))
            <= _budget_at(size, percent + HALF_STEP)
        ]
        wanted = "0" if rule == "floor_then_round" else "some"
        got = "some" if off and wanted == "some" else str(len(off))
        yield _equal(name, f"visible budgets that {rule} (total {size}) cannot give", wanted, got, ", ".join(off))
    seen = sum(_count_of(printed[one], int(line["rubrics"])) for one in shares)
    named = sum(published.counts[name]["kept"].values())
    yield Line(
        about=name,
        figure="budgets of the rows that are cut (output missing, fabricated data, one unnamed)",
        published="not printed",
        recomputed=f"{int(line['rubrics']) - seen - named} rubrics together",
        standing=Standing.OPEN,
        note="their shares of the target are cut as well",
    )


def _filtered_pool_trace(published: Published) -> Iterator[Line]:
    """The 464: counts of 704 of the 705 failures follow from the shares where they are visible; the binding bin is not printed."""
    name, target = "filtered_pool_trace", "pool_trace"
    line = published.libraries[name]
    size = int(line["rubrics"])
    counts = whole_counts(published.visible(target), published.totals[target])
    unique = {one: options[0] for one, options in counts.items() if len(options) == 1}
    yield _equal(name, "visible counts of 705 that are not unique", 0, len(counts) - len(unique))
    # Out of memory has no rubric in the source library, so its one failure leaves the target.
    mass = published.totals[target] - unique["runtime:out_of_memory"]
    supply = whole_counts(published.visible("whole_rollouts"), published.totals["whole_rollouts"])
    binding = sorted(
        one
        for one, count in unique.items()
        if one != "runtime:out_of_memory" and any(k * mass // count == size for k in supply.get(one, ()))
    )
    yield Line(
        about=name,
        figure="bins whose supply can give a total of 464",
        published="not printed",
        recomputed=", ".join(f"{one} with {next(k for k in supply[one] if k * mass // unique[one] == size)} rubrics" for one in binding),
        standing=Standing.WITHIN if binding else Standing.DIFFERENT,
        note="the source names no binding bin; supply from the shares of the 4,294",
    )
    off = _misprinted(
        {one: (2 * size * k + mass) // (2 * mass) for one, k in unique.items() if one != "runtime:out_of_memory"},
        published.visible(name),
        size,
    )
    yield _equal(name, "visible budgets at a total of 464 that differ", 0, len(off), ", ".join(off))
    yield Line(
        about=name,
        figure="the rows that are cut",
        published="not printed",
        recomputed=f"{published.totals[target] - sum(unique.values())} failures without a row",
        standing=Standing.OPEN,
    )


def _exact_distances(published: Published, trace: Mapping[str, int], complete: Mapping[str, int]) -> Iterator[Line]:
    """The ten distances whose both columns are known in full."""
    oracle = dict.fromkeys(complete, PLENTY) | {"runtime:time_limit": 93, "runtime:disk_full": 0}
    first = dict.fromkeys(trace, PLENTY) | {"runtime:time_limit": 102, "runtime:disk_full": 0}
    source, total = "weighted_outcome", published.totals["weighted_outcome"]
    named = {one: 100 * count / total for one, count in published.counts[source]["available"].items()}
    listed = published.visible(source) | named
    columns: dict[str, Mapping[str, float]] = {
        "heldout_trace": trace,
        "heldout_complete": complete,
        "filtered_oracle_trace": budget(first, trace).of,
        "filtered_oracle": budget(oracle, complete).of,
        source: listed | {"a row that is cut and not named": 100 - math.fsum(listed.values())},
    }
    for target in ("heldout_trace", "heldout_complete"):
        for mix, column in columns.items():
            distance = total_variation(columns[target], column)
            yield _equal("distances", f"{target} to {mix}", f"{published.distances[target, mix]:.0f}", f"{distance:.0f}", f"{distance:.2f}")


def _category_split(published: Published) -> Iterator[Line]:
    """0.20 of twelve slots for the modelling category becomes none, and ten slots go to programs that die.

    The shares of the second to fourth collection are not printed: those of the second and third are scaled to the printed share of crashes.
    """
    crash_share, modelling = 76.0, 100 * 0.20 / 12
    shares = published.visible("pool_complete")
    runtime = math.fsum(share for one, share in shares.items() if one.startswith("runtime:"))
    others = math.fsum(shares.values()) - runtime
    scaled = {
        one: share * crash_share / runtime if one.startswith("runtime:") else share * (100 - crash_share - modelling) / others
        for one, share in shares.items()
    } | {"modelling_choice": modelling}
    slots = largest_remainder(scaled, 12)
    yield _equal("category split", "slots of the modelling category", 0, slots["modelling_choice"])
    yield _equal(
        "category split", "slots for programs that die", 10, sum(count for one, count in slots.items() if one.startswith("runtime:"))
    )
    rest = {one: count for one, count in slots.items() if count and not one.startswith("runtime:")}
    yield Line(
        about="category split",
        figure="the other two slots",
        published="output format, missing values",
        recomputed=", ".join(sorted(rest)),
        standing=Standing.OPEN,
        note="the shares that were split are not printed",
    )


def _misprinted(budgets: Mapping[str, int], printed: Mapping[str, float], size: int) -> list[str]:
    """Bins whose budget does not print as published."""
    return [one for one, count in budgets.items() if one in printed and abs(100 * count / size - printed[one]) > HALF_STEP]


def _budget_at(total: int, percent: float) -> int:
    return math.floor(total * percent / 100 + 0.5)


def _count_of(percent: float, size: int) -> int:
    return math.floor(percent * size / 100 + 0.5)
