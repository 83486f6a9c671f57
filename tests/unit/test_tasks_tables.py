"""Tables: read as recorded, prepared without a random-number generator, written as files in the field look."""

import pandas as pd
import pytest

from rubrics_gym.tasks.catalog import load_tables
from rubrics_gym.tasks.conditions import in_words, select
from rubrics_gym.tasks.tables import TableUnavailable, as_written, csv_bytes, describe, hash_order, locate, prepare_table, read_table

TABLES = load_tables("packaged")


def test_hash_order_is_a_fixed_permutation():
    order = hash_order(50, "label")
    assert sorted(order) == list(range(50))
    assert order == hash_order(50, "label") != hash_order(50, "other label")
    assert hash_order(6, "label") == [3, 5, 1, 2, 0, 4]  # pinned: the published splits depend on it


def test_other_bytes_than_recorded_are_refused():
    with pytest.raises(TableUnavailable, match=r"penguins\.csv: sha256 is"):
        read_table(TABLES["penguins"].model_copy(update={"sha256": "0" * 64}))


def test_what_is_missing_is_named():
    with pytest.raises(TableUnavailable, match="package no_such_package is not installed"):
        locate(TABLES["penguins"].model_copy(update={"package": "no_such_package"}))
    with pytest.raises(TableUnavailable, match=r"carries no data/none\.csv"):
        locate(TABLES["penguins"].model_copy(update={"path": "data/none.csv"}))
    with pytest.raises(TableUnavailable, match="no column 'wings'"):
        prepare_table("penguins", TABLES["penguins"].model_copy(update={"fields": {"wings": "none"}}))


def test_cells_are_blanked_in_the_stated_share_and_always_the_same():
    spec = TABLES["carseats"]
    frame = prepare_table("carseats", spec)
    assert frame["Income"].isna().sum() == round(0.06 * len(frame))
    assert frame["Sales"].notna().all()
    pd.testing.assert_frame_equal(frame, prepare_table("carseats", spec))


def test_large_tables_are_drawn_down():
    assert max(len(prepare_table(name, TABLES[name])) for name in ("bikeshare", "default", "scorecard")) == 4000


def test_numbers_are_written_as_text_where_the_table_says_so():
    spec = TABLES["college"]
    frame = pd.DataFrame({"Outstate": [7440, 12280], "alumni": [12.0, None], "PhD": [70, 29]})
    written = as_written(frame, spec)
    assert csv_bytes(written) == b'Outstate,alumni,PhD\n"7,440",12%,70\n"12,280",,29\n'


def test_the_source_says_what_was_done():
    words = describe(TABLES["default"])
    assert "ISLP" in words and "4,000 rows drawn" in words and "4% of the cells of balance made missing" in words


def test_a_missing_value_meets_no_condition():
    frame = pd.DataFrame({"a": [1.0, None, 3.0], "b": ["x", "y", None]})
    assert list(select(frame, (("a", "!=", 1),)).index) == [2]
    assert list(select(frame, (("b", "!=", "x"),)).index) == [1]
    assert list(select(frame, (("a", ">=", 1), ("b", "==", "x"))).index) == [0]
    assert in_words((("a", ">=", 1), ("b", "==", "x"))) == '`a` is at least 1 and `b` is "x"'
