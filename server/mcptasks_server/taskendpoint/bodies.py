"""What a pod sends, read with care. Pure.

JSON is kept as the text that the pod wrote where a task keeps it so: a re-written document has lost the digits of large
integers, 1.0, and the order of what it could not hold.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcptasks_crds import jsontext, limits
from mcptasks_crds.forms import check_form_schema
from mcptasks_crds.limits import stored_bytes
from mcptasks_crds.names import PROGRESS_HEADER
from mcptasks_crds.questions import DEFAULT_EXPIRY_SECONDS, MAX_EXPIRY_SECONDS
from mcptasks_server.errors import ParseError
from mcptasks_server.jsonrpc import document_of, quoted

from .parts import check_parts
from .problems import MalformedProblem, TooLargeProblem


@dataclass(frozen=True, kw_only=True)
class ProgressBody:
    """How far a tool is."""

    progress: float
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True, kw_only=True)
class QuestionBody:
    """What a tool asks."""

    message: str
    requested_schema: str
    """As JSON text."""
    model_may_answer: bool
    expiry_seconds: int


@dataclass(frozen=True, kw_only=True)
class ContentBody:
    """Parts that come before the result's own."""

    content: str
    """A JSON array as text, with at least one element."""


@dataclass(frozen=True, kw_only=True)
class ResultBody:
    """A CallToolResult."""

    text: str
    """As the tool wrote it."""
    document: Mapping[str, Any]
    """The same, read."""

    @property
    def content(self) -> list[Any]:
        """Its parts."""
        content: list[Any] = self.document["content"]
        return content

    @property
    def structured(self) -> Mapping[str, Any] | None:
        """Its structured content."""
        return self.document.get("structuredContent")

    @property
    def is_error(self) -> bool:
        """Whether it says that the tool failed."""
        return self.document.get("isError") is True

    def means_the_same(self, other: str) -> bool:
        """Whether that result, as JSON text, says the same in whatever order and spacing."""
        try:
            return _canonical(self.text) == _canonical(other)
        except jsontext.JsonTextError:
            return False


def progress_body(body: bytes) -> ProgressBody:
    """The progress that a request gives.

    Raises:
        MalformedProblem: it is none.
    """
    _, members = _members(body, known=("progress", "total", "message"))
    progress = _number(members, "progress")
    if progress is None:
        raise MalformedProblem("progress: is required", field="progress")
    total = _number(members, "total")
    if total is not None and total < progress:
        raise MalformedProblem("total: is less than progress", field="total")
    return ProgressBody(progress=progress, total=total, message=_text(members, "message"))


def progress_header(text: str | None) -> ProgressBody | None:
    """The last progress, as a result's header has it: JSON, like the body of its own request.

    Raises:
        MalformedProblem: it is none.
    """
    if text is None:
        return None
    try:
        return progress_body(text.encode("utf-8", "surrogateescape"))
    except MalformedProblem as problem:
        raise MalformedProblem(f"{PROGRESS_HEADER}: {problem.detail}", field=PROGRESS_HEADER) from problem


def question_body(body: bytes) -> QuestionBody:
    """The question that a request asks.

    Raises:
        MalformedProblem: it is none, or its schema is no form that clients can show.
        TooLargeProblem: it is longer than a task can keep.
    """
    members, sources = _object(body, known=("message", "requestedSchema", "modelMayAnswer", "expirySeconds"))
    message = _text(members, "message")
    if not message:
        raise MalformedProblem("message: a question needs words", field="message")
    schema = members.get("requestedSchema")
    if not isinstance(schema, Mapping):
        raise MalformedProblem("requestedSchema: must be an object: the schema of a form", field="requestedSchema")
    _fits("message", message, limits.QUESTION_MESSAGE_STORED_BYTES)
    _fits("requestedSchema", sources["requestedSchema"], limits.QUESTION_SCHEMA_STORED_BYTES)
    violation = check_form_schema(schema)
    if violation is not None:
        field = f"requestedSchema{violation.pointer}"
        raise MalformedProblem(f"{field}: {violation.message}", field=field)
    return QuestionBody(
        message=message,
        requested_schema=sources["requestedSchema"],
        model_may_answer=_flag(members, "modelMayAnswer"),
        expiry_seconds=_expiry(members),
    )


