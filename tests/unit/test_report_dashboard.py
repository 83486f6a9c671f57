"""The page and its figures: escaped, self-contained, labelled, the same bytes for the same inputs."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from tests.example_report import ATTACK, SETTINGS, cells, dashboard, libraries, tables

from rubrics_gym.report.dashboard import build_dashboard, mix_view, show
from rubrics_gym.report.evaluation_figures import exposure_figure, funnel_figure, pr_curve_figure, reliability_figure
from rubrics_gym.report.figures import contrasts_figure, failure_mix_figure, precision_recall_figure, validity_figure
from rubrics_gym.report.headlines import contrast_headline, headlines
from rubrics_gym.report.specs import SPECS, Unit
from rubrics_gym.report.svg import embeddable
from rubrics_gym.settings.comparisons import questions

DRAWN = {
    "failure_mix": failure_mix_figure,
    "arms": validity_figure,
    "contrasts": contrasts_figure,
    "precision_recall": precision_recall_figure,
    "pr_curve": pr_curve_figure,
    "calibration": reliability_figure,
    "funnel": funnel_figure,
    "exposure": exposure_figure,
}


class Page(HTMLParser):
    """The elements, attributes and ids of a page."""

    def __init__(self, html: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def html() -> str:
    return dashboard()


# ---------------------------------------------------------------- the page


def test_hostile_words_are_shown_and_never_become_elements(html: str) -> None:
    page = Page(html)
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert not any(tag in ("img", "iframe", "object", "link", "base", "form") for tag, _ in page.elements)
    assert html.count("&lt;script&gt;document.title=") >= 3  # a rubric, a task title, the configuration
    assert ATTACK not in html


def test_nothing_runs_or_loads_but_what_the_policy_names(html: str) -> None:
    page = Page(html)
    policy = next(found["content"] for tag, found in page.elements if found.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None and policy.startswith("default-src 'none'") and "unsafe" not in policy and "http" not in policy
    for tag in ("script", "style"):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        assert f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy
    for tag, found in page.elements:
        assert not any(name.startswith("on") or name in ("style", "src") for name in found), (tag, found)
        if tag == "a" or tag == "use":
            assert (found.get("href") or "").startswith("#")


def test_every_table_and_figure_says_that_it_is_simulated(html: str) -> None:
    for part in re.findall(r'<div class="table" id="table-(?!pool|published_results).*?<div class="scroll"', html, re.DOTALL):
        assert '<span class="mark">simulated</span>' in part
    figures = re.findall(r"<figure>.*?</figure>", html, re.DOTALL)
    simulated = [figure for figure in figures if "Figure: published" not in figure]  # what was published is not
    assert len(figures) == 9 and len(simulated) == 8 and all(">simulated<" in figure for figure in simulated)


def test_a_live_study_is_not_called_simulated() -> None:
    provenance = {"title": "Live", "study": "live", "simulated": False}
    rows = [row | {"simulated": False} for row in tables()["arms"]]
    page = build_dashboard(provenance, {"arms": cells("arms", rows)}, {"validity": validity_figure(rows)}, [])
    assert 'class="mark"' not in page and 'class="banner"' not in page and ">simulated<" not in page


def test_ids_are_unique_and_links_lead_somewhere(html: str) -> None:
    page = Page(html)
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))
    for tag, found in page.elements:
        if tag in ("a", "use"):
            assert (found["href"] or "").removeprefix("#") in ids


def test_tables_can_be_read_aloud(html: str) -> None:
    page = Page(html)
    tags = [tag for tag, _ in page.elements]
    assert tags.count("caption") == tags.count("table") > 8
    assert all("scope" in found for tag, found in page.elements if tag == "th")
    assert tags.count("h1") == 1


def test_the_same_inputs_are_the_same_bytes(html: str) -> None:
    assert dashboard() == html


def test_an_empty_study_still_has_a_page() -> None:
    provenance = {"title": "Nothing yet", "study": "empty", "simulated": True}
    page = build_dashboard(provenance, {name: [] for name in SPECS}, {}, [])
    assert page.count("No rows.") == len(SPECS) and "Nothing was compared yet." in page


def test_missing_provenance_is_named() -> None:
    with pytest.raises(ValueError, match="simulated"):
        build_dashboard({"title": "t", "study": "s"}, {}, {}, [])


def test_an_unknown_table_is_shown_as_it_is() -> None:
    provenance = {"title": "t", "study": "s", "simulated": True}
    page = build_dashboard(provenance, {"per_rubric": [{"rubric": "a<b", "hits": "3"}]}, {}, [])
    assert "Per rubric" in page and "a&lt;b" in page


def test_every_rubric_is_on_the_page(html: str) -> None:
    for _, rubrics in libraries().values():
        for rubric in rubrics:
            assert rubric.id in html
    assert html.count('<details class="rubric">') == sum(len(rubrics) for _, rubrics in libraries().values())


# ---------------------------------------------------------------- cells and headlines


@pytest.mark.parametrize(
    ("raw", "unit", "text"),
    [
        ("", Unit.SHARE, ""), ("0.625", Unit.SHARE, "62.5%"), ("0.0000", Unit.SHARE, "0.0%"), ("-3.10", Unit.POINTS, "−3.1"),
        ("0.00010", Unit.P, "<0.001"), ("1234567", Unit.MICRODOLLARS, "$1.2346"), ("12345", Unit.COUNT, "12,345"), ("false", Unit.FLAG, "no"),
    ],
)  # fmt: skip
def test_cells_as_people_read_them(raw: str, unit: Unit, text: str) -> None:
    assert show(raw, unit) == text


def test_the_mix_has_a_column_per_series_with_its_n() -> None:
    view = mix_view(cells("failure_mix", tables()["failure_mix"]))
    assert [column.label.split(" ")[0] for column in view.columns] == ["Failure", "pool", "heldout", "mined", "matched"]
    assert "192 failures" in view.columns[1].label and view.rows[0][1].text == "56.2% (108)"
    assert view.rows[0][3].interval == ""  # rubrics are counted, not sampled


def contrast(**changes: str) -> dict[str, str]:
    row = cells("contrasts", tables()["contrasts"])[0]
    return row | {"estimate": "20.00", "low": "5.00", "high": "35.00", "p": "0.01000", "p_holm": "0.03000", "missing": "0"} | changes


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "+20.0 pp valid: higher."),
        ({"estimate": "-20.00", "low": "-35.00", "high": "-5.00"}, "−20.0 pp valid: lower."),
        ({"low": "-5.00"}, "+20.0 pp valid: not told apart from no difference."),
        ({"p_holm": "0.06000"}, "+20.0 pp valid: leans higher, not beyond chance in the corrected test."),
        ({"low": "", "high": "", "note": "one cluster"}, "+20.0 pp valid; no interval."),
        ({"estimate": ""}, "No answer: nothing to compare."),
    ],
)
def test_a_headline_says_no_more_than_its_interval_and_test(changes: dict[str, str], words: str) -> None:
    assert contrast_headline("Question?", contrast(**changes)).answer == words


def test_missing_outcomes_are_in_the_headline() -> None:
    line = contrast_headline("Question?", contrast(missing="6", bound_low="6.80", bound_high="13.60"))
    assert "6 outcomes are missing: bounds +6.8 to +13.6 pp." in line.caveat


def test_headlines_follow_the_questions_of_the_study() -> None:
    rows = {name: cells(name, rows) for name, rows in tables().items()}
    found = headlines(rows, questions(SETTINGS))
    assert [line.question for line in found[:2]] == ["Does running the code matter here?", "Does a library of rubrics add to the judge?"]
    assert "matched minus task_only" in found[1].evidence and found[-1].question == "What did it cost?"
    assert all(re.search(r"\d", line.evidence) for line in found)


# ---------------------------------------------------------------- figures


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_figures_are_the_same_bytes_from_rows_and_from_their_csv_and_hold_no_date(name: str) -> None:
    rows = tables()[name]
    svg = DRAWN[name](rows)
    assert svg == DRAWN[name](rows)
    assert svg.count("<text") == DRAWN[name](cells(name, rows)).count("<text")
    assert "dc:date" not in svg and "Matplotlib" not in svg and ">simulated<" in svg


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_an_empty_figure_says_so(name: str) -> None:
    assert "nothing to draw" in DRAWN[name]([])


def test_the_arms_figure_names_every_arm_with_its_count() -> None:
    svg = validity_figure(tables()["arms"])
    for row in tables()["arms"]:
        assert f"{row['arm']}  ({row['valid']}/{row['finished']})" in svg


def test_the_exposure_figure_draws_one_run_of_a_judge_with_its_counts() -> None:
    rows = tables()["exposure"]
    svg = exposure_figure(rows)
    for row in rows:
        label = f"{row['judge']}: {row['bin']}  ({row['failures']} failures, {row['in_retrieved']} retrieved)"
        assert (label in svg) == (row["run"] == "replay"), label
    assert exposure_figure(rows, most=1).count(" retrieved)") == 1 and "not drawn" in exposure_figure(rows, most=1)


def test_words_in_figures_are_neither_markup_nor_mathematics() -> None:
    rows = [row | {"arm": "<b>$x_1$</b>"} for row in tables()["arms"]]
    texts = [element.text for element in ElementTree.fromstring(validity_figure(rows)).iter("{http://www.w3.org/2000/svg}text")]
    assert any((text or "").startswith("<b>$x_1$</b>") for text in texts)


HOSTILE = f"""<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" onload="alert(1)" width="9" viewBox="0 0 9 9">
<script>alert(1)</script><style>@import url(http://evil)</style><foreignObject><p xmlns="http://www.w3.org/1999/xhtml">x</p></foreignObject>
<image href="http://evil/x.png"/><a xlink:href="javascript:alert(1)"><text>link</text></a>
<defs><clipPath id="c"><rect width="1" height="1"/></clipPath></defs>
<g clip-path="url(#c)" style="fill: #123456; background: url(http://evil)"><use xlink:href="#c"/><use xlink:href="http://evil#c"/></g>
<text style="font-size: 9px; fill: url(http://evil)">{ATTACK.replace("&", "&amp;").replace("<", "&lt;")}</text></svg>"""


def test_an_svg_is_rebuilt_from_what_is_known_to_be_harmless() -> None:
    clean = embeddable(HOSTILE, "mine", "A figure")
    page = Page(clean)
    assert {tag for tag, _ in page.elements} == {"svg", "defs", "clippath", "rect", "g", "use", "text"}
    assert "evil" not in clean and "javascript" not in clean and "onload" not in clean and "style" not in clean
    assert 'clip-path="url(#mine-c)"' in clean and 'id="mine-c"' in clean and 'href="#mine-c"' in clean and 'fill="#123456"' in clean
    assert "&lt;script&gt;" in clean


def test_what_is_no_svg_is_refused() -> None:
    for text in ("not xml", "<html/>"):
        with pytest.raises(ValueError, match="figure mine"):
            embeddable(text, "mine", "A figure")
