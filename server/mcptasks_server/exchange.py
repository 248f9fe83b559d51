"""One request that is under way, as the work behind it sees it, whichever wire its client speaks.

Each era has its own kind of exchange. What works on tools and tasks knows only this one: an ability is asked for by
what it is, never by the era.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mcptasks_crds.mirrored import MirroredParameter
from mcptasks_crds.task import McpTask

from .caller import Caller
from .errors import RpcError
from .headers import Headers
from .outbox import Outbox
from .progress import ProgressLine

Result = Mapping[str, Any]
"""The members of a JSON-RPC result, ready for orjson."""

LOG_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""The levels of log messages (those of RFC 5424), the least severe first."""

TASK_CLAIM: Final = "task"
"""In the claims of a call that was answered by a task's questions: the task's id. Its retry goes on with that task."""


@dataclass(frozen=True, kw_only=True)
class Abilities:
    """What the client of a request can do."""

    takes_task: bool = False
    """Whether this very call may be answered with a task's handle in the era's own form."""
    wants_task: bool = False
    """Whether its client has asked for that, so that anything else is an error (the legacy wire's `params.task`)."""
    closing_cancels: bool = False
    """Whether a client that closes the stream of a call has cancelled the call."""
    can_retry: bool = False
    """Whether this request can be answered by questions, and then comes again with their answers (MRTR)."""
    elicitation: bool = False
    """Whether it can put a form before a person."""
    sampling: bool = False
    roots: bool = False
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    """All that it declared."""


@dataclass(frozen=True, kw_only=True)
class InputRequest:
    """A request to the client: `elicitation/create`, `sampling/createMessage` or `roots/list`."""

    method: str
    params: Mapping[str, Any] | None = None


class InputRequired(Exception):  # noqa: N818  # it is no error: the era makes the answer of it
    """The request cannot go on without the client's input, and its client can retry."""

    def __init__(self, requests: Mapping[str, InputRequest], *, claims: Mapping[str, Any]) -> None:
        super().__init__("input required")
        self.requests = requests
        self.claims = claims
        """What the retry must bring back: sealed into `requestState`."""


@dataclass(frozen=True, kw_only=True)
class Exchange(ABC):
    """A request, its client, and the ways to talk to it before the answer."""

    id: str
    """The request's id, as JSON text."""
    caller: Caller
    abilities: Abilities
    params: Mapping[str, Any]
    sources: Mapping[str, str]
    """Each member of `params` as the client wrote it."""
    headers: Headers
    outbox: Outbox
    progress: ProgressLine
    request_key: str | None = None
    """By what a later message of the client can name this request at any replica (legacy `notifications/cancelled`)."""
    claims: Mapping[str, Any] = field(default_factory=dict)
    """What an earlier answer to this request has asked to be brought back (see `InputRequired`); verified."""
    responses: Mapping[str, Any] = field(default_factory=dict)
    """The client's answers that this retry brings, by key; unverified."""
    response_sources: Mapping[str, str] = field(default_factory=dict)
    """Each of them as the client wrote it."""

    @property
    def is_withdrawn(self) -> bool:
        """Whether its client has said that it does not want the answer any more, without going away."""
        return False

    @abstractmethod
    async def ask(self, requests: Mapping[str, InputRequest]) -> Mapping[str, Any]:
        """Put requests to the client, for work that keeps no state; gives an answer for each key.

        Raises:
            InputRequired: the answers come with the retry.
            RpcError: the client has not declared that it can take one of them.
        """

    async def ask_first(
        self, requests: Mapping[str, InputRequest], *, task_id: str, seconds: float, stopping: asyncio.Event
    ) -> Mapping[str, str]:
        """Put requests before there is a task; gives the answers as JSON text.

        `task_id`: the name of the task that is to ask what is not answered within so many seconds, or before this
        process is to end. A wire whose client brings its answers along gives them all.

        Raises:
            InputRequired: the answers come with the retry.
            InvalidAnswerError: one is not what was asked for.
        """
        return {key: json.dumps(answer) for key, answer in (await self.ask(requests)).items()}

    @abstractmethod
    async def ask_for_task(self, task: McpTask, requests: Mapping[str, InputRequest]) -> None:
        """Put a task's open questions to the client: its answers come by another request, at any replica.

        Each question is put once on one stream, however often this is called.

        Raises:
            InputRequired: they come with the retry, whose claims name the task (`TASK_CLAIM`).
        """

    async def wants_a_look(self) -> None:
        """Wait until something was put to the client in vain, so that whoever waits on its task has to put it again."""
        await asyncio.Event().wait()

    def check_mirrored(  # noqa: B027  # a wire without such headers has nothing to check
        self, parameters: tuple[MirroredParameter, ...], arguments: Mapping[str, Any]
    ) -> None:
        """That the arguments that must stand in headers too do so, on a wire that has such headers.

        Raises:
            HeaderMismatchError: one does not.
        """

    @abstractmethod
    async def log(self, level: str, data: Any, *, logger: str | None = None) -> None:
        """Send a log message, if the client wants those of that level."""

    @abstractmethod
    def handle(self, task: McpTask) -> Result:
        """The era's own answer that hands out a task. Only for a client that `takes_task`."""

    @abstractmethod
    def finished(self, text: str) -> Result:
        """A call's result, from the tool's CallToolResult as JSON text."""

    @abstractmethod
    def missing(self, required: Mapping[str, Any], *, why: str) -> RpcError:
        """The era's error for a call that needs what the client has not declared."""

    @abstractmethod
    def refused_task(self, *, required: bool) -> RpcError:
        """The era's error for a tool that only runs as a task (`required`), or never as one, for a client that wants
        it the other way."""
