"""Where answers come from: live, reuse, replay; and what a whole study may spend."""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.unit.test_models_client import ANSWER, DOLLAR, NOW, PRICES, REQUEST, UNIT, Scripted

from rubrics_gym.models.client import Client, NotRecorded, StudyStopped
from rubrics_gym.models.live import Allowance, LiveClient
from rubrics_gym.models.request import Message, ProviderError, Request, Response
from rubrics_gym.providers.opening import open_client, units_to_reuse
from rubrics_gym.settings.asking import Asking
from rubrics_gym.settings.study import Budget, Mode, ModelSettings, ProviderName, Requests
from rubrics_gym.store.ledger import accounts, last_lines, read_requests
from rubrics_gym.store.requests import Ledger, Records


def client(root: Path, provider: Scripted, *, study: str = "one", unit: str = UNIT, anew: bool = False, **allowance: object) -> LiveClient:
    ledger = Ledger(root, unit, "work", study, anew=anew)
    return LiveClient(lambda: provider, ledger, PRICES, Allowance(DOLLAR, **allowance), sleep=lambda _: None, clock=lambda: NOW)  # type: ignore[arg-type]


def ask(live: LiveClient, request: Request = REQUEST, occurrence: int = 0) -> tuple[str, str]:
    try:
        answer = live.ask(request, occurrence)
        return answer.served, answer.response.text
    finally:
        live._ledger.close()


# ---------------------------------------------------------------- replay


def replay(root: Path, unit: str = UNIT) -> Client:
    return Client(Records(root, unit))


def test_replay_answers_from_the_records_and_changes_nothing(tmp_path: Path) -> None:
    ask(client(tmp_path, Scripted(ANSWER)))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    answer = replay(tmp_path).ask(REQUEST)
    assert (answer.served, answer.response, answer.cost_microdollars) == ("store", ANSWER, 30)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_miss_shows_how_the_nearest_recorded_request_differs(tmp_path: Path) -> None:
    live = client(tmp_path, Scripted(ANSWER))
    other = REQUEST.model_copy(update={"system": "Be brief.\nBe kind.\nBe right."})
    live.ask(REQUEST)
    live.ask(other)
    live._ledger.close()
    changed = other.model_copy(update={"system": "Be brief.\nBe cruel.\nBe right."})
    with pytest.raises(NotRecorded, match=r"mode replay sends nothing.*is not on record.*nearest one is record [0-9a-f]{16}-1") as caught:
        replay(tmp_path).ask(changed)
    assert [line for line in caught.value.diff.splitlines() if line[0] in "+-"][2:] == ["-  | Be kind.", "+  | Be cruel."]
    assert caught.value.__notes__ == [caught.value.diff]


def test_a_miss_by_number_and_an_empty_record_say_so(tmp_path: Path) -> None:
    ask(client(tmp_path, Scripted(ANSWER)))
    with pytest.raises(NotRecorded, match="asked fewer times than now"):
        replay(tmp_path).ask(REQUEST, 3)
    with pytest.raises(NotRecorded, match=r"No answer of this unit is on record.*RUBRICS_STORE"):
        replay(tmp_path, "mine/other").ask(REQUEST)


@pytest.mark.parametrize("kind", ["refused", "context_length", "timeout_read"])
def test_what_failed_for_good_fails_the_same_way_in_a_replay(tmp_path: Path, kind: str) -> None:
    with pytest.raises(ProviderError):
        ask(client(tmp_path, Scripted(ProviderError(kind, "as the provider put it"))))
    with pytest.raises(ProviderError, match=r"as the provider put it \(replayed: record") as caught:
        replay(tmp_path).ask(REQUEST)
    assert caught.value.kind == kind


def test_what_a_killed_process_left_open_is_no_answer_in_a_replay(tmp_path: Path) -> None:
    live = client(tmp_path, Scripted(ANSWER))
    live._ledger.send(REQUEST.body(), live._ledger.key(REQUEST.body(), 0), 0, 100)
    live._ledger._lease.release()
    with pytest.raises(NotRecorded):
        replay(tmp_path).ask(REQUEST)
    Ledger(tmp_path, UNIT).close()
    with pytest.raises(NotRecorded):
        replay(tmp_path).ask(REQUEST)


