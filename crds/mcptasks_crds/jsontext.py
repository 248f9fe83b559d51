"""JSON as the text that somebody wrote.

Arguments and results are handed on as they came: a parsed and re-written document has lost the digits of large
integers, 1.0 and the order of what it could not hold. So values are cut out of their document, not re-written.
"""

import json
from json.decoder import scanstring  # type: ignore[attr-defined]  # the parser's own string scanner, undocumented but stable since 2.6
from typing import Any, Final, NoReturn

MAX_DEPTH: Final = 64
"""How deep a message or a result may be nested: beyond what people write, far below what exhausts a reader's stack."""
_WHITESPACE: Final = " \t\n\r"


class JsonTextError(ValueError):
    """The text is not the JSON that was expected; the message says where."""


def _no_constant(name: str) -> NoReturn:
    raise JsonTextError(f"{name} is not JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant)


def parse(text: str) -> Any:
    """The value of a JSON text.

    NaN and infinities, which Python's parser takes, are refused, as are deep nesting and integers of more than 4300
    digits, which it does not take.

    Raises:
        JsonTextError: the text is not JSON.
    """
    try:
        value, end = _DECODER.raw_decode(text, _skip(text, 0))
    except json.JSONDecodeError as error:
        raise JsonTextError(f"{error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise JsonTextError("nested too deeply") from error
    except JsonTextError:
        raise
    except ValueError as error:  # the interpreter's limit, which keeps the quadratic conversion of digits short
        raise JsonTextError("an integer with too many digits") from error
    if _skip(text, end) != len(text):
        raise JsonTextError(f"more text after the value at character {end}")
    return value


def members(text: str, *, is_json: bool = False) -> dict[str, str]:
    """The members of a JSON object, each value as the text that it is written as.

    `is_json`: the text was read before as JSON without complaint, and is not read a second time.

    >>> members('{"n": 1.0, "big": 123456789012345678901234567890, "o": {"a" : null}}')
    {'n': '1.0', 'big': '123456789012345678901234567890', 'o': '{"a" : null}'}

    Raises:
        JsonTextError: the text is not one JSON object, or has a member twice.
    """
    found: dict[str, str] = {}
    if not is_json:
        parse(text)  # once whole, so that what follows may trust the text's form
    at = _skip(text, 0)
    if text[at] != "{":
        raise JsonTextError("not a JSON object")
    at = _skip(text, at + 1)
    while text[at] != "}":
        name, at = scanstring(text, at + 1, True)
        start = _skip(text, _skip(text, at) + 1)
        _, at = _DECODER.raw_decode(text, start)
        if name in found:
            raise JsonTextError(f"the member {json.dumps(name)} occurs twice")
        found[name] = text[start:at]
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _WHITESPACE:
        at += 1
    return at
