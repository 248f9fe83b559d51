"""The task endpoint, as a pod speaks to it: HTTP and JSON, by the standard library.

Each request has a connection of its own, so that a restarted server or another replica is found at once, and reads the
token anew, for the kubelet replaces it while the pod runs. Every request of the contract may be repeated.
"""

import http.client
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from .backoff import JITTER, RETRYABLE, delay_seconds, retry_after_seconds
from .errors import JobError, OvertakenError, RefusedError, TooLargeError, UnreachableError

PATIENCE_SECONDS: Final = 600.0
"""How long what a tool waits for is tried again and again."""
ANSWER_SECONDS: Final = 15.0
"""How long one answer may take, beyond what it was asked to wait."""
UNKNOWN_TOKEN_TRIES: Final = 12
"""A token may be replaced, or its key not be known yet, just when it is looked at: half a minute is enough for that."""
MOST_ANSWER_BYTES: Final = 4 * 1024 * 1024


class NotNowError(Exception):
    """One attempt failed in a way that another one may not."""

    def __init__(self, message: str, *, retry_after: float | None = None, is_unknown_token: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.is_unknown_token = is_unknown_token


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request of the contract."""

    method: str
    path: str = ""
    """Below the task's URL."""
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_seconds: float = 0.0
    """How long the endpoint may hold its answer back."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back, where the request was done."""

    status: int
    body: Mapping[str, Any]


def json_body(document: Any) -> bytes:
    """A document as the endpoint takes it. Halves of surrogate pairs, which are no text, become replacement characters.

    Raises:
        ValueError: it holds NaN or an infinity.
        TypeError: it holds what JSON cannot.
    """
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


class Endpoint:
    """The endpoint of one task."""

    def __init__(
        self,
        url: str,
        token_file: Path | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise JobError(f"$MCPTASK_URL is not an http URL: {url}")
        self._host, self._port, self._secure, self._path = (
            parts.hostname,
            parts.port,
            parts.scheme == "https",
            parts.path,
        )
        self._token_file, self._clock, self._pause = token_file, clock, pause
        self.is_stopping = False
        """Whether an answer said that the task is being stopped, or is over."""

    def request(
        self,
        request: Request,
        *,
        patience: float | None = PATIENCE_SECONDS,
        goes_on: Callable[[], None] = lambda: None,
    ) -> Answer:
        """Make a request again and again until it is done. `goes_on` raises where that has become pointless.

        Args:
            patience: for how many seconds; None: without end.

        Raises:
            UnreachableError: it was not done within that time.
            RefusedError: it never will be.
        """
        until = None if patience is None else self._clock() + patience
        failures = unknown = 0
        while True:
            goes_on()
            try:
                return self.attempt(request)
            except NotNowError as error:
                failures += 1
                unknown = unknown + 1 if error.is_unknown_token else 0
                if unknown >= UNKNOWN_TOKEN_TRIES:
                    raise RefusedError(str(error), status=401) from error
                wait = delay_seconds(failures, chance=JITTER.random(), asked_for=error.retry_after)
                if until is not None and self._clock() + wait > until:
                    raise UnreachableError(f"the task endpoint cannot be reached: {error}") from error
            self._pause(wait)

    def attempt(self, request: Request) -> Answer:
        """Make a request once.

        Raises:
            NotNowError: it was not done, and may be done later.
            RefusedError: it never will be.
        """
        make = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = make(self._host, self._port, timeout=ANSWER_SECONDS + request.wait_seconds)
        try:
            connection.request(
                request.method, self._path + request.path, body=request.body, headers=self._headers(request)
            )
            response = connection.getresponse()
            raw = response.read(MOST_ANSWER_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise NotNowError(f"{type(error).__name__}: {error}") from error
        finally:
            connection.close()
        return self._read(response, raw)

    def _headers(self, request: Request) -> dict[str, str]:
        headers = {"Accept": "application/json", "Connection": "close", **request.headers}
        if request.body is not None:
            headers["Content-Type"] = "application/json"
        if self._token_file is not None:
            try:
                headers["Authorization"] = f"Bearer {self._token_file.read_text('ascii').strip()}"
            except (OSError, ValueError) as error:
                raise NotNowError(f"{self._token_file} cannot be read: {type(error).__name__}") from error
        return headers

    def _read(self, response: http.client.HTTPResponse, raw: bytes) -> Answer:
        body = _object(raw)
        if response.status < 300:  # nothing here is ever moved
            if body is None:
                raise NotNowError(f"status {response.status} with a body that is no JSON object")
            self.is_stopping = self.is_stopping or body.get("cancelRequested") is True
            return Answer(status=response.status, body=body)
        problem = body or {}
        detail = str(problem.get("detail") or problem.get("title") or response.reason)
        if response.status in RETRYABLE:
            asked_for = retry_after_seconds(response.headers.get("Retry-After"), now=time.time())
            raise NotNowError(f"{response.status}: {detail}", retry_after=asked_for)
        if response.status == 401:
            raise NotNowError(f"401: {detail}", retry_after=1.0, is_unknown_token=True)
        kind = {409: OvertakenError, 413: TooLargeError}.get(response.status, RefusedError)
        at_fault = problem.get("field")
        raise kind(detail, status=response.status, field=at_fault if isinstance(at_fault, str) else None)


def _object(raw: bytes) -> dict[str, Any] | None:
    if not raw.strip():
        return {}
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None
