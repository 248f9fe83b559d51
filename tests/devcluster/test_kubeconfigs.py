"""Kubeconfig files and the certificates in them."""

import base64
import stat
from pathlib import Path
from typing import Any

import pytest

from mcptasks_devcluster.certificates import Identity, certificate_command, client_identities, server_identity
from mcptasks_devcluster.errors import WrongClusterError
from mcptasks_devcluster.kubeconfig import kubeconfig, load_kubeconfig, merged, write_kubeconfig


@pytest.fixture
def ours(tmp_path: Path) -> dict[str, Any]:
    for name in ("ca.crt", "admin.crt", "admin.key"):
        (tmp_path / name).write_text(f"the {name}")
    return kubeconfig(server="https://127.0.0.1:1234", pki=tmp_path, user="admin", context="ours")


def test_the_credentials_are_inside(ours: dict[str, Any]) -> None:
    cluster = ours["clusters"][0]["cluster"]
    assert cluster["server"] == "https://127.0.0.1:1234"
    assert base64.b64decode(cluster["certificate-authority-data"]) == b"the ca.crt"
    assert base64.b64decode(ours["users"][0]["user"]["client-key-data"]) == b"the admin.key"


def test_nobody_else_may_read_the_file(ours: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "deeper" / "kubeconfig"
    write_kubeconfig(path, ours)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_kubeconfig(path) == ours


def test_merging_keeps_what_is_others_and_replaces_what_is_ours(ours: dict[str, Any]) -> None:
    theirs = {
        "clusters": [{"name": "theirs", "cluster": {}}, {"name": "ours", "cluster": {"server": "old"}}],
        "users": [{"name": "theirs", "user": {}}],
        "contexts": [{"name": "theirs", "context": {}}],
        "current-context": "theirs",
    }
    both = merged(theirs, ours)
    assert [cluster["name"] for cluster in both["clusters"]] == ["theirs", "ours"]
    assert both["clusters"][1] == ours["clusters"][0]
    assert both["current-context"] == "ours"


def test_a_file_that_was_only_touched_is_an_empty_kubeconfig(ours: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "touched").touch()
    assert merged(load_kubeconfig(tmp_path / "touched"), ours) == ours
    assert load_kubeconfig(tmp_path / "missing") == {}


def test_a_file_that_is_no_kubeconfig_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("[1]")
    with pytest.raises(WrongClusterError):
        load_kubeconfig(tmp_path / "list")


def test_the_api_server_is_known_by_every_address_it_is_reached_by() -> None:
    names = server_identity(["127.0.0.1", "10.96.0.1"]).names
    assert {"IP:127.0.0.1", "IP:10.96.0.1", "DNS:localhost", "DNS:kubernetes.default.svc"} < set(names)


def test_the_kubelet_is_the_node_it_runs_on() -> None:
    kubelet = next(identity for identity in client_identities("one-node") if identity.name == "kubelet")
    assert kubelet.subject == "/O=system:nodes/CN=system:node:one-node"


def test_a_clients_certificate_serves_nobody() -> None:
    command = certificate_command(Path("/pki"), Identity(name="a", user="a"))
    assert "extendedKeyUsage=clientAuth" in command
    assert not [word for word in command if "serverAuth" in word]
