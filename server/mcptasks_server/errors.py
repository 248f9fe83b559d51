"""Every error that a client can get from us, as one tree: a JSON-RPC code and an HTTP status each.

Split by what the client can do about it. Sources: the specification 2026-07-28 ("Error Codes", "Server Validation"),
the tasks extension ("Protocol Errors"). Codes beyond these are never sent on the modern wire.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, ClassVar

from mcp_types import jsonrpc


class RpcError(Exception):
    """The request failed, in words for its client."""

    code: ClassVar[int] = jsonrpc.INTERNAL_ERROR
    status: ClassVar[int] = HTTPStatus.OK

    def __init__(self, message: str, *, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.data = data

    def body(self) -> dict[str, Any]:
        """The error object of a JSON-RPC response."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error


class ParseError(RpcError):
    """The body is not JSON."""

    code = jsonrpc.PARSE_ERROR
    status = HTTPStatus.BAD_REQUEST


class InvalidRequestError(RpcError):
    """The body is JSON, but not one JSON-RPC message."""

    code = jsonrpc.INVALID_REQUEST
    status = HTTPStatus.BAD_REQUEST


class ForbiddenError(InvalidRequestError):
    """The request comes from where none may come from (`Host`, `Origin`)."""

    status = HTTPStatus.FORBIDDEN


class UnauthenticatedError(InvalidRequestError):
    """The request does not say, credibly, who makes it. Source: RFC 6750, section 3."""

    status = HTTPStatus.UNAUTHORIZED

    def __init__(self, message: str, *, is_invalid: bool = False) -> None:
        """`is_invalid`: a token was sent, and is none that is good."""
        super().__init__(message)
        self.challenge = 'Bearer realm="mcptasks"' + (', error="invalid_token"' if is_invalid else "")
        """The value of `WWW-Authenticate`."""


class BodyTooLargeError(InvalidRequestError):
    """The body is larger than the server reads."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class BodyTooSlowError(InvalidRequestError):
    """The body did not arrive in time."""

    status = HTTPStatus.REQUEST_TIMEOUT


class NotAcceptableError(InvalidRequestError):
    """The answer can only be an event stream, which the client does not say that it takes."""

    status = HTTPStatus.NOT_ACCEPTABLE


class WrongContentTypeError(InvalidRequestError):
    """The body does not say that it is JSON."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


class WrongVerbError(InvalidRequestError):
    """Only POST is served."""

    status = HTTPStatus.METHOD_NOT_ALLOWED


class HeaderMismatchError(RpcError):
    """A header is missing, malformed, or says something else than the body."""

    code = jsonrpc.HEADER_MISMATCH
    status = HTTPStatus.BAD_REQUEST


class MissingMetadataError(RpcError):
    """The request's `_meta` lacks what every request must carry."""

    code = jsonrpc.INVALID_PARAMS
    status = HTTPStatus.BAD_REQUEST


class UnsupportedVersionError(RpcError):
    """The request's protocol version is not served."""

    code = jsonrpc.UNSUPPORTED_PROTOCOL_VERSION
    status = HTTPStatus.BAD_REQUEST

    def __init__(self, requested: str, *, supported: Sequence[str]) -> None:
        # The message names the versions too: a legacy client shows nothing else of it to its user.
        super().__init__(
            f"Unsupported protocol version: this server speaks {', '.join(supported)}",
            data={"supported": list(supported), "requested": requested},
        )


class MethodNotFoundError(RpcError):
    """There is no such method."""

    code = jsonrpc.METHOD_NOT_FOUND
    status = HTTPStatus.NOT_FOUND

    def __init__(self) -> None:
        super().__init__("Method not found")


class MissingCapabilityError(RpcError):
    """The client did not declare what the request needs."""

    code = jsonrpc.MISSING_REQUIRED_CLIENT_CAPABILITY
    status = HTTPStatus.BAD_REQUEST

    def __init__(self, required: Mapping[str, Any], *, why: str) -> None:
        super().__init__(f"Missing required client capability: {why}", data={"requiredCapabilities": dict(required)})


class InvalidParamsError(RpcError):
    """The parameters are wrong: malformed, or they name what is not there."""

    code = jsonrpc.INVALID_PARAMS


class ResourceNotFoundError(InvalidParamsError):
    """There is no such resource. Source: "Resources", "Error Handling"."""

    def __init__(self, uri: str, *, message: str = "Resource not found", **data: Any) -> None:
        """`message`, `data`: why, where that may be told."""
        super().__init__(message, data={"uri": uri, **data})


class UnavailableError(RpcError):
    """It may work later: what we need is not there now."""


class RefusedError(RpcError):
    """The cluster does not take it, and will not take it as it is."""


class LimitReachedError(RpcError):
    """There is no room for one task more: nothing was made, and it may work later."""

    def __init__(self, message: str, *, reason: str, limit: str) -> None:
        """`reason`: in one word, for programs; `limit`: the field or value by which it is set."""
        super().__init__(message, data={"reason": str(reason), "limit": limit})
