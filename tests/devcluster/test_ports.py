"""Ports for what is started later: of those that are free, none is given to two."""

import socket

import pytest

from mcptasks_devcluster.errors import DevclusterError
from mcptasks_devcluster.layout import PORTS_VARIABLE, free_port


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> range:
    """The only ports to choose from: three in a row that nobody has been given."""
    low = next(port for port in (free_port() for _ in range(100)) if all(map(_is_free, range(port + 1, port + 4)))) + 1
    monkeypatch.setenv(PORTS_VARIABLE, f"{low}-{low + 3}")
    monkeypatch.setattr("mcptasks_devcluster.layout._given", set[int]())
    return range(low, low + 3)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_each_is_of_the_share_and_given_once_though_nobody_listens_there_yet(three: range) -> None:
    assert sorted(free_port() for _ in three) == list(three)
    with pytest.raises(DevclusterError, match=f"between {three.start} and {three.stop}"):
        free_port()


def test_one_that_somebody_has_is_not_given(three: range) -> None:
    with socket.create_server(("127.0.0.1", three[1])):
        assert sorted(free_port() for _ in range(2)) == [three[0], three[2]]
        with pytest.raises(DevclusterError):
            free_port()
