"""The body of a pod's request, read in bounded memory and time."""

import asyncio
from typing import Final

from aiohttp import web

from .problems import MalformedProblem, TooSlowProblem, WrongFormProblem
from .toolarge import ENDS_BYTES, Sampled

MOST_READ_BYTES: Final = 64 * 1024 * 1024
"""How much of a body is gone through to see its end."""


async def long_body(request: web.Request, *, whole: int, seconds: float) -> bytes | Sampled:
    """The body; of one that has more than `whole` bytes, both its ends.

    Raises:
        WrongFormProblem: it is compressed.
        TooSlowProblem: it did not arrive in so many seconds.
        MalformedProblem: it did not arrive whole.
    """
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        # A small body may become a huge one, and would do so in this process's only loop.
        raise WrongFormProblem("The body must not be compressed: send it without Content-Encoding")
    content, size = request.content, request.content_length
    try:
        if size is not None and size <= whole and content.is_eof():  # it has come with its head, as small ones do
            return content.read_nowait()
        async with asyncio.timeout(seconds):
            return await _read(request, whole)
    except TimeoutError as error:
        raise TooSlowProblem(f"The body did not arrive within {seconds:g} s") from error
    except web.RequestPayloadError as error:
        raise MalformedProblem("The body did not arrive whole") from error


async def _read(request: web.Request, whole: int) -> bytes | Sampled:
    kept, size = bytearray(), 0
    head = b""
    async for chunk in request.content.iter_any():
        size += len(chunk)
        kept += chunk
        if size <= whole:
            continue
        head = head or bytes(kept[:ENDS_BYTES])
        del kept[:-ENDS_BYTES]
        if size > MOST_READ_BYTES:
            return Sampled(size=max(size, request.content_length or 0), head=head, tail=b"")
    return Sampled(size=size, head=head, tail=bytes(kept)) if head else bytes(kept)
