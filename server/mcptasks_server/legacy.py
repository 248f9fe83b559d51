"""The legacy era (2025-11-25 and older, `initialize`): not served yet. Its door will stand here.

What a client of it gets is the specification's own answer of a modern-only server: an error that names the versions
which are served, for a legacy client shows nothing else of it to its user.
"""

from typing import Final, NoReturn

from .dispatch import Answer
from .era import MODERN_VERSIONS
from .errors import HeaderMismatchError, RpcError, UnsupportedVersionError
from .headers import PROTOCOL_VERSION, Headers, value_of
from .jsonrpc import Message, Response
from .outbox import Outbox


class LegacyEra:
    """Refuses whatever it is sent."""

    name: Final = "legacy"
    methods: Final = frozenset({"initialize"})

    async def answer(self, message: Message, headers: Headers, _outbox: Outbox) -> Answer:
        """Refuse a request."""
        refuse(message, headers)

    async def take(self, message: Message | Response, headers: Headers) -> None:
        """Refuse a notification or a response."""
        refuse(message, headers)

    def status_of(self, error: RpcError) -> int:
        """The error's own."""
        return error.status


def refuse(message: Message | Response, headers: Headers) -> NoReturn:
    """Refuse a message of the legacy era.

    Raises:
        UnsupportedVersionError: it names the version that it speaks: by its header, or in `initialize`.
        HeaderMismatchError: it names none.
    """
    requested = value_of(headers, PROTOCOL_VERSION)
    if requested is None and isinstance(message, Message) and message.method == "initialize":
        requested = str((message.params or {}).get("protocolVersion", "unknown"))
    if requested is not None:
        raise UnsupportedVersionError(requested[:64], supported=MODERN_VERSIONS)
    raise HeaderMismatchError(
        f"Header mismatch: the {PROTOCOL_VERSION} header is required. This server speaks {', '.join(MODERN_VERSIONS)}"
    )
