"""The rules for HTTP headers that mirror the body, so that what routes a request and what runs it agree. Pure.

Source: specification 2026-07-28, Streamable HTTP, "Request Metadata"; the tasks extension, "Routing Headers".
Names are compared without case, values with it and without surrounding blanks.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from multidict import CIMultiDict, CIMultiDictProxy

from .errors import HeaderMismatchError
from .jsonrpc import quoted

Headers = CIMultiDict[str] | CIMultiDictProxy[str]

PROTOCOL_VERSION: Final = "MCP-Protocol-Version"
METHOD: Final = "Mcp-Method"
NAME: Final = "Mcp-Name"

NAMED_BY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "tools/call": "name",
        "prompts/get": "name",
        "resources/read": "uri",
        "tasks/get": "taskId",
        "tasks/update": "taskId",
        "tasks/cancel": "taskId",
    }
)
"""Which parameter of a method `Mcp-Name` mirrors."""
TASK_METHODS: Final = frozenset(method for method, parameter in NAMED_BY.items() if parameter == "taskId")
"""The methods on which a client in use leaves `Mcp-Name` out, though it must not (fastmcp-tasks 4.1)."""

_SENTINEL: Final = re.compile(r"=\?base64\?(.*)\?=", re.DOTALL)
_PLAIN: Final = re.compile(r"[\x20-\x7e\t]*")


def value_of(headers: Headers, name: str) -> str | None:
    """The one value of a header, without surrounding blanks; None where it is absent.

    Raises:
        HeaderMismatchError: it is there more than once (two readers would each take another one), or holds characters
            that no header may hold.
    """
    values = headers.getall(name, [])
    if not values:
        return None
    if len(values) > 1:
        raise HeaderMismatchError(f"Header mismatch: {name} appears more than once")
    value: str = values[0].strip(" \t")
    if not _PLAIN.fullmatch(value):
        raise HeaderMismatchError(f"Header mismatch: {name} contains invalid characters")
    return value


def decoded_value_of(headers: Headers, name: str) -> str | None:
    """Like `value_of`, for a header that may be written as `=?base64?...?=`.

    Raises:
        HeaderMismatchError: as `value_of`; or the base64 or the UTF-8 in it is not valid.
    """
    value = value_of(headers, name)
    match = _SENTINEL.fullmatch(value or "")
    if match is None:
        return value
    try:
        raw = base64.b64decode(match[1], validate=True)
        # Trailing bits that no encoder sets are tolerated by `validate`: two texts would mean one value.
        if base64.b64encode(raw).decode() != match[1]:
            raise HeaderMismatchError(f"Header mismatch: the base64 of {name} is not canonical")
        return raw.decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise HeaderMismatchError(f"Header mismatch: {name} is not valid base64 of UTF-8 text") from error


def check_routing(headers: Headers, *, method: str, params: Mapping[str, Any], require_task_name: bool = True) -> None:
    """That `Mcp-Method` and, where it is due, `Mcp-Name` say what the body says.

    A parameter that is missing or no string is left to the check of the parameters: there is nothing to compare with.
    Without `require_task_name`, a task's id may be left out of the headers; where it is there, it is compared.

    Raises:
        HeaderMismatchError: one is missing, malformed or different.
    """
    _check(METHOD, value_of(headers, METHOD), method)
    source = NAMED_BY.get(method)
    if source is None:
        return
    name = params.get(source)
    if not isinstance(name, str):
        return
    value = decoded_value_of(headers, NAME)
    if value is None and method in TASK_METHODS and not require_task_name:
        return
    _check(NAME, value, name)


def _check(header: str, value: str | None, expected: str) -> None:
    if value is None:
        raise HeaderMismatchError(f"Header mismatch: the {header} header is required")
    if value != expected:
        raise HeaderMismatchError(
            f"Header mismatch: {header} header value {quoted(value)} does not match body value {quoted(expected)}"
        )
