"""A pack's function as a resource: how it is listed, and what it gives. Source: both eras' "Resources"."""

import base64
from collections.abc import Iterator
from typing import Any

from mcp_types import BlobResourceContents, Resource, ResourceTemplate, TextResourceContents

from mcptasks_server.exchange import Result

from .entries import ResourceEntry, TemplateEntry
from .results import as_json, dumped


def listed_resource(entry: ResourceEntry) -> Result:
    """Its entry in `resources/list`."""
    resource = Resource(
        uri=entry.uri,
        name=entry.name,
        title=entry.title,
        description=entry.description,
        mime_type=entry.mime_type,
        icons=list(entry.icons) or None,
    )
    return dumped(resource)


def listed_template(entry: TemplateEntry) -> Result:
    """Its entry in `resources/templates/list`."""
    template = ResourceTemplate(
        uri_template=entry.template.text,
        name=entry.name,
        title=entry.title,
        description=entry.description,
        mime_type=entry.mime_type,
        icons=list(entry.icons) or None,
    )
    return dumped(template)


def contents_of(value: Any, *, uri: str, mime_type: str | None) -> list[Result]:
    """What a resource's function gave, as MCP's contents; `uri` and `mime_type` where it does not say them itself."""
    return list(_contents(value, uri=uri, mime_type=mime_type))


def _contents(value: Any, *, uri: str, mime_type: str | None) -> Iterator[Result]:
    match value:
        case TextResourceContents() | BlobResourceContents():
            yield dumped(value)
        case str():
            yield dumped(TextResourceContents(uri=uri, mime_type=mime_type or "text/plain", text=value))
        case bytes():
            blob = base64.b64encode(value).decode()
            yield dumped(BlobResourceContents(uri=uri, mime_type=mime_type or "application/octet-stream", blob=blob))
        case list() | tuple() if value and all(_is_content(each) for each in value):
            for each in value:
                yield from _contents(each, uri=uri, mime_type=mime_type)
        case _:
            text = as_json(value)
            yield dumped(TextResourceContents(uri=uri, mime_type=mime_type or "application/json", text=text))


def _is_content(value: object) -> bool:
    return isinstance(value, TextResourceContents | BlobResourceContents)
