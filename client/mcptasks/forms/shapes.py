"""Whether a form is one that can be shown at all: a server may send anything. Pure."""

from collections.abc import Callable, Mapping
from typing import Any, Final

_Check = tuple[Callable[[Any], bool], str]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


_OBJECT: Final[_Check] = (lambda value: isinstance(value, Mapping), "an object")
_LIST: Final[_Check] = (lambda value: isinstance(value, list | tuple), "a list")
_NUMBER: Final[_Check] = (_is_number, "a number")
_NAMES: Final[_Check] = (_is_names, "a list of names")
_OF_FORM: Final[Mapping[str, _Check]] = {"properties": _OBJECT, "required": _NAMES}
_OF_FIELD: Final[Mapping[str, _Check]] = {
    "type": (lambda value: isinstance(value, str) or _is_names(value), "a name, or a list of names"),
    "items": _OBJECT,
    **dict.fromkeys(("enum", "oneOf", "anyOf"), _LIST),
    **dict.fromkeys(("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"), _NUMBER),
}


def fault(form: Any) -> str | None:
    """What is wrong with a form, and where in it; None if it can be shown.

    >>> fault({"properties": {"n": {"type": "integer", "minimum": "1"}}})
    '/properties/n/minimum: must be a number'
    >>> fault({"type": "object", "required": 5}), fault({"properties": {"n": {"type": "integer"}}})
    ('/required: must be a list of names', None)
    """
    if not isinstance(form, Mapping):
        return "must be an object"
    found = _fault(form, _OF_FORM, at="")
    for name, field in () if found else form.get("properties", {}).items():
        at = f"/properties/{name}"
        found = _fault(field, _OF_FIELD, at=at) if isinstance(field, Mapping) else f"{at}: must be an object"
        if found is not None:
            return found
    return found


def _fault(schema: Mapping[str, Any], checks: Mapping[str, _Check], *, at: str) -> str | None:
    for name, (is_one, words) in checks.items():
        if name in schema and not is_one(schema[name]):
            return f"{at}/{name}: must be {words}"
    return None
