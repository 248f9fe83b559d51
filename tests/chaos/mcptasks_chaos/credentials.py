"""A service's bearer token that can be changed while the service runs: its kubeconfig has a program tell it."""

import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcptasks_devcluster.proxy import FaultProxy

_VERSION: Final = "client.authentication.k8s.io/v1beta1"


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """The token by which one service comes to its proxy."""

    proxy: FaultProxy
    file: Path

    def rotate(self) -> None:
        """Take another token from now on, and no other one; the service finds it where it found the first."""
        token = secrets.token_hex(16)
        content = {"apiVersion": _VERSION, "kind": "ExecCredential", "status": {"token": token}}
        unfinished = self.file.with_suffix(".new")
        unfinished.write_text(json.dumps(content))
        unfinished.replace(self.file)
        self.proxy.tokens = frozenset({token})

    def write_kubeconfig(self, path: Path) -> Path:
        """A kubeconfig that leads to the proxy with the token of the moment."""
        program = {"apiVersion": _VERSION, "command": "cat", "args": [str(self.file)], "interactiveMode": "Never"}
        return self.proxy.write_kubeconfig(path, user=json.dumps({"exec": program}))
