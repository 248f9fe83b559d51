"""Streams of events, in whatever pieces they come."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks.sse import EventDecoder

DATA = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1)


def decode(*pieces: bytes) -> list[str]:
    decoder = EventDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        pytest.param(b"data: a\n\n", ["a"], id="one event"),
        pytest.param(b"data:a\n\n", ["a"], id="no space after the colon"),
        pytest.param(b"data:  a\n\n", [" a"], id="only one space is taken"),
        pytest.param(b"data: a\ndata: b\n\n", ["a\nb"], id="two lines of data"),
        pytest.param(b": keep-alive\n\ndata: a\n\n", ["a"], id="a comment is no event"),
        pytest.param(b"event: message\nid: 7\nretry: 10\ndata: a\n\n", ["a"], id="other fields"),
        pytest.param(b"\xef\xbb\xbfdata: a\n\n", ["a"], id="byte order mark"),
        pytest.param(b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", ["a", "b", "c"], id="all three line ends"),
        pytest.param(b"data: a\n", [], id="an event that has not ended"),
        pytest.param(b"\n\n\n", [], id="nothing"),
    ],
)
def test_events_are_read_as_the_standard_has_them(stream: bytes, events: list[str]) -> None:
    assert decode(stream) == events


@given(events=st.lists(DATA), mark=st.sampled_from(["\n", "\r\n", "\r"]), cuts=st.lists(st.integers(min_value=0)))
def test_where_the_stream_is_cut_makes_no_difference(events: list[str], mark: str, cuts: list[int]) -> None:
    # The last character decides about a CR before it.
    stream = "".join(f"data: {event}{mark}{mark}" for event in events).encode() + b":\n"
    at = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(at)]

    assert decode(*pieces) == events
