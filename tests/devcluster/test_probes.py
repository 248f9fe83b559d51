"""Small questions, asked of something that answers and of nothing."""

import socket
import threading
from pathlib import Path

import pytest

from mcptasks_devcluster.probes import dns_question, passes


def test_a_listening_port_is_there_and_a_closed_one_is_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert passes(f"tcp:127.0.0.1:{port}")
    assert not passes(f"tcp:127.0.0.1:{port}")


def test_a_socket_file_is_there_only_while_somebody_listens(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        assert passes(f"unix:{path}")
    assert not passes(f"unix:{path}")


def test_a_file_is_there_or_not(tmp_path: Path) -> None:
    assert passes(f"file:{tmp_path}")
    assert not passes(f"file:{tmp_path / 'none'}")


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param("200 OK", True, id="yes"),
        pytest.param("503 No", False, id="no"),
        pytest.param("", False, id="junk"),
    ],
)
def test_an_http_answer_below_400_is_a_yes(status: str, expected: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        answering = threading.Thread(
            target=_answer_once, args=(server, f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")
        )
        answering.start()
        assert passes(f"http:http://127.0.0.1:{server.getsockname()[1]}/readyz") is expected
        answering.join(timeout=5)


def test_a_dns_question_is_for_the_names_ipv4_address() -> None:
    assert dns_question(1, "a.bc") == b"\0\1\1\0\0\1\0\0\0\0\0\0" + b"\1a\2bc\0" + b"\0\1\0\1"


def _answer_once(server: socket.socket, answer: str) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(4096)
        connection.sendall(answer.encode())
