"""JSON Schema from Python types, without the titles that pydantic makes up. Pure."""

from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema


class _Untitled(GenerateJsonSchema):
    """A field's name again, in other letters, tells a model nothing and costs it tokens in every list."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> dict[str, Any]:
        made = super().model_schema(schema)
        if schema["cls"].model_config.get("title") is None:
            made.pop("title", None)
        return made


def schema_of(kind: Any, *, mode: Literal["validation", "serialization"] = "validation") -> dict[str, Any]:
    """The schema of a type's values as they are read (`validation`) or written (`serialization`).

    Raises:
        pydantic.errors.PydanticUserError: pydantic knows no schema for it.
    """
    return TypeAdapter(kind).json_schema(by_alias=True, mode=mode, schema_generator=_Untitled)
