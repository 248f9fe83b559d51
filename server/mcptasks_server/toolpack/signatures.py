"""A function's parameters, as the schema of what clients send and as what it is called with."""

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError

from .context import BlockingContext, Context
from .errors import PackError
from .schemas import schema_of

Function = Callable[..., Any]
_PREFIX: Final = "p_"
"""Before each field's name in the model: a parameter may be called like one of pydantic's own methods."""


@dataclass(frozen=True, kw_only=True)
class Signature:
    """How a function is called."""

    function: Function
    is_async: bool
    context: str | None
    """The parameter that takes the context."""
    parameters: tuple[str, ...]
    """All others."""
    model: type[BaseModel]
    """What those must be."""
    returns: Any
    """The annotation of what it gives; None where there is none."""

    @property
    def schema(self) -> dict[str, Any]:
        """The parameters as the JSON Schema of an object."""
        schema = schema_of(self.model)
        schema.setdefault("properties", {})
        return schema

    def bind(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What the function is called with, its context aside.

        Raises:
            pydantic.ValidationError: a value is not what the function takes.
        """
        model = self.model.model_validate(values)
        return {name: getattr(model, _PREFIX + name) for name in self.parameters}


def signature_of(function: Function, *, where: str) -> Signature:
    """How a function is called; `where` names it in errors.

    Raises:
        PackError: it has parameters that nothing from a client could fill, or that no schema can be made of.
    """
    signature = inspect.signature(function)
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise PackError(f"{where}: an annotation cannot be resolved: {error}") from error
    is_async = inspect.iscoroutinefunction(function)
    context: str | None = None
    fields: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind not in {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}:
            raise PackError(f"{where}: the parameter {name} has no name that a client could send: no *, ** and /")
        hint = hints.get(name, Any)
        if hint in {Context, BlockingContext}:
            _check_context(hint, is_async=is_async, where=where, is_second=context is not None)
            context = name
        else:
            fields[name] = (hint, _default(parameter))
    return Signature(
        function=function,
        is_async=is_async,
        context=context,
        parameters=tuple(fields),
        model=_model(fields, where=where),
        returns=hints.get("return"),
    )


def description_of(function: Function) -> str | None:
    """What a function's docstring says of it, as it stands there, without its indentation."""
    return inspect.getdoc(function) or None


def words(error: ValidationError) -> str:
    """The first thing that is wrong with some values: the place and why, never the value."""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    where = "/".join(str(step) for step in first["loc"])
    return f"/{where}: {first['msg']}"


def field_of(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type, and what `Annotated` says beside it."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint, getattr(hint, "__metadata__", ())


def _default(parameter: inspect.Parameter) -> Any:
    default = ... if parameter.default is inspect.Parameter.empty else parameter.default
    return Field(default, alias=parameter.name)


def _check_context(kind: type, *, is_async: bool, where: str, is_second: bool) -> None:
    if is_second:
        raise PackError(f"{where}: it takes two contexts")
    wanted = Context if is_async else BlockingContext
    if kind is not wanted:
        raise PackError(f"{where}: {'an async' if is_async else 'a sync'} function takes a {wanted.__name__}")


def _model(fields: Mapping[str, Any], *, where: str) -> type[BaseModel]:
    definitions: dict[str, Any] = {_PREFIX + name: definition for name, definition in fields.items()}
    try:
        model = create_model("Arguments", __config__=ConfigDict(arbitrary_types_allowed=False), **definitions)
        schema_of(model)
    except PydanticUserError as error:
        raise PackError(f"{where}: its parameters have no JSON Schema: {str(error).splitlines()[0]}") from error
    return model
