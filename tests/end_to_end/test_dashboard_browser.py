"""The dashboard in a real browser: it opens, sorts, filters and unfolds at both widths, and never asks for anything outside itself.

`RUBRICS_DASHBOARD=results/dashboard.html` tests a page that was built; otherwise a small made-up study is opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.example_report import dashboard

CHROMIUM = Path("/usr/bin/chromium")
PAGE = 100  # rubrics that a library shows at first
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is missing: apt-get install chromium")
    with playwright.sync_playwright() as api:
        running = api.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    built = os.environ.get("RUBRICS_DASHBOARD")
    if built:
        return Path(built).resolve(strict=True).as_uri()
    path = tmp_path_factory.mktemp("dashboard") / "dashboard.html"
    path.write_text(dashboard(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(params=[(360, "light"), (360, "dark"), (1600, "light"), (1600, "dark")], ids=lambda case: f"{case[0]}px-{case[1]}")
def page(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The open page; whatever it complains about, and whatever it asks for beside itself, fails the test."""
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(f"console: {message.text}") if message.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    opened.on("request", lambda asked: complaints.append(f"request: {asked.url}") if asked.url != address else None)
    opened.goto(address)
    yield opened
    context.close()
    assert complaints == []


def overflow(page: Any) -> int:
    """Pixels that the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def test_nothing_hangs_over_the_edge_even_with_everything_open(page: Any) -> None:
    assert overflow(page) <= 0
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert overflow(page) <= 0


def test_every_section_can_be_reached(page: Any) -> None:
    links = page.locator("nav a")
    assert links.count() >= 8
    for place in range(links.count()):
        links.nth(place).click()
        target = page.locator(links.nth(place).get_attribute("href"))
        assert target.count() == 1 and target.locator("h2").count() == 1


def test_a_column_sorts_both_ways_with_numbers_as_numbers(page: Any) -> None:
    table = page.locator("#table-arms table")
    button = table.get_by_role("button", name="Finished", exact=True)
    column = button.evaluate("(one) => [...one.closest('tr').children].indexOf(one.parentElement)")

    def values() -> list[float]:
        return table.evaluate("(one, column) => [...one.tBodies[0].rows].map((row) => Number(row.children[column].dataset.sort))", column)

    names = table.locator("tbody th").all_inner_texts()
    button.click()
    assert values() == sorted(values()) and button.locator("xpath=..").get_attribute("aria-sort") == "ascending"
    button.press("Enter")
    assert values() == sorted(values(), reverse=True) and button.locator("xpath=..").get_attribute("aria-sort") == "descending"
    assert sorted(table.locator("tbody th").all_inner_texts()) == sorted(names)


def test_the_library_cards_open_to_their_rubrics(page: Any) -> None:
    card = page.locator(".library").filter(has=page.locator(".rubric")).first
    card.locator("summary").first.click()
    rubric = card.locator(".rubric").first
    assert rubric.is_visible() and not rubric.locator("dl").is_visible()
    rubric.locator("summary").click()
    for word in ("Applies when", "Detect", "Not a violation", "Support"):
        assert rubric.get_by_text(word, exact=True).is_visible()


def test_the_filter_leaves_exactly_the_rubrics_that_hold_its_words(page: Any) -> None:
    rubrics = page.locator(".rubric")
    texts = [text.lower() for text in rubrics.evaluate_all("(all) => all.map((one) => one.textContent)")]
    word = max(texts[0].split(), key=len)
    page.locator("#rubric-filter").fill(word)
    page.locator("#rubric-count").filter(has_text="match").wait_for()
    matching = [word in text for text in texts]
    shown = rubrics.evaluate_all("(all) => all.map((one) => !one.hidden)")
    assert page.locator("#rubric-count").inner_text() == f"{sum(matching)} of {len(texts)} rubrics match."
    assert all(match for match, seen in zip(matching, shown, strict=True) if seen) and sum(shown) >= min(PAGE, sum(matching))
    page.locator("#rubric-filter").fill("")
    page.locator("#rubric-count").filter(has_text="Click a library").wait_for()
    assert page.locator(".rubric:not([hidden])").count() >= min(PAGE, len(texts))


def test_a_long_library_opens_page_by_page(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "long.html").write_text(dashboard(size=2 * PAGE + 30), encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "long.html").as_uri())
    card = page.locator(".library").first
    card.locator("summary").first.click()
    total = card.locator(".rubric").count()
    seen = []
    while card.locator(".more").is_visible():
        seen.append(card.locator(".rubric:not([hidden])").count())
        card.locator(".more").click()
    assert seen == [PAGE, 2 * PAGE] and card.locator(".rubric:not([hidden])").count() == total
    page.close()


def test_a_long_table_is_filtered(page: Any) -> None:
    table = page.locator("#table-pool")
    rows = table.locator("tbody tr")
    first = rows.first.locator("th, td").nth(1).inner_text()
    table.get_by_role("searchbox").fill(first)
    table.locator("tbody tr[hidden]").first.wait_for(state="attached")
    assert all(first in text for text in table.locator("tbody tr:not([hidden])").all_inner_texts())


def test_tables_and_figures_say_simulated_and_have_captions(page: Any) -> None:
    if page.locator(".banner").count():
        own = page.locator("section:not(#published) figure")  # what others published is no simulation of ours
        assert own.count() == own.locator("svg", has_text="simulated").count() > 0
    assert page.locator("table").count() == page.locator("table > caption").count() > 0
    assert page.locator("th:not([scope])").count() == 0
    assert page.locator("h1").count() == 1


def test_words_of_tasks_and_models_stay_words(page: Any) -> None:
    assert "taken over" not in page.title()
    assert page.locator("img, iframe, object, embed, main script").count() == 0


def test_text_stands_out_from_its_ground(page: Any) -> None:
    """Contrast of ordinary and muted text with the page, at least 4.5 to 1 (WCAG 2.2, 1.4.3)."""
    ratio = """(selector) => {
        const light = (text) => {
            const parts = text.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
            const linear = parts.map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
        };
        const style = getComputedStyle(document.querySelector(selector));
        const two = [light(style.color), light(getComputedStyle(document.body).backgroundColor)].sort((a, b) => b - a);
        return (two[0] + 0.05) / (two[1] + 0.05);
    }"""
    for selector in ("h1", ".caption", ".source", "thead button", "nav a"):
        assert page.evaluate(ratio, selector) >= 4.5, selector
