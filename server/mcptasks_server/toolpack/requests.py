"""What a function can ask of its client, any mix at once. Source: both eras' "Elicitation", "Sampling", "Roots"."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, SamplingMessage, TextContent
from pydantic import BaseModel

from mcptasks_server.exchange import InputRequest

from .schemas import schema_of


@dataclass(frozen=True, kw_only=True)
class Elicitation:
    """A form for the person behind the client."""

    message: str
    schema: Mapping[str, Any] | type[BaseModel]
    """A flat object of strings, numbers, booleans and choices: as JSON Schema, or as a pydantic model."""

    def request(self) -> InputRequest:
        """The same as MCP's `elicitation/create`."""
        schema = self.schema if isinstance(self.schema, Mapping) else schema_of(self.schema)
        params = {"mode": "form", "message": self.message, "requestedSchema": schema}
        return InputRequest(method="elicitation/create", params=params)


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """A question to the client's model."""

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
class Roots:
    """Which folders the client has opened to the server."""

    def request(self) -> InputRequest:
        """The same as MCP's `roots/list`."""
        return InputRequest(method="roots/list")


ClientRequest = Elicitation | Sampling | Roots
Answer = ElicitResult | CreateMessageResult | ListRootsResult

ANSWERS: Final[Mapping[type, type[BaseModel]]] = {
    Elicitation: ElicitResult,
    Sampling: CreateMessageResult,
    Roots: ListRootsResult,
}
"""What each kind of request is answered with."""
