"""From bytes to one JSON-RPC message, and from an answer to bytes. Pure.

What a client wrote is kept as it wrote it where that matters: its id (a large integer keeps its digits) and the values
of `params`, as source text beside the parsed values.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import orjson

from mcptasks_crds import jsontext
from mcptasks_crds.jsontext import MAX_DEPTH

from .errors import InvalidRequestError, ParseError, RpcError

_LONE_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_STRINGS: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
"""Also one that never ends: else each of its quotes would be tried as a beginning."""
_NO_BRACKETS: Final = re.compile(r"[^\[\]{}]+")
_ONE_KIND: Final = str.maketrans("{}", "[]")


@dataclass(frozen=True, kw_only=True)
class Message:
    """One JSON-RPC request or notification."""

    method: str
    params: Mapping[str, Any] | None
    """The parameters; None where there are none, or `null`."""
    id: str | None
    """The id's source text; None for a notification."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Each member of `params` as the text that the client wrote."""


@dataclass(frozen=True, kw_only=True)
class Response:
    """A client's answer to a request of the server's."""

    id: str | int
    result: Mapping[str, Any] | None
    """None where the request failed at the client."""
    error: Mapping[str, Any] | None = None
    """The JSON-RPC error; exactly one of the two is there."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Each member of `result` as the text that the client wrote."""


def parse(body: bytes) -> Message | Response:
    """The message of a body.

    Raises:
        ParseError: the body is not JSON.
        IdentifiedError: it is JSON, but not one JSON-RPC message, and its `id` could be read.
        InvalidRequestError: the same, without an `id`.
    """
    text, document = document_of(body)
    if not isinstance(document, dict):
        raise InvalidRequestError("The body must be one JSON-RPC message, not a batch or a bare value")
    sources = _Sources(lambda: text)
    message_id = _id(document, sources)
    try:
        _check_envelope(document)
        if "method" not in document:
            return _response(document, sources)
    except InvalidRequestError as error:
        raise IdentifiedError(error, id=message_id) from error
    params = document.get("params")
    return Message(
        method=document["method"],
        params=params,
        id=message_id,
        sources={} if params is None else _Sources(lambda: sources["params"]),
    )


def parse_whole(body: bytes) -> Message | Response:
    """As `parse`, with all that is otherwise cut out of the text when it is first asked for: for another thread."""
    message = parse(body)
    len(message.sources)
    return message


class _Sources(Mapping[str, str]):
    """The members of an object as they were written, cut out when they are first asked for: few requests need them."""

    def __init__(self, text: Callable[[], str]) -> None:
        """`text`: gives one JSON object, of a document that was read without complaint."""
        self._text = text
        self._members: dict[str, str] | None = None

    def __getitem__(self, name: str) -> str:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, str]:
        if self._members is None:
            self._members = jsontext.members(self._text(), is_json=True)
        return self._members


class IdentifiedError(Exception):
    """A request that is wrong, yet whose id could be read: the error answer carries it."""

    def __init__(self, error: RpcError, *, id: str | None) -> None:  # noqa: A002  # JSON-RPC's own word
        super().__init__(error.message)
        self.error = error
        self.id = id


def result_response(message_id: str, result: Mapping[str, Any]) -> bytes:
    """The answer to a request. `orjson.Fragment` values stand in it as they are."""
    return orjson.dumps({"jsonrpc": "2.0", "id": orjson.Fragment(message_id), "result": result})


def error_response(message_id: str | None, error: RpcError) -> bytes:
    """The answer to a request that failed; without `id` where it could not be read, as the specification has it."""
    response: dict[str, Any] = {"jsonrpc": "2.0"}
    if message_id is not None:
        response["id"] = orjson.Fragment(message_id)
    return orjson.dumps(response | {"error": error.body()})


def quoted(text: str, *, limit: int = 128) -> str:
    """What a client sent, for an error's message: short, and in plain ASCII whatever it was."""
    return json.dumps(text if len(text) <= limit else text[: limit - 3] + "...")


def document_of(body: bytes) -> tuple[str, Any]:
    """A body's text, and the value of it: plain JSON that every reader reads alike.

    Raises:
        ParseError: it is not.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise ParseError(f"The body is not UTF-8: byte {error.start}") from error
    if _is_too_deep(text):
        raise ParseError(f"The body is nested deeper than {MAX_DEPTH} levels")
    try:
        document = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ParseError(f"The body is not JSON: {error.msg} at character {error.pos}") from error
    except ValueError as error:  # from our hooks, and from Python for an integer of more than 4,300 digits
        raise ParseError(f"The body is not JSON that we take: {str(error).partition(';')[0]}") from error
    if _LONE_SURROGATE.search(text) and not _is_unicode(document):
        raise ParseError("The body holds half of a surrogate pair, which is not text")
    return text, document


def _is_too_deep(text: str) -> bool:
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return False
    # Only the brackets outside strings are left, and each round takes the innermost pairs away: fast even for a body
    # that is made of brackets. What is left after the last round is too deep (or not JSON: the parser would say so).
    rest = _NO_BRACKETS.sub("", _STRINGS.sub("", text)).translate(_ONE_KIND)
    for _ in range(MAX_DEPTH):
        if not rest:
            return False
        rest = rest.replace("[]", "")
    return bool(rest)


def _is_unicode(document: Any) -> bool:
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Two readers of one body may each take another one of two equal keys: whoever checks must see what runs.
    found = dict(pairs)
    if len(found) != len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"the member {quoted(twice)} occurs twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)


def _id(document: Mapping[str, Any], sources: Mapping[str, str]) -> str | None:
    if "id" not in document:
        return None
    value = document["id"]
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InvalidRequestError("The id must be a string or an integer")
    # An integer is written in one way only, zero (-0) aside.
    return str(value) if isinstance(value, int) and value else sources["id"]


def _check_envelope(document: Mapping[str, Any]) -> None:
    if document.get("jsonrpc") != "2.0":
        raise InvalidRequestError('The member "jsonrpc" must be "2.0"')
    if "method" not in document and ("result" in document or "error" in document):
        return
    if not isinstance(document.get("method"), str):
        raise InvalidRequestError('The member "method" must be a string')
    if not isinstance(document.get("params"), dict | None):
        raise InvalidRequestError('The member "params" must be an object')


def _response(document: Mapping[str, Any], sources: Mapping[str, str]) -> Response:
    if "id" not in document:
        raise InvalidRequestError("A response must have the id of its request")
    if ("result" in document) == ("error" in document):
        raise InvalidRequestError('A response must have either "result" or "error"')
    result, error = document.get("result"), document.get("error")
    for name in ("result", "error"):
        if name in document and not isinstance(document[name], dict):
            raise InvalidRequestError(f'The member "{name}" must be an object')
    members = {} if result is None else jsontext.members(sources["result"], is_json=True)
    return Response(id=document["id"], result=result, error=error, sources=members)
