"""Sockets inside a cluster's network, of a process that is outside: what pods reach there, this process answers."""

import ctypes
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_CLONE_NEWNET = 0x40000000


def listener_inside(process: int) -> socket.socket:
    """A socket that listens on every address of the network that a process is in, at a free port."""
    with ThreadPoolExecutor(max_workers=1) as thread:  # a thread that has gone there does nothing else any more
        return thread.submit(_listen_in, Path(f"/proc/{process}/ns/net")).result()


def _listen_in(network: Path) -> socket.socket:
    libc = ctypes.CDLL(None, use_errno=True)
    with network.open("rb") as namespace:
        if libc.setns(namespace.fileno(), _CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(network))
    return socket.create_server(("0.0.0.0", 0))  # noqa: S104  # that network is the cluster's own
