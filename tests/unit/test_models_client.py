"""The client: the store first, the allowance before sending, one visible policy for failures, every cent on record."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rubrics_gym.models.client import Answer, StudyStopped
from rubrics_gym.models.live import Allowance, LiveClient
from rubrics_gym.models.policy import LONGEST_WAIT_S, POLICY
from rubrics_gym.models.prices import Price, PriceTable, Rates
from rubrics_gym.models.request import Message, ProviderError, Request, Response, Usage
from rubrics_gym.store.ledger import Accounts, State, accounts, read_requests
from rubrics_gym.store.requests import Ledger

UNIT = "mine/pool/rollouts/pool/packaged/fair-affairs-rating/0"
RATES = Rates.model_validate({"input": 1, "output": 5, "cache_read": 0.1, "cache_write": 1.25})
PRICES = PriceTable(version="test", models={"model": (Price(since=date(2026, 1, 1), rates=RATES),)})
REQUEST = Request(purpose="mine", model="model", system="Be brief.", messages=(Message(role="user", text="Hello"),), max_tokens=100)
ANSWER = Response(text="Hi", model="model", usage=Usage(input_tokens=10, output_tokens=4))
DOLLAR = 1_000_000
NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


class Scripted:
    """Answers, or fails, as told; the last word is repeated."""

    def __init__(self, *script: Response | Exception):
        self.script = list(script)
        self.asked: list[Request] = []

    def answer(self, request: Request) -> Response:
        self.asked.append(request)
        word = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(word, Exception):
            raise word
        return word


def ask(
    root: Path,
    provider: Scripted,
    *,
    allowance: int = DOLLAR,
    sleep: Callable[[float], None] = lambda _: None,
    request: Request = REQUEST,
    occurrence: int = 0,
) -> Answer:
    with Ledger(root, UNIT) as ledger:
        client = LiveClient(lambda: provider, ledger, PRICES, Allowance(allowance), sleep=sleep, clock=lambda: NOW)
        return client.ask(request, occurrence)


def total(root: Path) -> Accounts:
    return accounts(read_requests(root))


def test_an_answer_is_paid_once_and_then_served_from_the_store(tmp_path: Path) -> None:
    provider = Scripted(ANSWER)
    live = ask(tmp_path, provider)
    again = ask(tmp_path, provider)
    assert (live.served, live.cost_microdollars) == ("live", 10 * 1 + 4 * 5)
    assert (again.served, again.cost_microdollars, again.key, again.response) == ("store", 30, live.key, ANSWER)
    assert len(provider.asked) == 1
    assert total(tmp_path).charged_microdollars == 30


def test_equal_requests_on_purpose_get_two_answers(tmp_path: Path) -> None:
    provider = Scripted(ANSWER, ANSWER.model_copy(update={"text": "Hello"}))
    assert ask(tmp_path, provider).response.text == "Hi"
    assert ask(tmp_path, provider, occurrence=1).response.text == "Hello"
    assert ask(tmp_path, provider).response.text == "Hi"
    assert len(provider.asked) == 2


def test_what_could_pass_the_allowance_is_not_sent(tmp_path: Path) -> None:
    provider = Scripted(ANSWER)
    with pytest.raises(ProviderError, match="cost_usd") as caught:
        ask(tmp_path, provider, allowance=500)
    assert caught.value.kind == "budget" and not provider.asked
    assert total(tmp_path) == Accounts(records=1, returned=0, failed=0, unresolved=0, refused=1, open=0, charged_microdollars=0)


def test_the_allowance_counts_what_earlier_processes_spent(tmp_path: Path) -> None:
    provider = Scripted(ANSWER)
    ask(tmp_path / "probe", provider)
    reserved = next(read_requests(tmp_path / "probe")).max_cost_microdollars
    asked = 0
    with pytest.raises(ProviderError) as caught:
        for occurrence in range(10):
            ask(tmp_path, provider, allowance=reserved + 3 * 30, occurrence=occurrence)
            asked += 1
    assert caught.value.kind == "budget"
    assert asked == 4  # the fourth still fits beside three that cost 30 each


def test_a_model_without_a_price_is_not_sent(tmp_path: Path) -> None:
    provider = Scripted(ANSWER)
    with pytest.raises(ProviderError, match=r"no price for the model 'other' on 2026-11-29.*prices\.yaml") as caught:
        ask(tmp_path, provider, request=REQUEST.model_copy(update={"model": "other"}))
    assert caught.value.kind == "no_price" and not provider.asked  # not `budget`, which would count as the agent's own limit
    assert total(tmp_path).refused == 1


@pytest.mark.parametrize("kind", [kind for kind in POLICY if POLICY[kind].end != "refused"])
def test_each_kind_of_failure_is_retried_and_charged_as_the_table_says(tmp_path: Path, kind: str) -> None:
    waits: list[float] = []
    provider = Scripted(ProviderError(kind, "no"))
    with pytest.raises((ProviderError, StudyStopped)) as caught:
        ask(tmp_path, provider, sleep=waits.append)
    if POLICY[kind].stops_study:
        assert isinstance(caught.value, StudyStopped) and f"{kind}: no" in str(caught.value)
    else:
        assert isinstance(caught.value, ProviderError) and caught.value.kind == kind
    tries = POLICY[kind].tries
    assert len(provider.asked) == tries and len(waits) == tries - 1 and all(0 < wait <= LONGEST_WAIT_S for wait in waits)
    lines = list(read_requests(tmp_path))
    assert [line.replaces for line in lines] == ["", *(line.record for line in lines[:-1])]
    assert [line.waited_s for line in lines] == [0.0, *waits]
    unresolved = POLICY[kind].end == "unresolved"
    assert all(line.state is (State.UNRESOLVED if unresolved else State.FAILED) and line.kind == kind for line in lines)
    assert total(tmp_path).charged_microdollars == (sum(line.max_cost_microdollars for line in lines) if unresolved else 0)


def test_nothing_that_may_have_been_billed_is_repeated_by_itself() -> None:
    assert all(policy.tries == 1 for policy in POLICY.values() if policy.end != "failed")


def test_a_retry_can_succeed_after_the_wait_that_was_asked_for(tmp_path: Path) -> None:
    waits: list[float] = []
    provider = Scripted(ProviderError("rate_limit", "slow down", retry_after_s=17.0), ANSWER)
    answer = ask(tmp_path, provider, sleep=waits.append)
    assert answer.response == ANSWER and waits == [17.0]
    assert total(tmp_path) == Accounts(records=2, returned=1, failed=1, unresolved=0, refused=0, open=0, charged_microdollars=30)


def test_a_wait_beyond_the_bound_is_not_granted(tmp_path: Path) -> None:
    waits: list[float] = []
    with pytest.raises(ProviderError, match="slow down"):
        ask(tmp_path, Scripted(ProviderError("rate_limit", "slow down", retry_after_s=3600)), sleep=waits.append)
    assert waits == []


def test_an_error_of_our_own_is_unresolved_and_visible(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        ask(tmp_path, Scripted(ZeroDivisionError()))
    assert total(tmp_path).unresolved == 1 and total(tmp_path).charged_microdollars > 0


def test_an_unknown_kind_of_failure_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="no kind of failure"):
        ProviderError("oops", "x")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    script=st.lists(st.sampled_from(["answer", *(kind for kind in POLICY if POLICY[kind].end != "refused")]), max_size=12),
    allowance=st.integers(0, 20_000),
)
def test_the_accounts_balance(tmp_path_factory: pytest.TempPathFactory, script: list[str], allowance: int) -> None:
    root = tmp_path_factory.mktemp("store")
    words = [ANSWER if word == "answer" else ProviderError(word, "no") for word in script]
    provider, refused, paid = Scripted(*words, ANSWER), 0, 0
    for occurrence in range(len(script)):
        try:
            answer = ask(root, provider, allowance=allowance, occurrence=occurrence % 5)
            paid += answer.cost_microdollars if answer.served == "live" else 0
        except ProviderError as error:
            refused += error.kind == "budget"
    result = total(root)
    assert result.records == result.returned + result.failed + result.unresolved + result.refused
    assert result.open == 0 and result.refused == refused
    assert result.returned + result.failed + result.unresolved == len(provider.asked)
    unresolved = sum(line.cost_microdollars for line in read_requests(root) if line.state is State.UNRESOLVED)
    assert result.charged_microdollars == paid + unresolved <= allowance


def test_a_simulated_model_that_errs_in_another_way_is_asked_anew(tmp_path: Path) -> None:
    provider = Scripted(ANSWER)
    for miss in (0.1, 0.3, 0.1):
        with Ledger(tmp_path, UNIT) as ledger:
            LiveClient(lambda: provider, ledger, PRICES, Allowance(DOLLAR), simulation={"miss": miss}, clock=lambda: NOW).ask(REQUEST)
    assert len(provider.asked) == 2
    assert all(request == REQUEST for request in provider.asked)  # and it is shown nothing of that


def test_an_answer_whose_tokens_have_no_price_is_stored_and_charged_at_its_maximum(tmp_path: Path) -> None:
    provider = Scripted(ANSWER.model_copy(update={"usage": Usage(input_tokens=10, output_tokens=4, cache_write_1h_tokens=7)}))
    live = ask(tmp_path, provider)
    again = ask(tmp_path, provider)
    assert live.response == again.response == provider.script[0]
    assert (again.served, len(provider.asked)) == ("store", 1)
    (line,) = read_requests(tmp_path)
    assert line.cost_microdollars == line.max_cost_microdollars > 0
