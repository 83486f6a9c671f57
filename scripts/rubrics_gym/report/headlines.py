"""The questions of the study and their answers in a line each, with the evidence beside them; no answer says more than its interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rubrics_gym.report.judges import NO_LIBRARY

Cells = Mapping[str, str]
SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Headline:
    """One question, its answer, the numbers behind it and what limits it."""

    question: str
    answer: str
    evidence: str
    caveat: str = ""


def headlines(tables: Mapping[str, Sequence[Cells]], asked: Iterable[Sequence[str]]) -> list[Headline]:
    """The headlines of a page from the text cells of its tables and the questions (question, first arm, second arm)."""
    asked = list(asked)
    by_pair = {(row["first"], row["second"]): row for row in tables.get("contrasts", ()) if row["endpoint"] == "valid"}
    found = [contrast_headline(question, by_pair[first, second]) for question, first, second in asked if (first, second) in by_pair]
    judged = [row for row in tables.get("precision_recall", ()) if row["kind"] == "judge" and row["library"] != NO_LIBRARY]
    order = [first for _, first, _ in asked]  # the library that the questions are about comes first
    judged.sort(key=lambda row: order.index(row["judge"]) if row["judge"] in order else len(order))
    found += [judge_headline(row) for row in judged[:1]]
    found += [truth_headline(row) for row in tables.get("truth", ()) if row["kind"] == "total"]
    found += [cost_headline(row) for row in tables.get("requests", ()) if row["stage"] == "total"]
    return found


def contrast_headline(question: str, row: Cells) -> Headline:
    """What a paired difference of validity says."""
    pair = f"{row['first']} minus {row['second']}"
    counted = f"{row['clusters']} competitions, {row['n']} episodes"
    if not row["estimate"]:
        return Headline(question, "No answer: nothing to compare.", f"{pair}; {counted}.")
    value = f"{_signed(row['estimate'])} pp valid"
    caveat = ""
    if row["detectable"]:
        found = float(row["detectable"])
        caveat = (
            f"This design finds differences from {found:.1f} pp on (80% power)." if found < 100 else "This design can find no difference."
        )
    if int(row["missing"]):
        missing = "1 outcome is" if row["missing"] == "1" else f"{row['missing']} outcomes are"
        caveat = f"{missing} missing: bounds {_signed(row['bound_low'])} to {_signed(row['bound_high'])} pp. {caveat}"
    if not row["low"]:
        return Headline(question, f"{value}; no interval.", f"{pair}; {counted}. {row['note'].capitalize()}.", caveat)
    p = f", p = {float(row['p']):.3f} (Holm {float(row['p_holm']):.3f})"
    evidence = f"{pair}; interval {_signed(row['low'])} to {_signed(row['high'])}{p}; {counted}."
    return Headline(question, f"{value}: {_verdict(row)}.", evidence, caveat)


def _verdict(row: Cells) -> str:
    """What an interval and a corrected test say together; where they disagree, both."""
    low, high = float(row["low"]), float(row["high"])
    if low <= 0 <= high:
        return "not told apart from no difference"
    side = "higher" if low > 0 else "lower"
    return side if float(row["p_holm"]) <= SIGNIFICANT else f"leans {side}, not beyond chance in the corrected test"


def _signed(points: str) -> str:
    return f"{float(points):+.1f}".replace("-", "−")


def judge_headline(row: Cells) -> Headline:
    """What precision and recall of a judge with a library say."""
    parts = [f"{name} {_percent(row, name)}" for name in ("precision", "recall")]
    evidence = f"Judge with library {row['library']}; {row['n']} commands, {row['clusters']} competitions"
    prevalence = f", {100 * float(row['prevalence']):.0f}% of which failed" if row.get("prevalence") else ""
    question = "How well does the judge foresee what execution does?"
    return Headline(question, "; ".join(parts).capitalize() + ".", f"{evidence}{prevalence}.", "Beside the baselines below, not alone.")


def truth_headline(row: Cells) -> Headline:
    """What the truth table says in total."""
    parts = [f"detected {_percent(row, 'detected', '_share')}", f"typed {_percent(row, 'typed', '_share')}"]
    parts += [f"categorised {_percent(row, 'categorised', '_share')}"]
    evidence = f"{row['surfaced']} of {row['planted']} planted mistakes surfaced, in {row['clusters']} attempts."
    return Headline("Does the pipeline find what went wrong?", "; ".join(parts).capitalize() + ".", evidence, "Planted by the simulator.")


def cost_headline(row: Cells) -> Headline:
    """What was asked and what it cost."""
    states = ", ".join(f"{row[name]} {name}" for name in ("returned", "failed", "unresolved", "refused"))
    cost = f"${int(row['cost_microdollars']) / 1e6:,.2f}"
    made_up = row["simulated"] == "true"
    answer = f"{int(row['reserved']):,} requests, {cost}{' at list price, nothing paid' if made_up else ''}."
    return Headline("What did it cost?", answer, f"{states}.", "")


def _percent(row: Cells, name: str, suffix: str = "") -> str:
    value, low, high = (row.get(column, "") for column in (f"{name}{suffix}", f"{name}_low", f"{name}_high"))
    if not value:
        return "not observed"
    interval = f" [{100 * float(low):.0f}, {100 * float(high):.0f}]" if low and high else ""
    return f"{100 * float(value):.0f}%{interval}"
