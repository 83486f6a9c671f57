"""The generated documentation and schema are those of the models of the day."""

import pytest

from rubrics_gym.settings import documentation


@pytest.mark.parametrize("path", list(documentation.generated()), ids=lambda path: path.name)
def test_generated_files_do_not_drift(path) -> None:  # type: ignore[no-untyped-def]
    assert path.read_text() == documentation.generated()[path], f"{path} is not what the models say: run `make docs`"


def test_every_key_is_explained() -> None:
    rows = [line for line in documentation.readme().splitlines() if line.startswith("| `") and "recipe:" not in line]
    assert len(rows) > 60
    assert not [row for row in rows if row.rstrip().endswith("|  |")]
