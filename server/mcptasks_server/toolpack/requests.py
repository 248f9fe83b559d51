"""What a function can ask of its client, any mix at once. Source: both eras' "Elicitation", "Sampling", "Roots"."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from mcp_types import CreateMessageResultWithTools, ElicitResult, ListRootsResult, SamplingMessage, TextContent
from pydantic import BaseModel

from mcptasks_crds.forms import check_form_schema
from mcptasks_server.exchange import InputRequest

from .errors import PackError
from .schemas import schema_of

Answer = ElicitResult | CreateMessageResultWithTools | ListRootsResult


class ClientRequest(ABC):
    """A request to the client."""

    answer: ClassVar[type[ElicitResult] | type[CreateMessageResultWithTools] | type[ListRootsResult]]
    """What it is answered with."""

    @abstractmethod
    def request(self) -> InputRequest:
        """The same as MCP has it."""


@dataclass(frozen=True, kw_only=True)
class Elicitation(ClientRequest):
    """A form for the person behind the client."""

    answer = ElicitResult
    message: str
    schema: Mapping[str, Any] | type[BaseModel]
    """A flat object of strings, numbers, booleans and choices: as JSON Schema, or as a pydantic model."""

    def request(self) -> InputRequest:
        """The same as MCP's `elicitation/create`.

        Raises:
            PackError: the schema is no form.
        """
        schema = self.schema if isinstance(self.schema, Mapping) else _form_of(self.schema)
        if (violation := check_form_schema(schema)) is not None:
            raise PackError(f"the schema of the form {self.message!r} is none that MCP has: {violation}")
        params = {"mode": "form", "message": self.message, "requestedSchema": schema}
        return InputRequest(method="elicitation/create", params=params)


@dataclass(frozen=True, kw_only=True)
class Sampling(ClientRequest):
    """A question to the client's model."""

    answer = CreateMessageResultWithTools
    messages: str | Sequence[SamplingMessage]
    """A text, which then is the user's one message; or the whole conversation."""
    max_tokens: int
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further members of `sampling/createMessage`, such as `systemPrompt` or `temperature`."""

    def request(self) -> InputRequest:
        """The same as MCP's `sampling/createMessage`."""
        messages = self.messages
        if isinstance(messages, str):
            messages = [SamplingMessage(role="user", content=TextContent(text=messages))]
        dumped = [message.model_dump(mode="json", by_alias=True, exclude_none=True) for message in messages]
        params = {"messages": dumped, "maxTokens": self.max_tokens, **self.options}
        return InputRequest(method="sampling/createMessage", params=params)


@dataclass(frozen=True, kw_only=True)
class Roots(ClientRequest):
    """Which folders the client has opened to the server."""

    answer = ListRootsResult

    def request(self) -> InputRequest:
        """The same as MCP's `roots/list`."""
        return InputRequest(method="roots/list")


def _form_of(model: type[BaseModel]) -> dict[str, Any]:
    """A form has no description of its own: the message says what it is for."""
    return {name: value for name, value in schema_of(model).items() if name not in {"title", "description"}}
