"""Parts of a result beside its text: images, audio, files, links. Source: MCP's specification, "Tool Result"."""

import base64
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import quote

Source = bytes | str | PathLike[str]
"""The bytes themselves, or the path of a file that has them."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One part of a result."""

    block: Mapping[str, Any]
    """MCP's content block."""


def text_part(text: str) -> Part:
    """A text."""
    return Part(block={"type": "text", "text": text})


def image(source: Source, *, mime_type: str | None = None) -> Part:
    """A picture. `mime_type` is found by the file's name or the picture's first bytes where it is not given.

    Raises:
        ValueError: what kind of picture it is cannot be told.
    """
    return _media("image", source, mime_type)


def audio(source: Source, *, mime_type: str | None = None) -> Part:
    """A sound; see `image`.

    Raises:
        ValueError: what kind of sound it is cannot be told.
    """
    return _media("audio", source, mime_type)


def file(source: Source, *, name: str | None = None, mime_type: str | None = None) -> Part:
    """A file, whole, within the result: as text where it is UTF-8 text, else as bytes.

    Raises:
        ValueError: bytes without a name.
    """
    data, found = _read(source)
    name = name or found
    if name is None:
        raise ValueError("name: bytes need one")
    mime_type = mime_type or mimetypes.guess_type(name)[0]
    resource: dict[str, Any] = {"uri": f"file:///{quote(name)}"}
    try:
        resource |= {"mimeType": mime_type or "text/plain", "text": data.decode()}
    except UnicodeDecodeError:
        resource |= {"mimeType": mime_type or "application/octet-stream", "blob": _base64(data)}
    return Part(block={"type": "resource", "resource": resource})


def link(uri: str, *, name: str, description: str | None = None, mime_type: str | None = None) -> Part:
    """Where something is that is too large for a result."""
    members = {"type": "resource_link", "uri": uri, "name": name, "description": description, "mimeType": mime_type}
    return Part(block={key: value for key, value in members.items() if value is not None})


_BEGINNINGS = (
    (b"\x89PNG\r\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"<svg", "image/svg+xml"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
)
_IN_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}


def _media(kind: str, source: Source, mime_type: str | None) -> Part:
    data, name = _read(source)
    mime_type = mime_type or _by_name(kind, name) or _by_beginning(kind, data)
    if mime_type is None:
        raise ValueError(f"mime_type: what kind of {kind} this is cannot be told; give it")
    return Part(block={"type": kind, "data": _base64(data), "mimeType": mime_type})


def _by_name(kind: str, name: str | None) -> str | None:
    found = None if name is None else mimetypes.guess_type(name)[0]
    return found if found is not None and found.startswith(f"{kind}/") else None


def _by_beginning(kind: str, data: bytes) -> str | None:
    found = _IN_RIFF.get(data[8:12]) if data[:4] == b"RIFF" else None
    found = found or next((mime for beginning, mime in _BEGINNINGS if data.startswith(beginning)), None)
    return found if found is not None and found.startswith(f"{kind}/") else None


def _read(source: Source) -> tuple[bytes, str | None]:
    if isinstance(source, bytes):
        return source, None
    path = Path(source)
    return path.read_bytes(), path.name


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