def test_replay_opens_no_provider_key_or_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBRICS_STORE", str(tmp_path))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    def closed(*_: object, **__: object) -> None:
        raise AssertionError("a replay opened a socket")

    monkeypatch.setattr(socket, "socket", closed)
    ask(client(tmp_path, Scripted(ANSWER)))
    asking = Asking(study="one", requests=Requests(mode=Mode.REPLAY)).model_dump_json()
    live = ModelSettings(provider=ProviderName.ANTHROPIC, model="model")
    with open_client(live, "miner", None, UNIT, "work", "no/such/prices.yaml", asking) as replayed:
        assert type(replayed) is Client  # not the class that has a provider
        assert replayed.ask(REQUEST).response == ANSWER
        with pytest.raises(NotRecorded):
            replayed.ask(REQUEST, 1)


# ---------------------------------------------------------------- reuse and live


def test_what_is_served_needs_no_key_and_what_is_not_names_it_before_anything_is_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUBRICS_STORE", str(tmp_path))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    ask(client(tmp_path, Scripted(ANSWER)))
    prices = str(Path(__file__).parents[2] / "resources" / "prices.yaml")
    model = ModelSettings(provider=ProviderName.ANTHROPIC, model="model")
    with open_client(model, "miner", None, UNIT, "work", prices, Asking(study="two").model_dump_json()) as reusing:
        assert reusing.ask(REQUEST).served == "store"
        with pytest.raises(RuntimeError, match="ANTHROPIC_API_KEY"):
            reusing.ask(REQUEST, 1)
    assert len(list(read_requests(tmp_path))) == 1


def test_another_unit_is_named_to_be_reused_and_stays_the_one_that_paid(tmp_path: Path) -> None:
    ask(client(tmp_path, Scripted(ANSWER), unit="mine/first"))
    never = Scripted(ProviderError("server", "not asked"))
    ledger = Ledger(tmp_path, "mine/second", "work", "two")
    live = LiveClient(lambda: never, ledger, PRICES, Allowance(0), others=[Records(tmp_path, "mine/first")])
    answer = live.ask(REQUEST)
    ledger.close()
    assert (answer.served, answer.response, answer.cost_microdollars) == ("store", ANSWER, 30) and not never.asked
    assert accounts(read_requests(tmp_path)).charged_microdollars == 30  # once
    assert replay(tmp_path, "mine/second").ask(REQUEST).response == ANSWER  # from now on without being named


def test_which_units_are_reused() -> None:
    requests = Requests(reuse_from={"judge/replay/matched": "judge/replay/old", "mine/second": "mine/first"})
    assert units_to_reuse("judge/replay/matched/episodes/x", requests) == ["judge/replay/old/episodes/x"]
    assert units_to_reuse("mine/second", requests) == ["mine/first"]
    assert units_to_reuse("mine/secondary", requests) == []
    assert units_to_reuse("mine/second", requests.model_copy(update={"mode": Mode.LIVE})) == []


def test_live_asks_anew_once_per_study(tmp_path: Path) -> None:
    words = [ANSWER.model_copy(update={"text": text}) for text in ("first", "second", "third")]
    provider = Scripted(*words)
    assert ask(client(tmp_path, provider, study="one", anew=True)) == ("live", "first")
    assert ask(client(tmp_path, provider, study="one", anew=True)) == ("store", "first")  # an interrupted study goes on
    assert ask(client(tmp_path, provider, study="two", anew=True)) == ("live", "second")
    assert ask(client(tmp_path, provider, study="one", anew=True)) == ("store", "first")
    assert ask(client(tmp_path, provider, study="two", anew=True)) == ("store", "second")
    assert ask(client(tmp_path, provider, study="three")) == ("store", "second")  # reuse: the newest
    other = REQUEST.model_copy(update={"system": "Be long."})
    assert ask(client(tmp_path, Scripted(ANSWER), study="one", anew=True), other) == ("live", "Hi")
    assert ask(client(tmp_path, provider, study="three"), other) == ("store", "Hi")  # also of an earlier generation: it was paid for
    assert replay(tmp_path).ask(other).served == "store"
    with Ledger(tmp_path, UNIT) as ledger:
        ledger.supersede()  # by hand: for everybody
    assert ask(client(tmp_path, provider, study="two", anew=True)) == ("live", "third")
    assert accounts(read_requests(tmp_path)).charged_microdollars == 120
    assert ask(client(tmp_path, Scripted(ANSWER), study="three"), other)[0] == "live"


# ---------------------------------------------------------------- budgets of a study


