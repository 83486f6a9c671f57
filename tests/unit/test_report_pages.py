"""The page of an attempt: what ran, what was predicted and what really happened, and nothing that a model wrote is markup."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.attempt_records import FINAL, GRADE, UNIT, attempt, verdict

from rubrics_gym.failures.types import load_rules
from rubrics_gym.judge.replay import ReplayedVerdict
from rubrics_gym.records.shadows import ShadowRun, ShadowState
from rubrics_gym.records.trajectory import StartEvent
from rubrics_gym.report.pages import Attempt, build_index, build_page

RULES = load_rules(Path(__file__).parents[2] / "resources" / "failure_types.yaml")


def shadow(step: int, index: int, state: ShadowState, **outcome: object) -> ShadowRun:
    known = dict(unit=UNIT, benchmark="packaged", task="some-task", arm="matched", step=step, index=index, command="python final.py")
    known |= dict(verdict=verdict(True), probability=0.5, draw=0.1, state=state, unexecuted_before=0, cap_s=10.0)
    return ShadowRun.model_validate(known | outcome)


@pytest.fixture(scope="module")
def page() -> str:
    runs = [
        shadow(
            2,
            0,
            ShadowState.RAN,
            exit_code=1,
            timed_out=False,
            out_of_memory=False,
            failed=True,
            failure_type="missing_package",
            output_tail="boom",
        ),
        shadow(3, 1, ShadowState.NOT_SAMPLED),
    ]
    row = ReplayedVerdict(
        unit=UNIT, benchmark="packaged", task="some-task", step=4, index=0, verdict=verdict(False), failed=True, failure_type="own_logic",
        timed_out=False, out_of_memory=False, masked_pipe=False, duration_s=1.0, previous_failed=None,
    )  # fmt: skip
    return build_page(Attempt(attempt(), GRADE, FINAL, runs, {"random": [row]}), simulated=True)


def test_verdicts_stand_beside_what_really_happened(page: str) -> None:
    assert "Run after the episode (drawn with probability 0.5): exit code 1, missing_package." in page
    assert "It ran in the episode (escalated): exit code 0." in page
    assert "Not known: not sampled for a run after the episode" in page
    assert "Judge, asked afterwards" in page and "own_logic" in page


def test_commands_have_route_and_outcome_and_files_are_diffs(page: str) -> None:
    assert page.count('<span class="badge ">predicted</span>') == 2
    assert '<span class="badge bad">exit code 1</span>' in page
    assert "stopped at its cap, so its end is not known" in page  # the check is censored, not passed
    assert '<span class="del">-import xgboost</span>' in page and '<span class="add">+import numpy</span>' in page


def test_what_a_model_wrote_is_text(page: str) -> None:
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert re.search(r"default-src 'none'; style-src 'sha256-", page.replace("&#39;", "'"))


def test_links_lead_to_the_list_and_the_dashboard(page: str) -> None:
    up = "../" * UNIT.count("/")
    assert f'href="{up}index.html"' in page and f'href="{up}../dashboard.html"' in page
    index = build_index([Attempt(attempt(), GRADE, FINAL)], RULES, simulated=True)
    assert f'href="{UNIT}.html"' in index
    assert re.search(
        r'<td class="num">4</td><td class="num">4</td><td class="num">2</td><td class="num">1</td><td class="num">3</td>', index
    )


def test_a_record_without_a_start_is_refused() -> None:
    events = [event for event in attempt() if not isinstance(event, StartEvent)]
    with pytest.raises(ValueError, match="start event"):
        build_page(Attempt(events), simulated=False)
