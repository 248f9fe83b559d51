"""One table: the method's name, its function, and what it needs of the client."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, Final, TypeVar

from mcp_types import SERVER_INFO_META_KEY
from pydantic import BaseModel, ValidationError

from .caller import Caller
from .era import Envelope
from .errors import InvalidParamsError
from .headers import Headers
from .signing import Signer
from .tasks import TaskStore
from .tools import Catalogue

ModelT = TypeVar("ModelT", bound=BaseModel)

SERVER_INFO: Final = {"name": "mcptasks", "version": metadata.version("mcptasks")}


@dataclass(frozen=True, kw_only=True)
class Services:
    """What methods work with."""

    catalogue: Catalogue
    tasks: TaskStore
    signer: Signer = field(default_factory=Signer.ephemeral)
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the process was told to end: what is held then ends by itself, in time and with nothing lost."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One modern request, its envelope checked."""

    caller: Caller
    envelope: Envelope
    params: Mapping[str, Any]
    sources: Mapping[str, str]
    """Each member of `params` as the client wrote it."""
    headers: Headers


Result = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Method:
    """What is done for a method's name."""

    run: Callable[[Services, Request], Awaitable[Result]]
    needs_tasks: bool = False
    """Whether the client must have declared the tasks extension, whatever the parameters are."""


def with_server_info(result: Result) -> dict[str, Any]:
    """A result with what every result's `_meta` says."""
    return {**result, "_meta": {**result.get("_meta", {}), SERVER_INFO_META_KEY: SERVER_INFO}}


_WORDS: Final = {"dict_type": "must be a JSON object", "missing": "is required", "string_type": "must be a string"}
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
