"""The end of a log, in bounded memory, whatever the bytes."""

import tracemalloc
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from itertools import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_crds import podlogs
from mcptasks_crds.kube import PODS, KubeError, NotFoundError, RejectedError, RetryableError
from mcptasks_crds.logtails import TAIL_BYTES, Tail
from mcptasks_crds.podlogs import FIRST_LINES, LogReader
from mcptasks_operator.testing.cluster import FakeCluster

MIB = 1024 * 1024


@given(st.lists(st.binary(max_size=40)), st.integers(4, 64))
def test_the_tail_is_the_end_of_all_that_was_fed(chunks: list[bytes], limit: int) -> None:
    tail = Tail(limit)
    for chunk in chunks:
        tail.feed(chunk)
    whole = b"".join(chunks)

    text = tail.text()

    assert len(text.encode()) <= limit
    assert tail.size == len(whole)
    assert tail.is_whole == (len(whole) <= limit)
    assert whole.decode("utf-8", "replace").endswith(text.lstrip("\N{REPLACEMENT CHARACTER}"))


@given(st.text(alphabet="aé\N{GRINNING FACE}", max_size=60), st.integers(4, 64))
def test_a_character_is_not_cut_in_two(text: str, limit: int) -> None:
    tail = Tail(limit)
    tail.feed(text.encode())

    assert text.endswith(tail.text())
    assert len(tail.text().encode()) > min(limit, len(text.encode())) - 4


def test_fifty_mebibytes_in_one_line_are_read_in_little_memory() -> None:
    tail = Tail()
    tracemalloc.start()
    for chunk in repeat(b"x" * 65_536, 50 * 16):
        tail.feed(chunk)
    tail.feed(b"the end\n")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert tail.size > 50 * MIB
    assert tail.text().endswith("the end\n")
    assert peak < MIB


async def read(content: bytes) -> tuple[str, bool, list[str]]:
    cluster = FakeCluster(logs={("p", "tool"): content})
    cluster.put(PODS, "ns", {"metadata": {"name": "p"}})
    seen = await LogReader(cluster=cluster, namespace="ns").read("p", "tool")
    assert seen.unreadable == ""
    return seen.text, seen.is_whole, [call.resource for call in cluster.calls]


async def test_a_short_log_is_read_whole_with_one_request() -> None:
    assert await read(b"one\ntwo\n") == ("one\ntwo\n", True, ["pods/log"])


async def test_an_empty_log_is_whole() -> None:
    assert await read(b"") == ("", True, ["pods/log"])


async def test_a_long_log_is_cut_to_its_end() -> None:
    text, whole, calls = await read(b"0123456789abcdef\n" * 10_000 + b"the end\n")

    assert text.endswith("the end\n")
    assert len(text) == TAIL_BYTES
    assert (whole, len(calls)) == (False, 1)


async def test_many_short_lines_are_asked_for_once_more() -> None:
    text, whole, calls = await read(b"\n" * (FIRST_LINES * 2) + b"end\n")

    assert text.endswith("end\n")
    assert len(text) == FIRST_LINES * 2 + 4
    assert (whole, len(calls)) == (True, 2)


async def test_more_lines_than_can_be_held_are_not_called_whole() -> None:
    text, whole, _ = await read(b"\n" * (TAIL_BYTES + 10))

    assert (len(text), whole) == (TAIL_BYTES, False)


async def test_what_is_no_text_is_replaced() -> None:
    text, _, _ = await read(b"\xff\xfe\x00\n")

    assert text == "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}\x00\n"


PATH = "/var/log/pods/ns_p_4f0c/tool/0.log"
KUBELET_ERRORS = [
    f'failed to try resolving symlinks in path "{PATH}": lstat {PATH}: no such file or directory',
    f'failed to open log file "{PATH}": open {PATH}: no such file or directory',
    "unable to retrieve container logs for containerd://0a1b2c3d",
    f"Error: stat {PATH}: no such file or directory\n",
]


@pytest.mark.usefixtures("impatience")
@pytest.mark.parametrize("answer", KUBELET_ERRORS)
async def test_a_kubelets_error_in_place_of_a_log_is_no_log_and_shows_no_path(answer: str) -> None:
    cluster = FakeCluster(logs={("p", "tool"): answer.encode()})
    cluster.put(PODS, "ns", {"metadata": {"name": "p"}})

    seen = await LogReader(cluster=cluster, namespace="ns").read("p", "tool")

    assert (seen.text, seen.is_whole) == ("", False)
    assert "the node could not read the container's log" in seen.unreadable
    assert "/var/log" not in seen.unreadable
    assert len(cluster.calls) == 3


@pytest.mark.parametrize("answer", KUBELET_ERRORS)
async def test_a_tool_that_prints_such_an_error_among_other_lines_has_its_log(answer: str) -> None:
    printed = f"collected:\n{answer}"

    assert (await read(printed.encode()))[0] == printed


@dataclass
class Broken(FakeCluster):
    """A cluster whose logs fail so many times."""

    errors: Iterator[KubeError] = field(default_factory=lambda: iter(()))

    async def stream(self, *_: object, **__: object) -> AsyncIterator[bytes]:
        for error in self.errors:
            raise error
        yield b"at last\n"


@pytest.fixture
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(podlogs, "PAUSES_SECONDS", (0.0, 0.0))


@pytest.mark.usefixtures("impatience")
async def test_a_kubelet_that_could_not_answer_is_asked_again() -> None:
    cluster = Broken(errors=iter([RetryableError("500"), RetryableError("500")]))

    seen = await LogReader(cluster=cluster, namespace="ns").read("p", "tool")

    assert (seen.text, seen.unreadable) == ("at last\n", "")


@pytest.mark.usefixtures("impatience")
@pytest.mark.parametrize(
    "errors",
    [
        [NotFoundError("pods p not found")],
        [RejectedError("container is waiting to start")],
        [RetryableError("no answer")] * 3,
    ],
    ids=["no pod", "no container", "no kubelet"],
)
async def test_a_log_that_cannot_be_read_says_why_and_raises_nothing(errors: list[KubeError]) -> None:
    cluster = Broken(errors=iter(errors))

    seen = await LogReader(cluster=cluster, namespace="ns").read("p", "tool")

    assert (seen.text, seen.is_whole, seen.unreadable) == ("", False, str(errors[-1]))
