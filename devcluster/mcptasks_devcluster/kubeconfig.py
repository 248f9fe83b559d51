"""Kubeconfig files: written for the components and people, read for the probes."""

import base64
import os
from pathlib import Path
from typing import Any

import yaml

from mcptasks_devcluster.errors import WrongClusterError


def kubeconfig(*, server: str, pki: Path, user: str, context: str) -> dict[str, Any]:
    """One cluster, user and context; the credentials are inside, so that a copy of the file works anywhere."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": context, "cluster": {"server": server, "certificate-authority-data": _encoded(pki / "ca.crt")}}
        ],
        "users": [
            {
                "name": context,
                "user": {
                    "client-certificate-data": _encoded(pki / f"{user}.crt"),
                    "client-key-data": _encoded(pki / f"{user}.key"),
                },
            }
        ],
        "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
        "current-context": context,
    }


def write_kubeconfig(path: Path, content: dict[str, Any]) -> None:
    """Readable for the owner alone: it holds a private key."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        yaml.safe_dump(content, file, sort_keys=False)


def merged(existing: dict[str, Any] | None, added: dict[str, Any]) -> dict[str, Any]:
    """``existing`` with the entries of ``added`` put in or replaced, and its context made the current one."""
    result: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", **(existing or {})}
    for section in ("clusters", "users", "contexts"):
        names = {entry["name"] for entry in added[section]}
        kept = [entry for entry in result.get(section) or [] if entry["name"] not in names]
        result[section] = kept + added[section]
    result["current-context"] = added["current-context"]
    return result


def load_kubeconfig(path: Path) -> dict[str, Any]:
    """The file's content; an empty or missing file is an empty mapping."""
    if not path.exists():
        return {}
    content = yaml.safe_load(path.read_text())
    if content is not None and not isinstance(content, dict):
        raise WrongClusterError(f"{path} is no kubeconfig")
    return content or {}


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
