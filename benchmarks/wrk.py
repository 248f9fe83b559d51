"""Load by `wrk`, which takes little of the machine for itself: raw HTTP requests from a file, over some connections.

Debian has it as a package, installed where it is missing.
"""

import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from mcptasks_devcluster.debian import ensure_packages

CONNECTIONS: Final = 50
SCRIPT: Final = Path(__file__).with_name("requests.lua")


@dataclass(frozen=True, kw_only=True)
class Load:
    """What came of some seconds of load."""

    per_second: float
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is asked for, in turn, at one server."""

    url: str
    """Of the server; the path stands in the requests."""
    requests: Sequence[bytes]

    async def load(self, *, seconds: float, connections: int = CONNECTIONS) -> Load:
        """Ask for that long.

        Raises:
            RuntimeError: a request failed; what was measured would mean nothing.
        """
        ensure_packages({"wrk": "/usr/bin/wrk"}, purpose="the measurement of tasks/get")
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"\0".join(self.requests))
            file.flush()
            process = await asyncio.create_subprocess_exec(
                *("wrk", "--threads", "1", "--connections", str(connections), "--duration", f"{seconds:g}s"),
                *("--script", SCRIPT, self.url, "--", file.name),
                stdout=asyncio.subprocess.PIPE,
            )
            printed, _ = await process.communicate()
        if process.returncode != 0:
            raise RuntimeError(f"wrk exited with {process.returncode}")
        seen = json.loads(printed.splitlines()[-1])
        if seen["failed"]:
            raise RuntimeError(f"{seen['failed']} of {seen['requests']} requests to {self.url} failed")
        return Load(per_second=seen["requests"] / seen["seconds"], p50_ms=seen["p50_ms"], p99_ms=seen["p99_ms"])


def raw_request(url: str, *, method: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """An HTTP request as it goes over the wire."""
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    lines = [f"{method} {path} HTTP/1.1", f"Host: {parts.netloc}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body
