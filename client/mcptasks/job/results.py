"""What a tool gives, as MCP's CallToolResult. Pure."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from .errors import JobError
from .parts import Part, text_part

MOST_BYTES: Final = 1024 * 1024
"""What the task endpoint takes of a result, parts that were added before included."""
TWIN_TOO_LARGE: Final = "(too large to be repeated as text: see the structured content)"
_FRAME_BYTES: Final = 1024
"""Of a result, beside its structured content and that content's text."""


def result_of(
    text: str | None = None, *, structured: Any = None, parts: Sequence[Part] = (), is_error: bool = False
) -> dict[str, Any]:
    """A result of these parts.

    Structured content without a text has its JSON as one, for clients that know no structured content; unless both of
    them would be too large together.

    Raises:
        JobError: the structured content is no object, or holds what JSON cannot.

    >>> result_of("done")
    {'content': [{'type': 'text', 'text': 'done'}], 'isError': False}
    """
    blocks = [dict(part.block) for part in parts]
    if structured is None:
        first = [] if text is None else [dict(text_part(text).block)]
        return {"content": [*first, *blocks], "isError": is_error}
    content = plain(structured)
    if not isinstance(content, Mapping):
        raise JobError(f"structured: must be an object (a mapping, dataclass or model) and is a {_kind(structured)}")
    written = _json(content)
    said = text_part(_twin(written) if text is None else text)
    return {"content": [dict(said.block), *blocks], "structuredContent": content, "isError": is_error}


def result_from(value: Any) -> dict[str, Any]:
    """A result of what a function returned.

    A text or a part is itself; None is nothing; a mapping, dataclass or model is structured content; a list that has
    parts in it is these, with texts between; anything else is its JSON as text.

    Raises:
        JobError: it holds what JSON cannot.
    """
    if value is None:
        return result_of()
    if isinstance(value, str):
        return result_of(value)
    if isinstance(value, Part):
        return result_of(parts=[value])
    if isinstance(value, list | tuple) and any(isinstance(each, Part) for each in value):
        return result_of(parts=[each if isinstance(each, Part) else text_part(_as_text(each)) for each in value])
    made = plain(value)
    return result_of(structured=made) if isinstance(made, Mapping) else result_of(_json(made))


def plain(value: Any) -> Any:
    """A dataclass or model as the plain mapping that JSON takes; other values as they are."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    dump = getattr(value, "model_dump", None)  # pydantic's, without knowing pydantic
    return dump(mode="json", by_alias=True) if callable(dump) and not isinstance(value, type) else value


def _twin(structured: str) -> str:
    """The text beside structured content, which is given as JSON text."""
    size = sum(len(each.encode("utf-8", "replace")) for each in (structured, _json(structured)))
    return structured if size + _FRAME_BYTES <= MOST_BYTES else TWIN_TOO_LARGE


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else _json(plain(value))


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise JobError(f"the result cannot be written as JSON: {error}") from error


def _kind(value: Any) -> str:
    return type(value).__name__
