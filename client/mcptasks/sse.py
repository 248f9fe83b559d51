"""Server-sent events, as far as MCP uses them: the data of each event. Pure.

Spec: WHATWG HTML, "Server-sent events", "Interpreting an event stream".
"""

import codecs


class EventDecoder:
    """Takes the stream's bytes in whatever pieces they come and gives the data of the events that they end."""

    def __init__(self) -> None:
        self._text = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._line = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[str]:
        """The data of the events that end within this piece."""
        self._line += self._text.decode(piece)
        events: list[str] = []
        # A lone CR may be the first half of CR LF: its line ends when the next character is known.
        while (end := self._line_end()) is not None:
            line, self._line = self._line[: end[0]], self._line[end[1] :]
            if line:
                self._take(line)
            elif self._data:
                events.append("\n".join(self._data))
                self._data = []
        return events

    def _line_end(self) -> tuple[int, int] | None:
        """Where the first line ends and the next one begins."""
        at = min((found for mark in "\r\n" if (found := self._line.find(mark)) >= 0), default=-1)
        if at < 0 or (self._line[at] == "\r" and at + 1 == len(self._line)):
            return None
        return at, at + (2 if self._line.startswith("\r\n", at) else 1)

    def _take(self, line: str) -> None:
        field, _, value = line.partition(":")
        if field == "data":
            self._data.append(value.removeprefix(" "))
