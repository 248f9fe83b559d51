"""What can go wrong between a client and a server, split by what the caller can do about it."""

from typing import Any


class McptasksError(Exception):
    """The root of all errors that this package raises on purpose."""


class ArgumentsError(McptasksError):
    """The arguments are not a JSON object: nothing was sent."""


class UnreachableError(McptasksError):
    """There was no answer, or one that says to come back later. Whether the request was carried out is not known."""

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds
        """How long the server asked to be left alone."""


class ProtocolError(McptasksError):
    """What came back is no MCP answer: probably not an MCP server, or not one of this protocol version."""


class RequestError(McptasksError):
    """The server refused the request with a JSON-RPC error; asking again will not help."""

    def __init__(self, message: str, *, code: int, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        """The JSON-RPC error code."""
        self.data = data
        """The error's `data`, as the server gave it."""


class UnknownTaskError(RequestError):
    """The server has no such task: never had, no longer has, or not for this caller."""


class InvalidAnswerError(RequestError):
    """An answer is not what its question asks for (-32602): the message says where. Nothing was stored."""


class HeaderMismatchError(RequestError):
    """The server wants headers that repeat arguments (-32020); it has not run the tool."""


class InternalServerError(RequestError):
    """Something broke in the server (-32603); the same request may work later."""


class NotFinishedError(McptasksError):
    """The time given to wait is over. The task goes on."""
