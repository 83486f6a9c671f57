"""What a table is made of: columns with their units and labels, and the evidence without which no rate may travel."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

FULL_COUNT = "full_count"  # kind of interval: none, because nothing was sampled; a share of all there are


# why a number has no interval of its own
A_BOUND = "a bound"
ENDS = "ends of an interval"
EXPECTATION = "an expectation"
RECORDED = "a full count of what was recorded"
OF_DESIGN = "a property of the design"


class Unit(StrEnum):
    """How a value is written in CSV and shown on the page."""

    TEXT = "text"
    CODE = "code"  # an identifier: shown in a fixed-width face
    COUNT = "count"
    FLAG = "flag"  # true or false
    SHARE = "share"  # in [0, 1]; four decimals in CSV, per cent on the page
    POINTS = "points"  # percentage points, signed
    NUMBER = "number"  # three decimals
    P = "p"  # a p value
    MICRODOLLARS = "microdollars"  # an integer; dollars on the page
    SECONDS = "seconds"


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `low` and `high` name the columns of its interval: the page shows the three in one cell."""

    name: str
    label: str
    unit: Unit = Unit.TEXT
    help: str = ""
    low: str = ""
    high: str = ""
    to: str = ""  # the column with the other end of a range: the page shows both in one cell
    own: bool = False  # its n, clusters, interval and note are columns of its own: NAME_n, NAME_clusters, NAME_interval, NAME_note
    exact: str = ""  # why a number has no interval: a setting, a full count, a bound
    shown: bool = True  # on the page; CSV has every column


ARM, LIBRARY = Column("arm", "Arm", Unit.CODE), Column("library", "Library", Unit.CODE)
PAIR = Column("first", "First", Unit.CODE), Column("second", "Second", Unit.CODE)
BIN = Column("bin", "Failure", Unit.CODE)


@dataclass(frozen=True, slots=True)
class TableSpec:
    """One table. `note` is the caveat that is printed with its caption."""

    name: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    note: str = ""

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)


def hidden(name: str, unit: Unit = Unit.TEXT) -> Column:
    """A column that is in the CSV but not of its own on the page."""
    return Column(name, name, unit, shown=False)


def evidence(source: str = "study", note: bool = True) -> tuple[Column, ...]:
    """The columns without which no rate may travel."""
    return (
        Column("n", "n", Unit.COUNT, "Observations behind the rate."),
        Column("clusters", "Clusters", Unit.COUNT, "Units taken as independent: competitions (or tasks)."),
        Column("interval_kind", "Interval", Unit.CODE, "How the interval was made; see the definitions."),
        *((Column("note", "Note", Unit.TEXT, "Why there is no interval, or what limits it."),) if note else ()),
        *origin(source),
    )


def origin(source: str = "study") -> tuple[Column, Column]:
    """Whose rows they are, and whether they are simulated: of every table of a study, also of those that hold counts alone."""
    return hidden(source), hidden("simulated", Unit.FLAG)


def estimate(name: str, label: str, unit: Unit = Unit.SHARE, help: str = "", ends: str | None = None) -> tuple[Column, Column, Column]:
    """A column with the ends of its interval; n, clusters and kind of interval are those of the row.

    The ends are NAME_low and NAME_high; `ends` names them otherwise (empty: low and high).
    """
    low, high = ((f"{name if ends is None else ends}_{end}").removeprefix("_") for end in ("low", "high"))
    return Column(name, label, unit, help, low=low, high=high), hidden(low, unit), hidden(high, unit)


def span(name: str, label: str, unit: Unit, help: str = "", exact: str = A_BOUND) -> tuple[Column, Column]:
    """Two ends, NAME_low and NAME_high, in one cell of the page."""
    low, high = f"{name}_low", f"{name}_high"
    return Column(low, label, unit, help, to=high, exact=exact), hidden(high, unit)


def p_value(name: str, label: str, help: str = "") -> Column:
    """A p value, which has no interval."""
    return Column(name, label, Unit.P, help, exact="a p value")


def held_out_fit(help: str = "") -> Column:
    """The mark of what was fitted to held-out failures."""
    return Column("contaminated", "Held-out fit", Unit.FLAG, help)


def rate(name: str, label: str, help: str = "", unit: Unit = Unit.SHARE, shown: bool = True) -> tuple[Column, ...]:
    """A column with its interval and with n, clusters, kind of interval and note of its own, for rows that hold several rates."""
    low, high = f"{name}_low", f"{name}_high"
    return (
        Column(name, label, unit, help, low=low, high=high, own=True, shown=shown),
        hidden(low, unit),
        hidden(high, unit),
        hidden(f"{name}_n", Unit.COUNT),
        hidden(f"{name}_clusters", Unit.COUNT),
        hidden(f"{name}_interval", Unit.CODE),
        hidden(f"{name}_note"),
    )
