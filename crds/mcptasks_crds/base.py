"""What all models of the custom resources share."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, PlainSerializer
from pydantic.alias_generators import to_camel

from .times import format_time

Json = dict[str, Any]
"""An object as the API server has it."""


def enforced(**keywords: JsonValue) -> Any:
    """Keywords for a field's schema in the CRD: the API server enforces them, the model does not.

    So an object that some other version's rules allowed can still be read, and a decision about a task cannot fail on a
    text's length: whoever writes keeps to `limits`, and the API server has the last word.
    """
    return Field(json_schema_extra=keywords)


Timestamp = Annotated[datetime, PlainSerializer(format_time, return_type=str), enforced(maxLength=40)]
"""A moment, as RFC 3339 in the object."""


class Resource(BaseModel):
    """A frozen value that reads and writes an object's own camelCase names.

    Unknown fields are ignored: an object may have been written by a newer version.
    """

    model_config = ConfigDict(
        frozen=True, populate_by_name=True, alias_generator=to_camel, extra="ignore", use_attribute_docstrings=True
    )

    def manifest(self) -> dict[str, object]:
        """The value as the API server has it: fields that are not set are absent."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
