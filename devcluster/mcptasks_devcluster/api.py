"""The few requests that ``up`` and ``status`` make of an API server, by the standard library."""

import http.client
import json
import ssl
from pathlib import Path
from typing import Any

from mcptasks_devcluster.errors import DevclusterError

_TIMEOUT = 5.0


class Api:
    """The API server on this machine's loopback, as the cluster's administrator."""

    def __init__(self, *, port: int, pki: Path) -> None:
        self._port = port
        self._tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")

    def get(self, path: str) -> dict[str, Any] | None:
        """The object; None if it is not there or nobody answers."""
        status, body = self._request("GET", path)
        return json.loads(body) if status == http.client.OK else None

    def ready(self) -> bool:
        """Whether the server says so itself."""
        status, _ = self._request("GET", "/readyz")
        return status == http.client.OK

    def create(self, path: str, content: dict[str, Any]) -> None:
        """Create the object, unless it exists."""
        status, body = self._request("POST", path, json.dumps(content))
        if status not in (http.client.CREATED, http.client.CONFLICT):
            raise DevclusterError(f"POST {path}: {status} {body.decode(errors='replace')[:500]}")

    def _request(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, context=self._tls, timeout=_TIMEOUT)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error).encode()
        finally:
            connection.close()
