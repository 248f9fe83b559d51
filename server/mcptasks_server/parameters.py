"""A call's mirrored arguments against its `Mcp-Param-*` headers. Pure.

Source: specification 2026-07-28, Streamable HTTP, "Custom Headers from Tool Parameters".
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from mcptasks_crds.mirrored import MirroredParameter

from .errors import HeaderMismatchError
from .headers import Headers, decoded_value_of

_DECIMAL: Final = re.compile(r"(-?[0-9]{1,400})(?:\.0+)?")


def check_mirrored(
    headers: Headers, *, parameters: tuple[MirroredParameter, ...], arguments: Mapping[str, Any]
) -> None:
    """That each mirrored argument stands in its header with the same value, and none where it has none.

    Raises:
        HeaderMismatchError: one is missing, malformed, different, or there without an argument.
    """
    for parameter in parameters:
        value = _value_at(arguments, parameter.path)
        sent = decoded_value_of(headers, parameter.header)
        if value is None:
            if sent is not None:
                raise HeaderMismatchError(f"Header mismatch: {parameter.header} is sent for an argument that is not")
        elif sent is None:
            raise HeaderMismatchError(f"Header mismatch: the {parameter.header} header is required")
        elif not _is_same(sent, value, parameter.type):
            raise HeaderMismatchError(
                f"Header mismatch: {parameter.header} does not match the argument {'.'.join(parameter.path)}"
            )


def _value_at(arguments: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = arguments
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def _is_same(sent: str, value: object, kind: str) -> bool:
    match value:
        case bool():
            return sent == ("true" if value else "false")
        case str():
            return sent == value
        case int() | float() if kind == "integer":
            # Numerically, as the specification asks: 42 and 42.0 are one value. Exact, without a float between.
            match = _DECIMAL.fullmatch(sent)
            return match is not None and int(match[1]) == value
        case _:  # the argument breaks its schema, which its own check will say
            return True
