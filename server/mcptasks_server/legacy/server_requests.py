"""Requests of the server's to legacy clients: their ids, and who waits for what at this replica.

The id of a task's question is signed and names the task and the question, so its answer can be taken by any replica. An
inline tool's own request is waited for by the one process that runs the function: its answer must come back here, which
is what the Service's client affinity is for. So is, while there is no task, the answer to what is asked before it: at
another replica it is kept for the task.
"""

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

from mcptasks_server.errors import RefusedError
from mcptasks_server.jsonrpc import Response
from mcptasks_server.signing import Purpose, SealError, Signer

MAX_WAITING: Final = 1000
"""Requests of inline tools that may wait for their answers at once."""


@dataclass(frozen=True, kw_only=True)
class TaskQuestion:
    """A question of a task, as a request's id names it."""

    task_id: str
    key: str
    is_first: bool = False
    """Whether it was put before the task was made, so that there may not be one yet."""


@dataclass(frozen=True, kw_only=True)
class FirstQuestion:
    """A question that is put before there is a task, by a call that waits at this replica."""

    requested_schema: str
    """As JSON text."""
    answer: asyncio.Future[str]


@dataclass(frozen=True, kw_only=True)
class InlineRequest:
    """A request of an inline tool, as its id names it."""

    nonce: str


class Asked:
    """The keys of a task's questions that were put on one stream already."""

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._news = asyncio.Event()

    def is_new(self, key: str) -> bool:
        """Whether a key was not put yet; from here on it was."""
        if key in self._keys:
            return False
        self._keys.add(key)
        return True

    def again(self, key: str) -> None:
        """Have a key put once more: its answer could not be taken."""
        self._keys.discard(key)
        self._news.set()

    async def news(self) -> None:
        """Wait until a key is to be put once more."""
        await self._news.wait()
        self._news.clear()


class ServerRequests:
    """Makes and reads the ids of requests to clients, and knows who waits here."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer
        self._waiting: dict[str, asyncio.Future[Response]] = {}
        self._asked: WeakValueDictionary[str, Asked] = WeakValueDictionary()
        self._first: dict[TaskQuestion, FirstQuestion] = {}

    def __len__(self) -> int:
        return len(self._waiting) + len(self._first)

    def question_id(self, question: TaskQuestion, *, session: str, asked: Asked) -> str:
        """A fresh id for a task's question to a session. `asked` belongs to the stream that it is sent on."""
        nonce = secrets.token_urlsafe(9)
        first = {"f": True} if question.is_first else {}
        claims = {"t": question.task_id, "q": question.key, "s": session, "n": nonce, **first}
        request_id = self._signer.seal(Purpose.SERVER_REQUEST, claims)
        self._asked[request_id] = asked
        return request_id

    @contextmanager
    def expecting(self, *, session: str) -> Iterator[tuple[str, asyncio.Future[Response]]]:
        """A fresh id for an inline tool's request to a session, and what its answer will be.

        Raises:
            RefusedError: too many wait already.
        """
        if len(self._waiting) >= MAX_WAITING:
            raise RefusedError(f"More than {MAX_WAITING} requests to clients wait for their answers: try again later")
        nonce = secrets.token_urlsafe(12)
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting[nonce] = future
        try:
            yield self._signer.seal(Purpose.SERVER_REQUEST, {"s": session, "n": nonce}), future
        finally:
            del self._waiting[nonce]
            future.cancel()

    @contextmanager
    def expecting_first(self, question: TaskQuestion, *, requested_schema: str) -> Iterator[asyncio.Future[str]]:
        """What the answer to a question will be, as JSON text, for as long as its call waits here.

        Raises:
            RefusedError: too many wait already.
        """
        if len(self._waiting) + len(self._first) >= MAX_WAITING:
            raise RefusedError(f"More than {MAX_WAITING} requests to clients wait for their answers: try again later")
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._first[question] = FirstQuestion(requested_schema=requested_schema, answer=future)
        try:
            yield future
        finally:
            del self._first[question]
            future.cancel()

    def first_question(self, question: TaskQuestion) -> FirstQuestion | None:
        """Of a question that a call puts before there is a task; None where it does not wait at this replica for it."""
        found = self._first.get(question)
        return None if found is None or found.answer.done() else found

    def named_by(self, request_id: object, *, session: str, now: float) -> TaskQuestion | InlineRequest | None:
        """What the id of a session's answer names; None where it is no id that this server gave to that session."""
        if not isinstance(request_id, str):
            return None
        try:
            claims = self._signer.open(Purpose.SERVER_REQUEST, request_id, now=now)
        except SealError:
            return None
        if claims["s"] != session:
            return None
        if "t" in claims:
            return TaskQuestion(task_id=claims["t"], key=claims["q"], is_first="f" in claims)
        return InlineRequest(nonce=claims["n"])

    def resolve(self, request: InlineRequest, response: Response) -> bool:
        """Hand an answer to whoever waits for it here. Says whether anybody did."""
        future = self._waiting.get(request.nonce)
        if future is None or future.done():
            return False
        future.set_result(response)
        return True

    def ask_again(self, request_id: str, key: str) -> None:
        """Have a question put once more on its stream, if that is one of this replica's."""
        asked = self._asked.get(request_id)
        if asked is not None:
            asked.again(key)
