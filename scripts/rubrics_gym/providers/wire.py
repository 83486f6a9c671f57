"""What the live providers have in common: one request over HTTP, its time limits, and what is known about a failure.

Retrying is the client's business, so the SDKs' own retries are off. The SDKs of Anthropic and OpenAI are made by one generator and have the
same classes of errors; the module of either is handed in as `sdk`.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from rubrics_gym.models.keys import NO_KEY
from rubrics_gym.models.request import ProviderError

CONNECT_S = 10.0
READ_S = 600.0  # longest silence; without streaming a long answer is silent until it is whole
DEADLINE_S = 900.0  # longest time from sending to the last byte

KINDS_OF_STATUS = {
    400: "invalid_request",
    401: "auth",
    402: "quota",
    403: "auth",
    404: "invalid_request",
    408: "server",  # the server gave up on receiving the request
    413: "context_length",
    422: "invalid_request",
    429: "rate_limit",
    504: "timeout_read",  # a gateway gave up; what the model behind it did is not known
    529: "overloaded",
}


TOO_LONG = (  # what servers say of a prompt that is longer than their context; llama.cpp says it in either protocol
    "prompt is too long",
    "context window",
    "context limit",
    "context_length_exceeded",
    "maximum context length",
    "exceed_context_size",
    "exceeds the available context",
)


FLAGGED = (
    "moderation",
    "flagged",
    "content policy",
    "content_policy",
    "content management policy",
)  # one prompt was turned down, not the key


def kind_of_status(status: int) -> str:
    """What a status says by itself; a provider's own words may say more."""
    return KINDS_OF_STATUS.get(status, "server" if status >= 500 else "invalid_request")


class Wire:
    """Connection of one provider. The key (None: the server needs none) is used for sending and appears in no error or representation."""

    def __init__(self, sdk: Any, key: str | None, connect_s: float, read_s: float, deadline_s: float):
        self._sdk = sdk
        self._key = key or NO_KEY
        self._read_s = min(read_s, deadline_s)
        self._deadline_s = deadline_s
        self._connect_s = min(connect_s, deadline_s)
        self._begun = 0.0
        self._timer: threading.Timer | None = None
        self._cut = False  # by the deadline

    def options(self, base_url: str | None) -> dict[str, Any]:
        """What the SDK's client is made with."""
        return {
            "api_key": self._key,
            "base_url": base_url,
            "max_retries": 0,
            "timeout": httpx2.Timeout(self._read_s, connect=self._connect_s),
            "http_client": self._sdk.DefaultHttpxClient(event_hooks={"response": [self._watch]}),
        }

    def receive(self, streaming: AbstractContextManager[Any]) -> bytes:
        """Send a request (the SDK's `with_streaming_response` call) and read the whole body of its answer, within the limits.

        Raises ProviderError for what went wrong on the way; an error status is the SDK's APIStatusError, for the provider to read.
        """
        with self.limits():
            with streaming as http:
                body: bytes = b"".join(http.iter_bytes())
            return body

    @contextmanager
    def limits(self) -> Iterator[None]:
        """The deadline, and ProviderErrors for everything that happens below HTTP."""
        self._begun, self._cut = time.monotonic(), False
        try:
            yield
        except (self._sdk.APIConnectionError, httpx2.HTTPError) as error:
            raise self._of_connection(error) from None
        finally:
            self._cancel()

    def _watch(self, response: httpx2.Response) -> None:
        """Called when the head of an answer is there: at the deadline the connection is cut, however much is still coming."""
        connection: socket.socket = response.extensions["network_stream"].get_extra_info("socket")

        def cut() -> None:
            self._cut = True
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

        self._cancel()
        self._timer = threading.Timer(max(0.0, self._deadline_s - (time.monotonic() - self._begun)), cut)
        self._timer.daemon = True
        self._timer.start()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _of_connection(self, error: Exception) -> ProviderError:
        cause = (error.__cause__ or error) if isinstance(error, self._sdk.APIConnectionError) else error
        what = f"{type(cause).__name__} after {time.monotonic() - self._begun:.1f} s"
        if self._cut:
            return ProviderError("deadline", f"the answer was not whole {self._deadline_s:g} s after sending ({what})")
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout):
            return ProviderError("timeout_connect", f"no connection within {self._connect_s:g} s ({what}); nothing was sent")
        if isinstance(cause, httpx2.TimeoutException):
            return ProviderError("timeout_read", f"the server was silent for {self._read_s:g} s ({what})")
        if isinstance(cause, httpx2.TransportError | httpx2.DecodingError):
            return ProviderError("stream_cut", f"the connection broke after the request had left ({what})")
        return ProviderError("unknown", f"the request broke off ({what})")

    def of_status(self, kind: str, error: Any, text: str) -> ProviderError:
        """The error of a status: its kind, its words without the key, and the wait that it asks for."""
        words = text.replace(self._key, "[key]")[:500] if self._key != NO_KEY else text[:500]
        return ProviderError(
            kind, f"HTTP {error.status_code}: {words} (request id {error.request_id})", retry_after_s(error.response.headers)
        )


def read_json(body: bytes) -> Any:
    """The body of an answer. ProviderError of kind stream_cut when it is empty or broken off."""
    if not body:
        raise ProviderError("stream_cut", "the answer has an empty body")
    try:
        return json.loads(body)
    except ValueError:
        raise ProviderError("stream_cut", f"the answer broke off after {len(body)} bytes") from None


def not_a_message(error: Exception) -> ProviderError:
    """An answer that is whole and JSON, and not what the API promises."""
    return ProviderError("unknown", f"the answer is not a message ({type(error).__name__}: {str(error)[:200]})")


def retry_after_s(headers: httpx2.Headers) -> float | None:
    """Seconds that a server asks to wait (RFC 9110, 10.2.3: seconds or a date; or its finer retry-after-ms); None when it does not say."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        with suppress(ValueError):
            seconds = float(text) / unit
            return max(0.0, seconds) if seconds == seconds else None
        with suppress(ValueError, TypeError):
            return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    return None
