"""What an era is to the endpoint, what a method is to an era, and what methods work with."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, Final, Protocol, TypeVar

from mcp_types import SERVER_INFO_META_KEY
from pydantic import BaseModel, ValidationError

from mcptasks_crds.limits import ARGUMENTS_BYTES

from .background import Background
from .caller import Caller
from .errors import InvalidParamsError, RpcError
from .exchange import Exchange, Result
from .headers import Headers
from .jsonrpc import Message, Response
from .operations import Operations
from .outbox import Outbox
from .signing import Signer
from .tasklogs import KeptLogs, TaskLogs
from .tasks import TaskStore
from .toolpack.packs import Packs
from .tools import Catalogue, InlineTool
from .watching import Watches

ModelT = TypeVar("ModelT", bound=BaseModel)

SERVER_INFO: Final = {"name": "mcptasks", "version": metadata.version("mcptasks")}


@dataclass(frozen=True, kw_only=True)
class Services:
    """What methods work with."""

    catalogue: Catalogue
    tasks: TaskStore
    logs: TaskLogs = field(default_factory=KeptLogs)
    """What tasks have printed."""
    signer: Signer = field(default_factory=Signer.ephemeral)
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    packs: Packs = field(default_factory=Packs)
    """What runs in this process: prompts and resources; its tools are in the catalogue."""
    notices: Watches = field(default_factory=Watches)
    """Who is to be told that a list (see `Topic`) may have changed."""
    background: Background = field(default_factory=Background)
    """Work that goes on without its request."""
    operations: Operations = field(default_factory=Operations)
    """What is under way, counted."""
    companions: tuple[InlineTool, ...] = ()
    """The server's own tools, by which a client without tasks goes on with one (see `companions`)."""
    max_arguments_bytes: int = ARGUMENTS_BYTES
    """How large a call's arguments may be, as JSON text."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the process was told to end: what is held then ends by itself, in time and with nothing lost."""


@dataclass(frozen=True, kw_only=True)
class Method:
    """What is done for a method's name."""

    run: Callable[[Services, Exchange], Awaitable[Result]]
    needs_tasks: bool = False
    """Whether the client must have declared the tasks extension, whatever the parameters are."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a request is answered with."""

    result: Result | None
    """None where its client has withdrawn the request, and waits for no answer any more."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """HTTP headers beside the endpoint's own. They are only sent where nothing came before the answer."""


class AnyEra(Protocol):
    """One wire's way with messages."""

    @property
    def name(self) -> str:
        """What metrics call it."""
        ...

    @property
    def methods(self) -> Collection[str]:
        """The names of the methods that it has."""
        ...

    async def answer(self, message: Message, headers: Headers, *, caller: Caller, outbox: Outbox) -> Answer:
        """The answer to a request of a caller; what comes before it goes into the outbox.

        Cancelled where its client has gone.

        Raises:
            RpcError: it failed.
        """
        ...

    async def take(self, message: Message | Response, headers: Headers, *, caller: Caller) -> None:
        """Take what has no answer: a notification, or a client's response.

        Raises:
            RpcError: it is not taken.
        """
        ...

    def status_of(self, error: RpcError) -> int:
        """The HTTP status of a request that failed."""
        ...


def with_server_info(result: Result) -> dict[str, Any]:
    """A result with what every result's `_meta` says."""
    return {**result, "_meta": {**result.get("_meta", {}), SERVER_INFO_META_KEY: SERVER_INFO}}


_WORDS: Final = {
    "dict_type": "must be a JSON object",
    "model_type": "must be a JSON object",
    "missing": "is required",
    "string_type": "must be a string",
}
"""JSON's words for what pydantic says in Python's."""


def parsed(model: type[ModelT], params: Mapping[str, Any]) -> ModelT:
    """The parameters of a method.

    Raises:
        InvalidParamsError: they are not what the method takes. Names the place, never the value.
    """
    try:
        return model.model_validate(params)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        where = "/".join(str(step) for step in first["loc"])
        words = _WORDS.get(first["type"], first["msg"])
        raise InvalidParamsError(f"Invalid params: {where}: {words}") from error
