"""A call's arguments as a program's own types. Pure.

Dataclasses, and a function's own parameters, are read here; a pydantic model reads itself.
"""

import dataclasses
import enum
import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import is_dataclass
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from .errors import ArgumentsError

T = TypeVar("T")
_NOT_IN_A_NAME = re.compile(r"\W")
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a string", type(None): "null"}


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments from their JSON text.

    Raises:
        ArgumentsError: it is no JSON object.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentsError(f"the arguments are no JSON: {error}") from error
    if not isinstance(found, dict):
        raise ArgumentsError("the arguments are no JSON object")
    return found


def as_model(arguments: Mapping[str, Any], model: type[T]) -> T:
    """The arguments as a dataclass or a pydantic model.

    Raises:
        ArgumentsError: they do not fit; names the argument.
    """
    read = getattr(model, "model_validate", None)  # pydantic's, without knowing pydantic
    if callable(read):
        try:
            return cast("T", read(dict(arguments)))
        except ValueError as error:  # pydantic's ValidationError is one
            raise ArgumentsError(_words_of(error)) from None  # the error itself shows values, which may be secrets
    return cast("T", _as_dataclass(arguments, model, at=""))


def is_model(hint: Any) -> bool:
    """Whether a parameter of that type stands for all arguments together."""
    return _is_mapping(hint) or (isinstance(hint, type) and (is_dataclass(hint) or hasattr(hint, "model_validate")))


def _is_mapping(hint: Any) -> bool:
    whole = get_origin(hint) or hint
    return isinstance(whole, type) and issubclass(whole, Mapping)


def arguments_for(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What to call a function with: each argument as its type hint says.

    A function with one parameter, whose type is a mapping, a dataclass or a pydantic model, gets all of them as that.

    Raises:
        ArgumentsError: they do not fit; names the argument.
    """
    parameters = inspect.signature(function).parameters
    hints = _hints(function)
    if len(parameters) == 1:
        (name,) = parameters
        hint: Any = hints.get(name)
        if is_model(hint):
            return {name: dict(arguments) if _is_mapping(hint) else as_model(arguments, hint)}
    found: dict[str, Any] = {}
    for name, parameter in parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            found |= {key: value for key, value in arguments.items() if key not in found}
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            key = _key_for(name, arguments)
            if key is not None:
                found[name] = convert(arguments[key], hints.get(name, Any), at=f"/{key}")
            elif parameter.default is parameter.empty:
                raise ArgumentsError(f"/{name}: is required")
    return found


def convert(value: Any, hint: Any, *, at: str) -> Any:  # noqa: PLR0911  # a table of kinds, read from the top
    """A JSON value as a type hint says. A hint that is not known here lets each value pass.

    Raises:
        ArgumentsError: it does not fit. `at` is its JSON pointer.

    >>> convert(3.0, int, at="/n"), convert(["a"], list[str], at="/l"), convert(None, int | None, at="/o")
    (3, ['a'], None)
    """
    origin = get_origin(hint)
    if origin is typing.Annotated:
        return convert(value, get_args(hint)[0], at=at)
    if origin in (Union, types.UnionType):
        return _convert_to_one_of(value, get_args(hint), at=at)
    if origin is typing.Literal:
        return _one_of(value, get_args(hint), at=at)
    if hint is None or hint in _WORDS:
        return _convert_scalar(value, type(None) if hint is None else hint, at=at)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(_one_of(value, [each.value for each in hint], at=at))
    if is_dataclass(hint) or hasattr(hint, "model_validate"):
        return _convert_object(value, hint, at=at)
    return _convert_container(value, origin or hint, get_args(hint), at=at)


def _convert_object(value: Any, hint: Any, *, at: str) -> Any:
    if not isinstance(value, Mapping):
        raise ArgumentsError(f"{at}: must be an object")
    return as_model(value, hint) if hasattr(hint, "model_validate") else _as_dataclass(value, hint, at=at)


def _words_of(error: ValueError) -> str:
    """A ValidationError of pydantic's, without the values."""
    each = getattr(error, "errors", None)
    if not callable(each):
        return type(error).__name__
    found = each(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"/{'/'.join(map(str, one['loc']))}: {one['msg']}" for one in found)


def _convert_scalar(value: Any, hint: Any, *, at: str) -> Any:
    if hint in (int, float):
        if isinstance(value, int | float) and not isinstance(value, bool) and (hint is float or value == value // 1):
            with suppress(OverflowError):  # an integer beyond what a float can hold
                return hint(value)  # JSON knows no difference between 3 and 3.0
    elif isinstance(value, hint):
        return value
    raise ArgumentsError(f"{at}: must be {_WORDS[hint]}")


def _convert_to_one_of(value: Any, hints: Sequence[Any], *, at: str) -> Any:
    refusals = []
    for hint in hints:
        try:
            return convert(value, hint, at=at)
        except ArgumentsError as error:
            refusals.append(str(error).removeprefix(f"{at}: "))
    raise ArgumentsError(f"{at}: {', or '.join(refusals)}")


def _one_of(value: Any, allowed: Sequence[Any], *, at: str) -> Any:
    for each in allowed:
        if each == value and type(each) is type(value):
            return each
    raise ArgumentsError(f"{at}: must be one of {', '.join(json.dumps(each) for each in allowed)}")


def _convert_container(value: Any, kind: Any, inner: Sequence[Any], *, at: str) -> Any:
    if not isinstance(kind, type):
        return value
    if issubclass(kind, list | tuple | set | frozenset) or kind is Sequence:
        if not isinstance(value, list):
            raise ArgumentsError(f"{at}: must be an array")
        hint = inner[0] if inner else Any
        items = [convert(each, hint, at=f"{at}/{index}") for index, each in enumerate(value)]
        return items if kind is Sequence else cast("Any", kind)(items)
    if issubclass(kind, Mapping):
        if not isinstance(value, Mapping):
            raise ArgumentsError(f"{at}: must be an object")
        hint = inner[1] if len(inner) == 2 else Any
        return {name: convert(each, hint, at=f"{at}/{name}") for name, each in value.items()}
    return value


def _as_dataclass(arguments: Mapping[str, Any], model: Any, *, at: str) -> Any:
    if not is_dataclass(model):
        raise TypeError(f"{model!r} is neither a dataclass nor a pydantic model")
    hints = _hints(model)
    found = {}
    for field in dataclasses.fields(model):
        key = _key_for(field.name, arguments)
        if not field.init:
            continue
        if key is not None:
            found[field.name] = convert(arguments[key], hints[field.name], at=f"{at}/{key}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise ArgumentsError(f"{at}/{field.name}: is required")
    return cast("Any", model)(**found)


def _key_for(name: str, arguments: Mapping[str, Any]) -> str | None:
    """The argument for a name of the program's: the same, or one like `dry-run` for `dry_run`."""
    if name in arguments:
        return name
    return next((key for key in arguments if _NOT_IN_A_NAME.sub("_", key) == name), None)


def _hints(of: Any) -> dict[str, Any]:
    return get_type_hints(of, include_extras=True)
