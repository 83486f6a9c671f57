"""A study that stops, stands still and goes on: what had begun is finished, nothing else begins, and no planned slot is lost from sight."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.unit.test_models_client import ANSWER, REQUEST, Scripted

from rubrics_gym.models.client import StudyStopped
from rubrics_gym.models.keys import MissingKey
from rubrics_gym.models.policy import POLICY
from rubrics_gym.models.request import ProviderError
from rubrics_gym.providers import opening
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.settings.asking import Asking
from rubrics_gym.settings.study import Budget, Mode, ModelSettings, ReplayAttempts, Requests
from rubrics_gym.store.accounts import StudyAccount
from rubrics_gym.store.attempts import Attempt, AttemptState, AttemptStore
from rubrics_gym.store.ledger import accounts, read_requests
from rubrics_gym.store.requests import Ledger
from rubrics_gym.store.serving import Closed, open_attempts, settle_requests, slot
from rubrics_gym.store.stops import StudyRecord, TermsLoosened
from rubrics_gym.store.storage import open_storage

UNIT, KEY = "rollouts/pool/packaged/a-task/0", "a" * 64
PRICES = str(Path(__file__).parents[2] / "resources" / "prices.yaml")


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RUBRICS_STORE", str(tmp_path))
    return tmp_path


def asking(**budget: object) -> str:
    return Asking(study="one", budget=Budget.model_validate(budget)).model_dump_json(exclude_defaults=True)


def record(store: Path) -> StudyRecord:
    return StudyRecord(store, "one")


def works(attempt: Attempt) -> None:
    (attempt.folder / "trajectory.jsonl").write_text("made\n")


def dies(attempt: Attempt) -> None:
    raise KeyboardInterrupt


def take(
    how: str, make: Callable[[Attempt], None] = works, unit: str = UNIT, key: str = KEY, check: Callable[[], None] = lambda: None
) -> str | Closed:
    """What a slot holds: the text of its record, or how it is closed."""
    closed: list[Closed] = []
    with slot(open_attempts(how), unit, key, "code", how, check, make, lambda why, folder: closed.append(why)) as folder:
        return closed[0] if closed else (folder / "trajectory.jsonl").read_text()


def states(unit: str = UNIT) -> list[tuple[AttemptState, bool]]:
    return [(row.state, row.continuation) for row in open_attempts(asking()).rows(unit)]


def cut_off() -> None:
    with suppress(KeyboardInterrupt):
        take(asking(), dies)


# ---------------------------------------------------------------- a stop


def test_a_queued_slot_of_a_stopped_study_is_not_begun_and_not_run(store: Path) -> None:
    record(store).stop("asked for")
    found = take(asking(), dies)
    assert isinstance(found, Closed) and found.outcome is Outcome.NOT_RUN and "asked for" in found.why
    assert states() == []  # no attempt is on record


def test_what_is_complete_is_served_while_the_study_stands_still(store: Path) -> None:
    take(asking())
    record(store).stop("asked for")
    assert take(asking(), dies) == "made\n"


def test_a_slot_that_was_cut_off_stays_one_and_is_attempted_again_after_the_resumption_as_a_continuation(store: Path) -> None:
    cut_off()
    record(store).stop("asked for")
    found = take(asking(), dies)
    assert isinstance(found, Closed) and found.outcome is Outcome.UNKNOWN and found.lost is not None
    record(store).resume(Budget())
    assert take(asking()) == "made\n"
    assert states() == [(AttemptState.LOST, False), (AttemptState.COMPLETE, True)]


def test_an_attempt_that_had_begun_asks_on_and_a_unit_that_had_not_is_told_why(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "open_provider", lambda *_, **__: Scripted(ANSWER))
    model = ModelSettings(model="simulated-agent-1")
    request = REQUEST.model_copy(update={"model": "simulated-agent-1"})

    def make(attempt: Attempt) -> None:
        record(store).stop("asked for")
        with opening.open_client(model, "agent", None, UNIT, KEY, PRICES, asking(), in_attempt=True) as client:
            assert client.ask(request).served == "live"
        works(attempt)

    assert take(asking(), make) == "made\n"
    queued = opening.open_client(model, "miner", None, "mine/crashes/pool", KEY, PRICES, asking())
    with pytest.raises(StudyStopped, match=r"mine/crashes/pool: the study stands still \(asked for\); nothing was sent"), queued as client:
        client.ask(request)


def test_a_stop_stands_once_and_a_resumption_lifts_it(store: Path) -> None:
    first = record(store).stop("first")
    assert record(store).stop("second") == first == record(store).standing
    assert not record(store).is_continuation
    record(store).resume(Budget())
    assert record(store).standing is None and record(store).is_continuation
    assert StudyRecord(store, "another").standing is None


# ---------------------------------------------------------------- caps and deadlines take the same way


def test_a_met_deadline_is_a_stop_on_record_and_nothing_goes_on_under_the_same(store: Path) -> None:
    past = datetime.now(UTC) - timedelta(seconds=1)
    found = take(asking(deadline=past), dies)
    assert isinstance(found, Closed) and found.outcome is Outcome.NOT_RUN
    standing = record(store).standing
    assert standing is not None and "(budget.deadline)" in standing.why
    with pytest.raises(StudyStopped, match="cannot go on under the same"):
        record(store).resume(Budget(deadline=past))
    record(store).resume(Budget(deadline=datetime.now(UTC) + timedelta(days=1)))
    assert record(store).standing is None


def test_the_client_that_meets_the_cap_stops_the_study_and_its_attempt_was_cut_off(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "open_provider", lambda *_, **__: Scripted(ANSWER, ANSWER))
    model, how = ModelSettings(model="simulated-agent-1"), asking(study_requests=1)
    request = REQUEST.model_copy(update={"model": "simulated-agent-1"})

    def make(attempt: Attempt) -> None:
        with opening.open_client(model, "agent", None, UNIT, KEY, PRICES, how, in_attempt=True) as client:
            client.ask(request)
            client.ask(request, 1)

    found = take(how, make)
    assert isinstance(found, Closed) and found.outcome is Outcome.UNKNOWN and "budget.study_requests" in found.why
    untouched = take(how, dies, unit=f"{UNIT}0")
    assert isinstance(untouched, Closed) and untouched.outcome is Outcome.NOT_RUN
    assert states(f"{UNIT}0") == []


# ---------------------------------------------------------------- replay_attempts: never


def test_never_attempts_only_untouched_slots(store: Path) -> None:
    never = asking(replay_attempts="never")
    assert take(never, unit=f"{UNIT}0") == "made\n"  # untouched
    assert take(never, dies, unit=f"{UNIT}0") == "made\n"  # complete, and served
    cut_off()
    found = take(never, dies)
    assert isinstance(found, Closed) and found.outcome is Outcome.UNKNOWN and "replay_attempts: never" in found.why
    assert states() == [(AttemptState.LOST, False)]
    assert take(asking()) == "made\n"  # the default attempts it again


def test_never_counts_attempts_of_the_study_under_other_settings(store: Path) -> None:
    take(asking())
    found = take(asking(replay_attempts="never"), dies, key="b" * 64)
    assert isinstance(found, Closed) and found.outcome is Outcome.NOT_RUN
    other = Asking(study="two", budget=Budget(replay_attempts=ReplayAttempts.NEVER)).model_dump_json()
    assert take(other, key="b" * 64) == "made\n"  # another study's slot


def test_requests_of_a_slot_that_is_not_attempted_again_have_an_end(store: Path) -> None:
    killed = Ledger(store, UNIT, KEY, "one")
    killed.send(REQUEST.body(), killed.key(REQUEST.body(), 0), 0, max_cost=70)
    killed._lease.release()
    settle_requests(asking(), [UNIT, f"judge/{UNIT}"])
    total = accounts(read_requests(store))
    assert (total.open, total.unresolved, total.charged_microdollars) == (0, 1, 70)
    assert len(list(read_requests(store))) == 1  # a unit that never asked has no ledger


def test_never_does_not_count_attempts_that_a_study_which_asks_anew_is_not_served(store: Path) -> None:
    take(asking())
    replication = Asking(
        study="two", requests=Requests(mode=Mode.LIVE), budget=Budget(replay_attempts=ReplayAttempts.NEVER)
    ).model_dump_json()
    assert take(replication) == "made\n"
    assert [state for state, _ in states()] == [AttemptState.COMPLETE, AttemptState.COMPLETE]
    assert take(replication, dies) == "made\n"  # its own


def test_never_is_looked_at_again_once_the_lease_is_there(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process was at work when this one looked, and lost its attempt before this one had the lease."""
    never = asking(replay_attempts="never")
    running = open_attempts(asking()).begin(UNIT, KEY, "code")
    begin = AttemptStore.begin

    def after_it_died(*arguments: str) -> Attempt:
        running.release()
        return begin(*arguments)

    monkeypatch.setattr(AttemptStore, "begin", after_it_died)
    found = take(never, dies)
    assert isinstance(found, Closed) and found.outcome is Outcome.UNKNOWN and "replay_attempts: never" in found.why
    assert sorted(state for state, _ in states()) == [AttemptState.LOST, AttemptState.SUPERSEDED]
    again = take(never, dies)
    assert isinstance(again, Closed) and again.lost is not None and again.lost.number == 1


