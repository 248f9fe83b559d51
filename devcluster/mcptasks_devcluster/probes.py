"""Small questions to a component: is it there? Words, because they travel in the plan's file.

``tcp:HOST:PORT``, ``unix:PATH``, ``file:PATH``, ``http:URL`` (any answer below 400; no certificate is checked: the
question is whether, not who) and ``dns:SERVER:NAME`` (an address comes back). ``done:COMPONENT`` is the supervisor's.
"""

import http.client
import secrets
import socket
import ssl
import struct
import urllib.request
from pathlib import Path

_TIMEOUT = 2.0


def passes(probe: str) -> bool:
    """Whether it is there now."""
    kind, _, rest = probe.partition(":")
    match kind:
        case "tcp":
            host, _, port = rest.rpartition(":")
            return _connects(socket.AF_INET, (host, int(port)))
        case "unix":
            return _connects(socket.AF_UNIX, rest)
        case "file":
            return Path(rest).exists()
        case "http":
            return _http_answers(rest)
        case "dns":
            server, _, name = rest.partition(":")
            return _dns_answers(server, name)
        case _:
            raise AssertionError(f"no such probe: {probe}")


def _connects(family: socket.AddressFamily, address: str | tuple[str, int]) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(_TIMEOUT)
        try:
            client.connect(address)
        except OSError:
            return False
    return True


def _http_answers(url: str) -> bool:
    unchecked = ssl.create_default_context()
    unchecked.check_hostname = False
    unchecked.verify_mode = ssl.CERT_NONE
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=unchecked)
    )
    try:
        with opener.open(url, timeout=_TIMEOUT) as answer:
            return bool(answer.status < 400)
    except (OSError, http.client.HTTPException):
        return False


def dns_question(identifier: int, name: str) -> bytes:
    """A query for the name's IPv4 address."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack(">6H", identifier, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 1, 1)


def _dns_answers(server: str, name: str) -> bool:
    identifier = secrets.randbits(16)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(_TIMEOUT)
        try:
            client.connect((server, 53))
            client.send(dns_question(identifier, name))
            answer = client.recv(4096)
        except OSError:
            return False
    if len(answer) < 12:
        return False
    header: tuple[int, int, int, int] = struct.unpack(">4H", answer[:8])
    answered, flags, _, records = header
    return answered == identifier and flags & 0x000F == 0 and records > 0
