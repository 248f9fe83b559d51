"""What a function gives, as MCP's results have it."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args, get_origin

import orjson
from mcp_types import CallToolResult, ContentBlock, TextContent
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError, to_json

from mcptasks_crds.schemas import Schema, SchemaError
from mcptasks_server.exchange import Result

from .errors import PackError
from .schemas import schema_of

_BLOCKS: Final = get_args(ContentBlock)


class OutputError(ValueError):
    """A function gave what its output schema does not allow, or what no JSON can say: its author's fault."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """What a tool says its results look like."""

    schema: Mapping[str, Any]
    compiled: Schema
    adapter: TypeAdapter[Any]


def output_of(returns: Any, explicit: Mapping[str, Any] | None, *, where: str) -> Output | None:
    """The output schema of a function: the one that is given, else its return type's if that is an object of its own.

    Raises:
        PackError: the schema is not valid.
    """
    if explicit is None and not _is_structured(returns):
        return None
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(returns if explicit is None else Any)
        schema = schema_of(returns, mode="serialization") if explicit is None else explicit
        # A recursive type's schema is a reference; clients of the legacy era look for the word itself.
        schema = {"type": "object", **schema}
        return Output(schema=schema, compiled=Schema(schema), adapter=adapter)
    except (PydanticUserError, SchemaError) as error:
        raise PackError(f"{where}: the output schema is not valid: {str(error).splitlines()[0]}") from error


def call_result(value: Any, output: Output | None) -> Result:
    """What a function gave, as the members of a CallToolResult, each as JSON.

    Raises:
        OutputError: it is not what the output schema says, or holds what JSON cannot say.
    """
    try:
        members = _members(value, output)
        return {
            name: each if isinstance(each, bool) else orjson.Fragment(as_json(each)) for name, each in members.items()
        }
    except PydanticSerializationError as error:
        raise OutputError("the result holds what JSON cannot say") from error


def _members(value: Any, output: Output | None) -> dict[str, Any]:
    if isinstance(value, CallToolResult):
        result = dumped(value)
        result.pop("resultType", None)
        if output is not None and value.is_error is not True:
            _check(result.get("structuredContent"), output)
        return result
    if output is not None:
        structured = _plain(output.adapter, value)
        _check(structured, output)
        return {"content": [text(as_json(structured))], "structuredContent": structured}
    return {"content": blocks(value)}


def blocks(value: Any) -> list[dict[str, Any]]:
    """Anything as content blocks: blocks as they are, texts as text, all else as its JSON."""
    match value:
        case None:
            return []
        case str():
            return [text(value)]
        case BaseModel() if isinstance(value, _BLOCKS):
            return [dumped(value)]
        case list() | tuple() if value and all(isinstance(each, (str, *_BLOCKS)) for each in value):
            return [block for each in value for block in blocks(each)]
        case _:
            return [text(as_json(value))]


def text(words: str) -> dict[str, Any]:
    """A block of text. Half a surrogate pair, which no message can hold, becomes a replacement character."""
    return dumped(TextContent(text=words.encode("utf-16", "surrogatepass").decode("utf-16", "replace")))


def dumped(model: BaseModel) -> dict[str, Any]:
    """One of MCP's own models, as it stands on the wire."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def listed(models: Iterable[BaseModel] | Sequence[Mapping[str, Any]]) -> list[Any]:
    """Several of them."""
    return [dumped(model) if isinstance(model, BaseModel) else dict(model) for model in models]


def _is_structured(returns: Any) -> bool:
    kind = get_origin(returns) or returns
    if kind in {dict, Mapping}:
        return True
    if not isinstance(kind, type) or kind.__module__.partition(".")[0] == "mcp_types":
        return False
    return issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind) or hasattr(kind, "__required_keys__")


def _plain(adapter: TypeAdapter[Any], value: Any) -> Any:
    try:
        valid = adapter.validate_python(value)
    except ValidationError as error:
        raise OutputError("the result is not what the function's return type says") from error
    return adapter.dump_python(valid, mode="json", by_alias=True)


def _check(structured: Any, output: Output) -> None:
    violation = output.compiled.violation(structured)
    if violation is not None:
        # Its message may quote the value.
        raise OutputError(f"the result breaks the output schema at {violation.pointer or 'its top'}")


def as_json(value: Any) -> str:
    """Anything that pydantic can write, as JSON: numbers that JSON does not have (not a number, infinity) as null.

    Raises:
        PydanticSerializationError: it cannot.
    """
    return to_json(value, by_alias=True, inf_nan_mode="null").decode()
