"""Server-sent events as a test's client reads them: strictly, for some clients read no more than this. Pure."""

from collections.abc import Iterator


class EventReader:
    """Reads one stream, in whatever pieces it comes."""

    def __init__(self, *, may_resume: bool) -> None:
        """`may_resume`: whether events may have ids."""
        self._may_resume = may_resume
        self._line = b""
        self._data: list[str] = []
        self.comments: list[str] = []
        """The comments that came up to now."""

    def feed(self, piece: bytes) -> Iterator[str]:
        """The data of the events that end within this piece.

        Raises:
            AssertionError: an event is not one message on one line.
        """
        *lines, self._line = (self._line + piece).split(b"\n")
        for line in lines:
            data = self._take(line.removesuffix(b"\r").decode())
            if data is not None:
                yield data

    def end(self) -> None:
        """The stream has ended.

        Raises:
            AssertionError: within an event.
        """
        assert self._line == b"", f"the stream ended within a line: {self._line[:80]!r}"
        assert self._data == [], "the stream ended within an event"

    def _take(self, line: str) -> str | None:
        name, _, value = line.partition(":")
        if line == "":
            data, self._data = self._data, []
            assert len(data) <= 1, "one event is one message on one line"
            return data[0] if data else None
        if name == "":
            self.comments.append(value.strip())
        elif name == "data":
            self._data.append(value.removeprefix(" "))
        else:
            assert name in {"event", "retry", "id"}, f"an unknown field: {name}"
            assert name != "id" or self._may_resume, "modern streams cannot be resumed"
        return None
