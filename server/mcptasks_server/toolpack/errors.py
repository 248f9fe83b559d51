"""What a tool pack's author raises, and what is said of a pack that cannot be served."""

from mcp_types import ContentBlock

from mcptasks_server.errors import ResourceNotFoundError

__all__ = ["CallEndedError", "PackError", "ResourceNotFoundError", "ToolError"]


class PackError(ValueError):
    """A pack is not right as it is written: said when the process starts, naming pack and function; of a form, when
    it is to be shown."""


class ToolError(Exception):
    """The call failed, in words for the model that made it: they reach the client as they are (`isError: true`)."""

    def __init__(self, message: str, *content: ContentBlock) -> None:
        """`content`: further blocks after the message."""
        super().__init__(message)
        self.message = message
        self.content = content


class CallEndedError(RuntimeError):
    """The call that a context belongs to is over: it took too long, or its client has gone. Nothing more is sent."""
