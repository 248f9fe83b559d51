"""Pydantic models as structural schemas: the subset of JSON Schema that a CustomResourceDefinition may hold.

What pydantic writes and Kubernetes refuses, or reads otherwise, is turned into what means the same there: optional
fields are absent and not null, a constant is an enumeration of one, an exclusive bound is a flag beside the bound,
references stand where they point. What has no such form (unions, recursion) is an error here, not at the API server.
"""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, NoDefault
from pydantic_core import core_schema

from .base import Json

_KEPT: Final = frozenset(
    {
        "default", "description", "enum", "format", "items", "maxItems", "maxLength", "maxProperties", "maximum",
        "minItems", "minLength", "minProperties", "minimum", "multipleOf", "nullable", "pattern", "properties",
        "required", "type", "uniqueItems",
    }
)  # fmt: skip
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"


class StructuralError(ValueError):
    """A model has no structural schema; the message says where and why."""


class _Generator(GenerateJsonSchema):
    """Pydantic's own generator, without null and with the defaults that a factory makes."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def get_default_value(self, schema: core_schema.WithDefaultSchema) -> Any:
        factory = schema.get("default_factory")
        if factory is not None and not schema.get("default_factory_takes_data", False):
            made = factory()  # type: ignore[call-arg]  # the other kind of factory was ruled out
            is_model = isinstance(made, BaseModel)
            return made.model_dump(mode="json", by_alias=True, exclude_unset=True) if is_model else made
        value = schema.get("default", NoDefault)
        return NoDefault if value is None else value

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def structural_schema(model: type[BaseModel], *, defaults: bool) -> Json:
    """The schema of a model's objects, by their own field names.

    Without `defaults` the API server fills nothing in: right for a status, where what nobody wrote is not so.

    Raises:
        StructuralError: a field's type has no structural form.
    """
    document = model.model_json_schema(by_alias=True, schema_generator=_Generator, mode="validation")
    converter = _Converter(definitions=document.pop("$defs", {}), defaults=defaults)
    return converter.convert(document, at=model.__name__, within=())


class _Converter:
    """Turns one JSON Schema document, as pydantic writes it, into its structural form."""

    def __init__(self, *, definitions: Mapping[str, Json], defaults: bool) -> None:
        self._definitions = definitions
        self._defaults = defaults

    def convert(self, schema: Json, *, at: str, within: tuple[str, ...]) -> Json:
        schema, within = self._resolve(schema, at=at, within=within)
        result: Json = {}
        for keyword, value in schema.items():
            result |= self._keyword(keyword, value, at=at, within=within)
        if "type" not in result and not result.get(_PRESERVE):
            raise StructuralError(f"{at}: any value at all has no structural form")
        if result.get("type") == "integer":
            result.setdefault("format", "int64")
        return result

    def _keyword(self, keyword: str, value: Any, *, at: str, within: tuple[str, ...]) -> Json:
        """What one keyword becomes."""
        becomes: Json = {keyword: value}
        match keyword:
            case "properties":
                becomes = {
                    keyword: {name: self.convert(value[name], at=f"{at}.{name}", within=within) for name in value}
                }
            case "items":
                becomes = {keyword: self.convert(value, at=f"{at}[]", within=within)}
            case "additionalProperties":
                becomes = self._additional(value, at=at, within=within)
            case "description":
                becomes = {keyword: " ".join(value.split())}
            case "const":
                becomes = {"enum": [value]}
            case "exclusiveMinimum" | "exclusiveMaximum":
                becomes = {keyword.removeprefix("exclusive").lower(): value, keyword: True}
            case "default" if not self._defaults or value in ({}, [], ()):
                becomes = {}  # an empty default would only be noise in every object
            case "title":
                becomes = {}
            case _ if keyword not in _KEPT and not keyword.startswith("x-kubernetes-"):
                raise StructuralError(f"{at}: {keyword} has no structural form")
        return becomes

    def _resolve(self, schema: Json, *, at: str, within: tuple[str, ...]) -> tuple[Json, tuple[str, ...]]:
        """The schema with what it refers to in its place; what stands beside the reference wins."""
        reference = schema.get("$ref")
        if reference is None:
            return schema, within
        name = reference.removeprefix("#/$defs/")
        if name in within:
            raise StructuralError(f"{at}: {name} contains itself")
        beside = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
        return {**self._definitions[name], **beside}, (*within, name)

    def _additional(self, value: Json | bool, *, at: str, within: tuple[str, ...]) -> Json:
        if value is True or value == {}:
            return {_PRESERVE: True}
        if value is False:
            return {}  # the API server prunes what it does not know, and says so where it is asked to be strict
        return {"additionalProperties": self.convert(value, at=f"{at}{{}}", within=within)}
