"""What a pod sends, as the task endpoint would take or refuse it. Pure."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

MOST_BYTES: Final = 1024 * 1024
"""A result with the parts before it, and more than the endpoint takes of anything else."""
PARTS: Final = ("text", "image", "audio", "resource_link", "resource")


@dataclass(frozen=True, kw_only=True)
class Reply:
    """An answer of the endpoint."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


class ProblemError(Exception):
    """A request that is not done (RFC 9457)."""

    def __init__(self, status: HTTPStatus, detail: str, *, field: str | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.field = status, detail, field

    def reply(self) -> Reply:
        """The problem document."""
        members = {
            "type": "about:blank",
            "title": self.status.phrase,
            "status": int(self.status),
            "detail": self.detail,
            "field": self.field,
        }
        body = json.dumps({name: value for name, value in members.items() if value is not None}).encode()
        return Reply(status=int(self.status), body=body, content_type="application/problem+json")


def reply(status: HTTPStatus, document: Any) -> Reply:
    """An answer with a JSON document."""
    return Reply(status=int(status), body=json.dumps(document, ensure_ascii=False).encode())


def object_of(body: bytes, *, known: tuple[str, ...] | None = None) -> dict[str, Any]:
    """The JSON object of a request; with only those members, where they are named."""
    check_size("the body", len(body))
    try:
        document = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise _malformed(f"the body is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise _malformed("the body must be a JSON object")
    for name in document:
        if known is not None and name not in known:
            raise _malformed(f"there is no member {name!r}: only {', '.join(known)}", field=name)
    return document


def check_size(what: str, size: int, *, before: int = 0) -> None:
    """That so many bytes are kept, and those of the parts before it."""
    if before + size > MOST_BYTES:
        takes = f"with the parts before it, it takes {before + size}" if before else f"it takes {size}"
        detail = f"{what}: {takes} bytes; at most {MOST_BYTES} are kept"
        raise ProblemError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)


def progress_of(body: bytes, *, at: str | None = None) -> dict[str, Any]:
    """The progress that a request gives; `at`: the header that has it."""
    try:
        members = object_of(body, known=("progress", "total", "message"))
        _check_progress(members)
    except ProblemError as problem:
        if at is None:
            raise
        raise _malformed(f"{at}: {problem.detail}", field=at) from problem
    return members


def _check_progress(members: Mapping[str, Any]) -> None:
    for name in ("progress", "total"):
        value = members.get(name)
        if value is None and name == "total":
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
            raise _malformed(f"{name}: must be a number from 0 on", field=name)
    if members.get("total") is not None and members["total"] < members["progress"]:
        raise _malformed("total: is less than progress", field="total")
    _check_text(members, "message", required=False)


def check_question(members: Mapping[str, Any]) -> None:
    """That it is a question, its form roughly."""
    _check_text(members, "message", required=True)
    form = members.get("requestedSchema")
    if not isinstance(form, Mapping) or form.get("type") != "object" or not isinstance(form.get("properties"), dict):
        raise _malformed("requestedSchema: must be a form: an object with properties", field="requestedSchema")
    for name in form.get("required", ()):
        if name not in form["properties"]:
            raise _malformed(f"{name} is not one of the properties", field="requestedSchema/required")


def check_content(members: Mapping[str, Any], *, may_be_empty: bool) -> None:
    """That it has parts that MCP knows."""
    content = members.get("content")
    if not isinstance(content, list) or not (content or may_be_empty):
        raise _malformed("content: must be an array" + ("" if may_be_empty else ", not an empty one"), field="content")
    for index, part in enumerate(content):
        if not isinstance(part, dict) or part.get("type") not in PARTS:
            raise _malformed(f"content/{index}/type: must be one of {', '.join(PARTS)}", field=f"content/{index}/type")


def check_result(result: Mapping[str, Any]) -> None:
    """That it is a CallToolResult."""
    check_content(result, may_be_empty=True)
    if not isinstance(result.get("structuredContent", {}), dict):
        raise _malformed("structuredContent: must be an object", field="structuredContent")
    if not isinstance(result.get("isError", False), bool):
        raise _malformed("isError: must be true or false", field="isError")


def _check_text(members: Mapping[str, Any], name: str, *, required: bool) -> None:
    value = members.get(name)
    if (value is not None or required) and not isinstance(value, str):
        raise _malformed(f"{name}: must be a string", field=name)


def _malformed(detail: str, *, field: str | None = None) -> ProblemError:
    return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, detail, field=field)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
