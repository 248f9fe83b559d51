"""What a program's end means, as the operator would see it (docs/tools.md, "Result"). Pure."""

import json
from collections.abc import Mapping
from typing import Any

from mcptasks.forms.checks import violation


def result_of_end(*, code: int, file: str, log: str, output_schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """The result of a program that gave none to the endpoint: its file, else its log."""
    said = file if file.strip() else log
    if code != 0:
        return _text(f"{said}\n\nexit code {code}".lstrip(), is_error=True)
    if output_schema is None:
        return _text(said, is_error=False)
    source = file if file.strip() else log.rstrip().rpartition("\n")[2]
    try:
        structured = json.loads(source)
    except ValueError as error:
        return _text(f"the result is no JSON: {error}\n{said}", is_error=True)
    return checked({**_text(source.strip(), is_error=False), "structuredContent": structured}, output_schema)


def checked(result: Mapping[str, Any], output_schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """The result itself, or a tool error where it breaks its schema (of which types alone are looked at here)."""
    if output_schema is None or result.get("isError") is True:
        return dict(result)
    structured = result.get("structuredContent")
    if not isinstance(structured, Mapping):
        return _text("the tool has an outputSchema, and its result has no structured content", is_error=True)
    broken = violation(output_schema, structured)
    return dict(result) if broken is None else _text(f"the result breaks the outputSchema: {broken}", is_error=True)


def _text(text: str, *, is_error: bool) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}
