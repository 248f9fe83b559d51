"""The errors that only the legacy wire has. Source: specification 2025-11-25, "Transports", "Resources", "Tasks"."""

from http import HTTPStatus
from typing import Final

from mcp_types import jsonrpc

from mcptasks_server.errors import InvalidRequestError, RpcError

RESOURCE_NOT_FOUND: Final = -32002


class SessionRequiredError(InvalidRequestError):
    """The request belongs to no session."""

    status = HTTPStatus.BAD_REQUEST


class SessionGoneError(InvalidRequestError):
    """The session is over, or never was: its client begins a new one."""

    status = HTTPStatus.NOT_FOUND


class WrongAnswerError(InvalidRequestError):
    """The client's answer to a request of ours cannot be taken."""

    status = HTTPStatus.BAD_REQUEST


class TaskSupportError(RpcError):
    """The tool only runs as a task, or never as one."""

    code = jsonrpc.METHOD_NOT_FOUND


class UndeclaredCapabilityError(RpcError):
    """The request needs what its client did not declare in `initialize`."""

    code = jsonrpc.INVALID_REQUEST


class UnknownResourceError(RpcError):
    """There is no such resource."""

    code = RESOURCE_NOT_FOUND
