"""An answer as a stream of server-sent events, once there is something to tell before it.

Nothing is made, and no task started, for a request that is answered at once. Source: specification 2026-07-28,
Streamable HTTP, "Receiving Messages"; HTML, "Server-sent events".
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Final

from aiohttp import web

from .lines import one_line
from .outbox import Outbox

EVENT_STREAM: Final = "text/event-stream"
SILENCE_SECONDS: Final = 15.0
"""After this long without an event a comment is sent, so that nothing on the way takes the stream for dead."""

_REFUSED: Final = re.compile(r"q\s*=\s*0(\.0*)?")
_HEADERS: Final = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
"""No proxy may keep, change or hold back what is streamed."""
_BEGUN: Final = b": begun\n\n"
_ALIVE: Final = b": alive\n\n"
_EVENT: Final = b"event: message\ndata: "
_EVENT_END: Final = b"\n\n"


def event(*pieces: bytes) -> bytes:
    """One message as one event. Its pieces make one line (see `lines.one_line`)."""
    return b"".join((_EVENT, *pieces, _EVENT_END))


def takes_streams(accept: str) -> bool:
    """Whether a client that sends this `Accept` header says that it takes event streams. A wildcard does not say so."""
    for each in accept.lower().split(","):
        kind, *parameters = (part.strip() for part in each.split(";"))
        if kind == EVENT_STREAM:
            return not any(_REFUSED.fullmatch(parameter) for parameter in parameters)
    return False


class EventStream:
    """The stream that the answer to one HTTP request becomes, should its outbox begin."""

    def __init__(
        self,
        request: web.Request,
        *,
        headers: Mapping[str, str],
        on_work: Callable[[], None] = lambda: None,
        on_open: Callable[[], None] = lambda: None,
        on_close: Callable[[], None] = lambda: None,
        on_replaced: Callable[[], None] = lambda: None,
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        """`headers`: beside the stream's own. `on_work` is called where work begins that may take long, whether its
        client takes streams or not."""
        self._request, self._headers, self._silence = request, headers, silence_seconds
        self._on_work, self._on_open, self._on_close = on_work, on_open, on_close
        self._response: web.StreamResponse | None = None
        self._pump: asyncio.Task[None] | None = None
        self._is_closed = False
        self._written_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self.outbox = Outbox(
            is_heard=takes_streams(request.headers.get("Accept", "")), on_begin=self._begin, on_replaced=on_replaced
        )
        """Where what comes before the answer is put."""

    @property
    def has_begun(self) -> bool:
        """Whether the answer must come as an event."""
        return self._pump is not None

    async def finish(self, answer: bytes) -> web.StreamResponse:
        """Send what still waits, then the answer as the last event; end the stream. An empty answer is none."""
        assert self._pump is not None
        self.outbox.close()
        await self._pump
        assert self._response is not None
        try:
            if answer:
                await self._response.write(event(one_line(answer)))
            await self._response.write_eof()
        except ConnectionError:
            pass  # the client has gone, which the connection's own end tells
        return self._response

    def close(self) -> None:
        """Send nothing more, whatever waits: the client has gone, or has its answer."""
        self.outbox.close()
        if self._pump is not None and not self._is_closed:
            self._is_closed = True
            self._pump.cancel()
            if self._timer is not None:
                self._timer.cancel()
            self._on_close()

    def _begin(self) -> None:
        self._on_work()
        if self.outbox.is_heard:
            self._on_open()
            self._response = web.StreamResponse(headers={**self._headers, **_HEADERS})
            self._response.content_type = EVENT_STREAM
            self._pump = asyncio.create_task(self._write(self._response))

    async def _write(self, response: web.StreamResponse) -> None:
        loop = asyncio.get_running_loop()
        try:
            await response.prepare(self._request)
            await response.write(_BEGUN)
            self._written_at = loop.time()
            self._watch_silence()
            while (message := await self.outbox.next()) is not None:
                await response.write(event(*message) if message else _ALIVE)
                self._written_at = loop.time()
        except ConnectionError:
            # The client has gone: whoever makes its answer is cancelled by its connection's end.
            self.outbox.close()

    def _watch_silence(self) -> None:
        """Have a comment sent after each silence. One timer a stream, which no message sets anew: that would cost more
        than the message."""
        loop = asyncio.get_running_loop()
        due = self._written_at + self._silence
        if loop.time() >= due:
            self.outbox.beat()
            due = loop.time() + self._silence
        self._timer = loop.call_at(due, self._watch_silence)
