"""JSON on one line, whoever reads it: what a stream of events wants of each message. Pure."""

from typing import Final

_LINE_ENDS: Final = (
    (b"\n", b" "),
    (b"\r", b" "),
    (b"\xc2\x85", b"\\u0085"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)
"""What ends a line for some reader, and what to write in its place. The first two can only stand between a JSON text's
values (a tool's own text, as it wrote it), the others only in its strings."""


def one_line(message: bytes) -> bytes:
    """The same JSON without a character that ends a line."""
    for end, instead in _LINE_ENDS:
        if end in message:
            message = message.replace(end, instead)
    return message