def test_a_study_stops_at_its_cap_over_all_its_units(tmp_path: Path) -> None:
    live = client(tmp_path, Scripted(ANSWER))
    live.ask(REQUEST)
    most = live._ledger.lines()[0].max_cost_microdollars
    live._ledger.close()
    cap = 3 * 30 + most  # the fourth request may still cost its maximum, the fifth may not
    sent = 1
    with pytest.raises(StudyStopped, match=r"\(budget\.study_usd\).*everything so far is stored") as caught:
        for number in range(10):
            ask(client(tmp_path, Scripted(ANSWER), unit=f"mine/unit{number}", study_microdollars=cap))
            sent += 1
    assert sent == 4 and not isinstance(caught.value, ProviderError)  # never taken for an answer or an agent's limit
    total = accounts(read_requests(tmp_path))
    assert (total.returned, total.refused, total.open) == (4, 1, 0) and total.charged_microdollars == 120
    assert ask(client(tmp_path, Scripted(ANSWER), study="another", unit="mine/unit9", study_microdollars=cap))[0] == "live"
    assert ask(client(tmp_path, Scripted(ANSWER), unit="mine/unit8", study_microdollars=cap + 30))[0] == "live"  # goes on when it is raised


def test_a_study_stops_at_its_number_of_requests(tmp_path: Path) -> None:
    with pytest.raises(StudyStopped, match=r"all 2 requests.*budget\.study_requests"):
        for number in range(10):
            ask(client(tmp_path, Scripted(ANSWER), unit=f"mine/unit{number}", study_requests=2))
    assert accounts(read_requests(tmp_path)).returned == 2


def test_what_is_under_way_counts_at_its_maximum_for_the_others(tmp_path: Path) -> None:
    first = client(tmp_path, Scripted(ANSWER), unit="mine/first")
    first._ledger.send(REQUEST.body(), first._ledger.key(REQUEST.body(), 0), 0, max_cost=DOLLAR - 1)
    with pytest.raises(StudyStopped):
        ask(client(tmp_path, Scripted(ANSWER), unit="mine/second", study_microdollars=DOLLAR))
    first._ledger.close()


def test_nothing_is_sent_after_the_deadline(tmp_path: Path) -> None:
    ask(client(tmp_path, Scripted(ANSWER), deadline=datetime(2026, 11, 29, 12, 0, 1, tzinfo=UTC)))
    never = Scripted(ANSWER)
    live = client(tmp_path, never, deadline=NOW)
    assert live.ask(REQUEST).served == "store"
    with pytest.raises(StudyStopped, match=r"deadline 2026-11-29T12:00:00\+00:00 has passed \(budget\.deadline\)"):
        ask(live, occurrence=1)
    assert not never.asked


def test_a_unit_stops_at_its_number_of_requests(tmp_path: Path) -> None:
    provider = Scripted(ANSWER)
    live = client(tmp_path, provider, requests=2)
    with pytest.raises(ProviderError, match=r"all 2 requests that it may.*budget\.job_requests") as caught:
        for occurrence in range(5):
            live.ask(REQUEST, occurrence)
    live._ledger.close()
    assert caught.value.kind == "requests" and len(provider.asked) == 2


def test_what_the_rule_is_told_arrives(tmp_path: Path) -> None:
    budget = Budget(job_usd=2, study_usd=7.5, study_requests=9, job_requests=3, deadline=NOW)
    from rubrics_gym.providers.opening import allowance_of

    assert allowance_of(Asking(study="one", budget=budget)) == Allowance(2 * DOLLAR, 3, 7_500_000, 9, NOW)
    assert allowance_of(Asking(study="one"), 0.25) == Allowance(DOLLAR // 4)


def test_records_hold_their_words_and_waits(tmp_path: Path) -> None:
    ask(client(tmp_path, Scripted(ProviderError("rate_limit", "slow down", retry_after_s=17.0), ANSWER)))
    first, second = last_lines(Records(tmp_path, UNIT).lines())
    assert (first.kind, first.message, first.retry_after_s, second.waited_s, second.replaces) == (
        "rate_limit",
        "slow down",
        17.0,
        17.0,
        first.record,
    )


def test_a_later_option_changes_no_older_key() -> None:
    assert "effort" not in REQUEST.body() and "output_schema" not in REQUEST.body()
    assert REQUEST.model_copy(update={"effort": "low"}).body()["effort"] == "low"
    schema = {"type": "object", "default": None}
    request = Request(purpose="mine", model="m", system="", messages=(Message(role="user", text="x"),), output_schema=schema)
    assert request.body()["output_schema"] == schema and Response().turn() == Message(role="assistant")