def test_what_could_not_be_attempted_leaves_nothing_on_record(store: Path) -> None:
    def no_key() -> None:
        raise MissingKey("no key")

    with pytest.raises(MissingKey):
        take(asking(replay_attempts="never"), check=no_key)
    assert states() == []
    assert take(asking(replay_attempts="never")) == "made\n"
    assert take(asking(replay_attempts="never"), dies, check=no_key) == "made\n"  # served: nobody is asked


# ---------------------------------------------------------------- an attempt's own limits


def test_what_a_lost_attempt_spent_takes_nothing_from_the_next(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first attempt asks twice and is lost while it waits; the second is served one answer, goes another way, and ends where it would have ended."""
    model = ModelSettings(model="simulated-agent-1")
    request = REQUEST.model_copy(update={"model": "simulated-agent-1"})
    provider = Scripted(ANSWER)
    monkeypatch.setattr(opening, "open_provider", lambda *_, **__: provider)
    how = asking(job_requests=4)

    def first(attempt: Attempt) -> None:
        with opening.open_client(model, "agent", None, UNIT, f"{KEY}/{attempt.number}", PRICES, how, in_attempt=True) as client:
            for turn in range(3):
                client.ask(request, turn)
            raise KeyboardInterrupt

    served = []

    def second(attempt: Attempt) -> None:
        with opening.open_client(model, "agent", None, UNIT, f"{KEY}/{attempt.number}", PRICES, how, in_attempt=True) as client:
            served.extend(client.ask(request, turn).served for turn in (0, 10, 11, 12))
            with pytest.raises(ProviderError) as spent:  # four answers, one of them served: as many as it may
                client.ask(request, 13)
            assert spent.value.kind == "requests"
        works(attempt)

    with suppress(KeyboardInterrupt):
        take(how, first)
    assert take(how, second) == "made\n"
    assert served == ["store", "live", "live", "live"]


@pytest.mark.parametrize("kind", [kind for kind, policy in POLICY.items() if policy.stops_study])
def test_what_every_request_would_meet_stops_the_study_before_it_costs_slot_after_slot(
    store: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    model = ModelSettings(model="simulated-agent-1")
    monkeypatch.setattr(opening, "open_provider", lambda *_, **__: Scripted(ProviderError(kind, "turned down")))

    def make(attempt: Attempt) -> None:
        with opening.open_client(model, "agent", None, UNIT, f"{KEY}/{attempt.number}", PRICES, asking(), in_attempt=True) as client:
            client.ask(REQUEST.model_copy(update={"model": "simulated-agent-1"}))

    found = take(asking(), make)
    assert isinstance(found, Closed) and found.outcome is Outcome.UNKNOWN and "turned down" in found.why and "make resume" in found.why
    queued = take(asking(), dies, unit=f"{UNIT}0")
    assert isinstance(queued, Closed) and queued.outcome is Outcome.NOT_RUN and states(f"{UNIT}0") == []
    record(store).resume(Budget())
    assert take(asking()) == "made\n"


# ---------------------------------------------------------------- the study's account


def test_a_listing_that_misses_the_newest_name_still_finds_the_unit(store: Path) -> None:
    """A folder is not listed in one instant: while a name is written and an older one removed, one that stood before must be there."""
    account = StudyAccount(open_storage(store), "one", UNIT)
    account.publish(100, 1)
    account.publish(250, 2)
    account.publish(200, 2)  # a claim that came out cheaper: the last word counts, not the highest
    assert account.total() == (200, 2)
    names = sorted((store / "accounts" / "one").iterdir(), key=lambda path: int(path.name.split(".")[3]))
    assert len(names) == 2
    names[-1].unlink()
    assert account.total() == (250, 2)
    again = StudyAccount(open_storage(store), "one", UNIT)
    again.publish(300, 3)
    assert again.total() == (300, 3)


def test_names_without_a_number_are_those_of_before(store: Path) -> None:
    account = StudyAccount(open_storage(store), "one", UNIT)
    account.publish(100, 1)
    (only,) = (store / "accounts" / "one").iterdir()
    only.rename(only.with_name(only.name.rpartition(".")[0]))
    assert account.total() == (100, 1)
    only = next((store / "accounts" / "one").iterdir())
    only.with_name(f"{only.name.split('.')[0]}.200.2").touch()  # a process that was killed between the two steps left both
    assert account.total() == (200, 2)
    later = StudyAccount(open_storage(store), "one", UNIT)
    later.publish(120, 2)
    assert later.total() == (120, 2)


# ---------------------------------------------------------------- terms


@pytest.mark.parametrize(
    ("first", "later", "loosened"),
    [
        ({"study_usd": 10}, {"study_usd": 20}, "budget.study_usd (10.0 on record, 20.0 now)"),
        ({"study_requests": 10}, {}, "budget.study_requests (10 on record, None now)"),
        ({"deadline": "2030-01-01T00:00:00Z"}, {"deadline": "2030-01-02T00:00:00Z"}, "budget.deadline"),
        ({"pilot": True}, {}, "budget.pilot"),
        ({"replay_attempts": "never"}, {}, "budget.replay_attempts"),
    ],
)
def test_a_later_start_keeps_the_terms_until_others_are_put_on_record(store: Path, first: dict, later: dict, loosened: str) -> None:
    record(store).start(Budget.model_validate(first), {"rollouts/pool": 3})
    with pytest.raises(TermsLoosened) as caught:
        record(store).start(Budget.model_validate(later), {})
    assert loosened in str(caught.value) and "make resume" in str(caught.value)
    assert len(record(store).events()) == 1
    record(store).start(Budget.model_validate(first), {"rollouts/pool": 3})
    record(store).resume(Budget.model_validate(later))
    record(store).start(Budget.model_validate(later), {"rollouts/pool": 3})


def test_terms_may_be_tightened_and_are_then_kept(store: Path) -> None:
    record(store).start(Budget(), {})
    record(store).start(Budget(study_usd=5), {})
    with pytest.raises(TermsLoosened):
        record(store).start(Budget(), {})
