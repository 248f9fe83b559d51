"""What a text means for a field."""

import json
import math
from collections.abc import Sequence
from typing import Any, Final

from .checks import field_violation
from .fields import Field, Kind

YES_OR_NO: Final = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}


class NotUnderstoodError(ValueError):
    """A text is no value of the field; the message says what would be one."""


def value_of(text: str, field: Field) -> Any:
    """The value that a text is for a field, which takes it.

    Raises:
        NotUnderstoodError: it is none, or one that the field does not take.
    """
    value = _read(text, field)
    check(value, field)
    return value


def value_of_all(texts: Sequence[str], field: Field) -> Any:
    """The same of texts that were given one by one, as several of a choice may be.

    Raises:
        NotUnderstoodError: they are none.
    """
    if len(texts) == 1:
        return value_of(texts[0], field)
    if field.kind is not Kind.CHOICES:
        raise NotUnderstoodError("is given more than once")
    values = list(texts)
    check(values, field)
    return values


def check(value: Any, field: Field) -> None:
    """That a field takes a value.

    Raises:
        NotUnderstoodError: it does not.
    """
    found = field_violation(field.schema, value)
    if found is not None:
        raise NotUnderstoodError(found)


def _read(text: str, field: Field) -> Any:
    match field.kind:
        case Kind.TEXT | Kind.CHOICE:
            return text
        case Kind.BOOLEAN:
            if text.strip().lower() not in YES_OR_NO:
                raise NotUnderstoodError("yes or no?")
            return YES_OR_NO[text.strip().lower()]
        case Kind.INTEGER | Kind.NUMBER:
            return _number(text, is_whole=field.kind is Kind.INTEGER)
        case Kind.CHOICES:
            if text in field.options:
                return [text]
            return [each.strip() for each in text.split(",") if each.strip()]
        case Kind.JSON:
            return json_value(text)


def json_value(text: str) -> Any:
    """The one value that a JSON text holds; NaN and infinities, which Python takes, are not JSON.

    Raises:
        NotUnderstoodError: it holds none.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise NotUnderstoodError(f"this is not JSON: {error}") from error


def _number(text: str, *, is_whole: bool) -> int | float:
    words = "a whole number, such as 3?" if is_whole else "a number, such as 0.5?"
    try:
        value = json_value(text.strip())
    except NotUnderstoodError as error:
        raise NotUnderstoodError(words) from error
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise NotUnderstoodError(words)
    if is_whole and isinstance(value, float):
        if not value.is_integer():
            raise NotUnderstoodError(words)
        return int(value)  # JSON knows no difference between 3 and 3.0, but programs do
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
