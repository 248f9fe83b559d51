"""A desk behind HTTP, on a loopback port."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from .bodies import MOST_BYTES, Reply
from .desk import Desk

READ_BYTES: Final = 4 * MOST_BYTES
"""Of a body; the desk refuses less than that already."""


class StandIn:
    """A desk that listens; see `serving`."""

    def __init__(self, desk: Desk, *, directory: Path) -> None:
        """`directory` is where the token's file is put."""
        self.desk = desk
        self.token_file = directory / "token"
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """What `$MCPTASK_URL` is."""
        if self._server is None:
            raise RuntimeError("it does not listen")
        return f"http://127.0.0.1:{self._server.server_port}/v1/tasks/{self.desk.task_id}"

    def environment(self) -> dict[str, str]:
        """The variables of the pod's contract that lead here."""
        return {
            "MCPTASK_ID": self.desk.task_id,
            "MCPTASK_TOOL": self.desk.tool,
            "MCPTASK_URL": self.url,
            "MCPTASK_TOKEN_FILE": str(self.token_file),
        }

    @contextmanager
    def serving(self, *, port: int = 0) -> Iterator[None]:
        """Listen as long as the context is open; on a free port, unless one is named."""
        self.token_file.write_text(self.desk.token)
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler_of(self.desk))
        self._server.daemon_threads = True
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()
            self._server = None


def _handler_of(desk: Desk) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_PUT(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(min(length, READ_BYTES))
            self._send(
                desk.handle(
                    self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body
                )
            )

        def _send(self, reply: Reply) -> None:
            self.send_response(reply.status)
            if reply.body:
                self.send_header("Content-Type", reply.content_type)
            if reply.status != 204:
                self.send_header("Content-Length", str(len(reply.body)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, *parts: Any) -> None:
            """Nothing: the tool's own output is what is to be seen."""

    return Handler
