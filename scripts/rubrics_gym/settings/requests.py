"""How models are asked, and what it may cost. No rule's parameter: where an answer comes from is no reason to ask again."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from rubrics_gym.settings.base import Positive, Seconds, Settings


class ReplayAttempts(StrEnum):
    LOST = "lost"
    NEVER = "never"


class Budget(Settings):
    """What may be spent, and when. No rule's parameter: raising it is no reason to ask again.

    Caps and deadline of the study, `pilot` and `replay_attempts` are on record from its first start on: a later start may tighten them, and
    loosens them only by `make resume`.
    """

    job_usd: Positive = Field(
        100,
        description="Most dollars that one job of a reading role may cost, or the judge of one episode, also a replayed one; the agent has limits.cost_usd.",
    )
    pilot: bool = Field(
        False,
        description="Start nothing beyond the pilot (one task per collection and per arm without a library: make pilot) before the whole pilot is in the store.",
    )
    job_requests: Positive | None = Field(None, description="Most requests that one unit of work may send; null: no such limit.")
    study_usd: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Most dollars that the whole study may cost, requests under way counted at their maximum; null: no such limit."
    )
    study_requests: Positive | None = Field(None, description="Most requests that the whole study may send; null: no such limit.")
    deadline: AwareDatetime | None = Field(
        None, description="No request of the study is sent after this time, e.g. 2026-12-24T18:00:00Z; null: no deadline."
    )
    replay_attempts: ReplayAttempts = Field(
        ReplayAttempts.LOST,
        description="Which slots (a rollout, an episode) may be attempted again: lost: those whose attempts were all lost; never: none that has an attempt on "
        "record, whatever became of it.",
    )


class Mode(StrEnum):
    LIVE = "live"
    REUSE = "reuse"
    REPLAY = "replay"


RoleName = Literal["agent", "judge", "miner", "classifier", "second_classifier", "reviewer"]


class Endpoint(Settings):
    """A server that speaks the provider's protocol."""

    url: Annotated[str, Field(pattern=r"^https?://")] = Field(description="Address of the server, e.g. http://127.0.0.1:8000/v1")
    key: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")] | None = Field(
        None, description="Environment variable that holds the key of this server; null: it needs none, and no key is sent."
    )


class Requests(Settings):
    """How models are asked. No rule's parameter: where an answer comes from is no reason to ask again."""

    mode: Mode = Field(
        Mode.REUSE,
        description="live: what other studies were answered is asked anew, what this study was answered is served; reuse: every stored answer "
        "to the same request is served, the rest is live; replay: nothing is ever sent, and a request that is not on record is an error.",
    )
    reuse_from: dict[str, str] = Field(
        default_factory=dict,
        description="Unit, or first segments of units → those whose stored answers are served to it as well, e.g. {mine/second: mine/first}. Not in mode live.",
    )
    endpoints: dict[RoleName, Endpoint] = Field(
        default_factory=dict, description="Role → server, where it is not the provider's own, e.g. a local vLLM or llama.cpp server."
    )
    cache: Literal["off", "5m", "1h"] = Field(
        "5m", description="How long anthropic keeps the beginning of a prompt that comes again; off asks for no cache."
    )
    batch: tuple[Literal["miner", "classifier", "second_classifier", "reviewer"], ...] = Field(
        (), description="Roles whose requests are sent in batches (anthropic): cheaper, and answered within a day."
    )
    batch_poll_s: Seconds = Field(60, description="Seconds between two looks at a batch that has not ended.")
    connect_s: Seconds = Field(10, description="Seconds until a connection must stand.")
    read_s: Seconds = Field(600, description="Longest silence of a server in seconds; a long answer is silent until it is whole.")
    deadline_s: Seconds = Field(900, description="Seconds from sending a request to the last byte of its answer.")
    longest_wait_s: Seconds = Field(
        60, description="Longest wait in seconds before a request is tried again; a server that asks for more is not tried again."
    )
