"""The few fields of an object's metadata that anyone here reads."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from .base import Resource, Timestamp


class OwnerReference(Resource):
    """Who owns an object: its owner's end is its own."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None


class Metadata(Resource):
    """An object's metadata, as the API server gave it."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    labels: Mapping[str, str] = Field(default_factory=dict)
    annotations: Mapping[str, str] = Field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()

    @model_serializer(mode="wrap")
    def _without_empty_fields(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What is empty was not given by the API server, and must not be sent to it as if it were."""
        return {name: value for name, value in serialize(self).items() if value}
