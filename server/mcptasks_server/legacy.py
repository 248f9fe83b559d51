"""The legacy era (2025-11-25 and older, `initialize`): not served yet. Its door will stand here.

What a client of it gets is the specification's own answer of a modern-only server: an error that names the versions
which are served, for a legacy client shows nothing else of it to its user.
"""

from typing import NoReturn

from .era import SUPPORTED_VERSIONS
from .errors import HeaderMismatchError, UnsupportedVersionError
from .headers import PROTOCOL_VERSION, Headers, value_of
from .jsonrpc import Message


def refuse(message: Message, headers: Headers) -> NoReturn:
    """Refuse a message of the legacy era.

    Raises:
        UnsupportedVersionError: it names the version that it speaks: by its header, or in `initialize`.
        HeaderMismatchError: it names none.
    """
    requested = value_of(headers, PROTOCOL_VERSION)
    if requested is None and message.method == "initialize":
        requested = str((message.params or {}).get("protocolVersion", "unknown"))
    if requested is not None:
        raise UnsupportedVersionError(requested[:64], supported=SUPPORTED_VERSIONS)
    raise HeaderMismatchError(
        f"Header mismatch: the {PROTOCOL_VERSION} header is required. "
        f"This server speaks {', '.join(SUPPORTED_VERSIONS)}"
    )