def content_body(body: bytes) -> ContentBody:
    """The parts that a request adds to the result. How large they may be depends on what is there already.

    Raises:
        MalformedProblem: they are none of MCP's.
    """
    members, sources = _object(body, known=("content",))
    content = members.get("content")
    if not isinstance(content, list) or not content:
        raise MalformedProblem("content: must be an array with at least one part", field="content")
    check_parts(content)
    return ContentBody(content=sources["content"])


def result_body(body: bytes) -> ResultBody:
    """The result that a request gives. How large it may be depends on the parts before it.

    Raises:
        MalformedProblem: it is not one of MCP's.
    """
    text, document = _document(body)
    if not isinstance(document, dict):
        raise MalformedProblem("The result must be a JSON object")
    if not isinstance(document.get("content"), list):
        raise MalformedProblem("content: must be an array, be it an empty one", field="content")
    for name in ("structuredContent", "_meta"):
        if not isinstance(document.get(name, {}), dict):
            raise MalformedProblem(f"{name}: must be an object", field=name)
    _flag(document, "isError")
    check_parts(document["content"])
    return ResultBody(text=text, document=document)


def question_key(text: str) -> str:
    """A question's key from a request's path.

    Raises:
        MalformedProblem: it is none.
    """
    if limits.is_question_key(text):
        return text
    raise MalformedProblem(f"key: must match {limits.QUESTION_KEY_PATTERN}", field="key")


def seconds_to_wait(text: str | None, *, most: float) -> float:
    """How long a request wants to wait.

    Raises:
        MalformedProblem: it is no such number.
    """
    try:
        seconds = 0.0 if text is None else float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= most:
        raise MalformedProblem(f"wait: must be a number of seconds from 0 to {most:g}", field="wait")
    return seconds


def _object(body: bytes, *, known: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, str]]:
    text, document = _members(body, known=known)
    return document, jsontext.members(text, is_json=True)


def _members(body: bytes, *, known: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    text, document = _document(body)
    if not isinstance(document, dict):
        raise MalformedProblem("The body must be a JSON object")
    for name in document:
        if name not in known:
            # A misspelt member would be silently without effect.
            raise MalformedProblem(f"There is no member {quoted(name)}: only {', '.join(known)}", field=name[:128])
    return text, document


def _document(body: bytes) -> tuple[str, Any]:
    try:
        return document_of(body)
    except ParseError as error:
        raise MalformedProblem(error.message) from error


def _number(members: Mapping[str, Any], name: str) -> float | None:
    value = members.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MalformedProblem(f"{name}: must be a number", field=name)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number < 0:
        raise MalformedProblem(f"{name}: must be a number from 0 to 1.7e308", field=name)
    return number


def _text(members: Mapping[str, Any], name: str) -> str | None:
    value = members.get(name)
    if value is not None and not isinstance(value, str):
        raise MalformedProblem(f"{name}: must be a string", field=name)
    return value


def _flag(members: Mapping[str, Any], name: str) -> bool:
    value = members.get(name, False)
    if not isinstance(value, bool):
        raise MalformedProblem(f"{name}: must be true or false", field=name)
    return value


def _expiry(members: Mapping[str, Any]) -> int:
    value = members.get("expirySeconds", DEFAULT_EXPIRY_SECONDS)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_EXPIRY_SECONDS:
        raise MalformedProblem(
            f"expirySeconds: must be a whole number from 1 to {MAX_EXPIRY_SECONDS}", field="expirySeconds"
        )
    return value


def _fits(field: str, text: str, limit: int) -> None:
    size = stored_bytes(text)
    if size > limit:
        raise TooLargeProblem(f"{field}: takes {size} bytes as stored; at most {limit} are kept", field=field)


def _canonical(text: str) -> str:
    return json.dumps(jsontext.parse(text), sort_keys=True)
