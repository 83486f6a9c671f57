"""The page of a library in a real browser: search, filters, and the way from a rubric to its failed command and back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rubrics_gym.report.library_page import library_page
from tests.end_to_end.test_dashboard_browser import browser as browser  # the fixture
from tests.unit.test_libraries_exchange import ATTACK, MANIFEST, RUBRICS, event


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """The open page; whatever it complains about fails the test."""
    path = tmp_path / "index.html"
    path.write_text(library_page(MANIFEST, RUBRICS, [event(1, output_tail=ATTACK), event(2), event(9)]), encoding="utf-8")
    opened = browser.new_page()
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda asked: complaints.append(asked.url) if asked.url != path.as_uri() else None)
    opened.goto(path.as_uri())
    yield opened
    opened.close()
    assert complaints == []


def test_search_and_filters_count_what_they_show(page: Any) -> None:
    assert page.inner_text("#shown") == "3 rubrics and 3 failed commands shown"
    page.fill("#words", "title 1")
    assert page.inner_text("#shown").startswith("1 rubrics and 1 failed")  # the command links back to the rubric by its title
    page.fill("#words", "")
    page.select_option("#bin", "unclassified")
    assert page.inner_text("#shown") == "1 rubrics and 0 failed commands shown"


def test_evidence_links_lead_there_and_back(page: Any) -> None:
    rubric = page.locator(f"#r-{RUBRICS[0].id}")
    rubric.locator("summary").click()
    rubric.locator("a").click()
    page.wait_for_function("document.querySelector('#f-e1').open")
    page.locator("#f-e1 a").click()
    page.wait_for_function(f"location.hash === '#r-{RUBRICS[0].id}'")
    assert page.title() == "Rubric library mined"
