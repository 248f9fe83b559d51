"""Judges all that passes a proxy, whoever the client is: what real clients and the official suite are sent."""

import json
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final

from multidict import CIMultiDictProxy

from mcptasks_server.headers import PROTOCOL_VERSION

from .answers import EVENTS, JSON, check_status, check_stream_headers
from .events import EventReader
from .judges import Asked
from .stream_judge import AnswerJudge

Take = Callable[[bytes | None], None]
"""Is given each piece of an answer's body, then None, unless it was cut."""
MOST_KEPT: Final = 20


class PassingJudge:
    """Judges answers as they pass, and keeps what is wrong with them."""

    def __init__(self) -> None:
        self.judged = 0
        """Messages that were judged."""
        self.refused: list[str] = []
        """What is wrong, the first few times."""

    def __call__(
        self, request: bytes, headers: Mapping[str, str], status: int, answered: CIMultiDictProxy[str]
    ) -> Take:
        """Begin to judge the answer to a request."""
        asked = Asked.of(request, header=headers.get(PROTOCOL_VERSION))
        kind = answered.get("Content-Type", "").partition(";")[0]
        passing = {EVENTS: _Events, JSON: _Whole}.get(kind, _Nothing)
        found: list[_Passing] = []

        def take(piece: bytes | None) -> None:
            try:
                if not found:
                    found.append(passing(asked, status, answered))
                self.judged += found[0].take(piece)
            except (AssertionError, ValueError, KeyError) as error:
                self._refuse(asked, error)

        return take

    def _refuse(self, asked: Asked, error: Exception) -> None:
        if len(self.refused) < MOST_KEPT:
            why = "".join(traceback.format_exception_only(error)).strip()
            self.refused.append(f"{asked.version} {asked.method or '(no method)'}: {why}")


class _Passing:
    """One answer."""

    def __init__(self, asked: Asked, status: int, headers: CIMultiDictProxy[str]) -> None:
        self.asked, self.status, self.judge = asked, status, AnswerJudge(asked)

    def take(self, piece: bytes | None) -> int:
        """Take the next piece; how many messages it has ended."""
        raise NotImplementedError

    def _judge(self, text: str | bytes) -> int:
        message: dict[str, Any] = json.loads(text)
        self.judge.take(message)
        return 1


class _Nothing(_Passing):
    """An answer without a message."""

    def take(self, piece: bytes | None) -> int:
        return 0


class _Whole(_Passing):
    """An answer that is one JSON object."""

    def __init__(self, asked: Asked, status: int, headers: CIMultiDictProxy[str]) -> None:
        super().__init__(asked, status, headers)
        self._body = b""

    def take(self, piece: bytes | None) -> int:
        if piece is not None:
            self._body += piece
            return 0
        if self.asked.is_modern:
            check_status(self.status, json.loads(self._body))
        return self._judge(self._body)


class _Events(_Passing):
    """An answer that is an event stream."""

    def __init__(self, asked: Asked, status: int, headers: CIMultiDictProxy[str]) -> None:
        super().__init__(asked, status, headers)
        check_stream_headers(status, headers)
        self._reader = EventReader(may_resume=not asked.is_modern)

    def take(self, piece: bytes | None) -> int:
        if piece is None:
            self._reader.end()
            return 0
        return sum(self._judge(text) for text in self._reader.feed(piece))
