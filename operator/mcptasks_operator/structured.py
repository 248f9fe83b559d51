"""A tool's structured output, held against its output schema."""

import json
import re
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from mcptasks_crds.jsontext import MAX_DEPTH, JsonTextError, parse
from mcptasks_crds.schemas import Schema, SchemaError

MAX_DIGITS: Final = 4300
"""Of an integer: what Python reads."""
_TOKENS: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)
"""Strings, also one that does not end (so that no text is gone over twice), and brackets outside of them."""
_STEPS: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """Why a text is not the structured output that the schema asks for."""

    why: str


def check(text: str, schema: str) -> Rejected | None:
    """Hold a text against an output schema, both JSON as text; None if it conforms.

    It must be an object: MCP's structured content is one.
    """
    try:
        value = _read(text)
    except JsonTextError as error:
        return Rejected(why=str(error))
    if not isinstance(value, dict):
        return Rejected(why=f"it must be a JSON object and is {_kind(value)}")
    try:
        violation = Schema(parse(schema)).violation(value)
    except (JsonTextError, SchemaError, TypeError) as error:
        return Rejected(why=f"the outputSchema itself is not valid: {error}")
    return None if violation is None else Rejected(why=str(violation))


def last_line(log: str) -> str:
    """The last line of a log that is not empty: what a tool without `$MCPTASK_RESULT` may give."""
    return log.rstrip().rpartition("\n")[2].strip()  # not splitlines(): a JSON string may hold U+2028 as it is


def _read(text: str) -> Any:
    """The value of a JSON text that each client can read.

    Raises:
        JsonTextError: it is none; the message is a sentence about it.
    """
    if _is_too_deep(text):
        raise JsonTextError(f"it is nested deeper than {MAX_DEPTH} levels")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise JsonTextError(f"it is not JSON: {error.msg} at character {error.pos}") from error
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise JsonTextError("it holds half of a surrogate pair, which is not text") from error
    return value


def _is_too_deep(text: str) -> bool:
    depth = 0
    for token in _TOKENS.finditer(text):
        depth += _STEPS.get(token[0], 0)
        if depth > MAX_DEPTH:
            return True
    return False


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise JsonTextError(f"it has the member {json.dumps(name)} twice")
        found[name] = value
    return found


def _integer(digits: str) -> int:
    size = len(digits.lstrip("-"))
    if size > MAX_DIGITS:
        raise JsonTextError(f"it holds an integer of {size} digits: more than {MAX_DIGITS}")
    return int(digits)


def _no_constant(name: str) -> NoReturn:
    raise JsonTextError(f"it is not JSON: {name} is not JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant, parse_int=_integer, object_pairs_hook=_unique)


def _kind(value: object) -> str:
    words = {list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return words.get(type(value), json.dumps(value))
