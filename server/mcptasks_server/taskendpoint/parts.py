"""Parts of a result (MCP's content blocks), as a pod gives them. Pure. Source: specification, "Tool Result"."""

import binascii
from base64 import b64decode
from collections.abc import Sequence
from typing import Any, Final

from mcp_types import AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent
from pydantic import BaseModel, ValidationError

from .problems import MalformedProblem

_KINDS: Final[dict[str, type[BaseModel]]] = {
    "text": TextContent,
    "image": ImageContent,
    "audio": AudioContent,
    "resource_link": ResourceLink,
    "resource": EmbeddedResource,
}


def check_parts(content: Sequence[Any]) -> None:
    """That each is a part that MCP knows.

    Raises:
        MalformedProblem: one is not; names it.
    """
    for index, part in enumerate(content):
        _check(part, at=f"content/{index}")


def _check(part: Any, *, at: str) -> None:
    if not isinstance(part, dict):
        raise MalformedProblem(f"{at}: must be an object", field=at)
    kind = part.get("type")
    model = _KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise MalformedProblem(f"{at}/type: must be one of {', '.join(_KINDS)}", field=f"{at}/type")
    try:
        model.model_validate(part)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        # A union's own step is a model's name, which is no place in the document.
        steps = [str(step) for step in first["loc"] if isinstance(step, int) or not step[:1].isupper()]
        field = "/".join((at, *steps))
        raise MalformedProblem(f"{field}: {first['msg']}", field=field) from error
    if kind in ("image", "audio"):
        _check_base64(part["data"], at=f"{at}/data")
    if kind == "resource" and "blob" in part["resource"]:  # also beside a text, where the model has not looked at it
        _check_base64(part["resource"]["blob"], at=f"{at}/resource/blob")


def _check_base64(data: Any, *, at: str) -> None:
    try:
        b64decode(data, validate=True)
    except (binascii.Error, ValueError, TypeError) as error:
        raise MalformedProblem(f"{at}: must be base64", field=at) from error
