"""Writing everything that a local cluster needs before it starts: keys, configuration files and the plan."""

import os
import random
import shutil
import socket
from pathlib import Path
from typing import Final

from mcptasks_devcluster.build import binary
from mcptasks_devcluster.certificates import client_identities, make_authority, make_certificate, server_identity
from mcptasks_devcluster.controlplane import AUDIT_POLICY, FIRST_SERVICE_ADDRESS, ControlPlane, Tuning
from mcptasks_devcluster.errors import DevclusterError
from mcptasks_devcluster.images import write_pause_image
from mcptasks_devcluster.kubeconfig import kubeconfig, write_kubeconfig
from mcptasks_devcluster.node import ADDRESS, DNS_ADDRESS, Node, node_name
from mcptasks_devcluster.paths import ClusterPaths
from mcptasks_devcluster.plan import Plan

_LIGHT_USERS = ("admin",)
_API_PORT_INSIDE = 6443

PORTS: Final = range(20000, 32000)
"""Below those that outgoing connections are numbered from."""
PORTS_VARIABLE: Final = "MCPTASKS_PORTS"
"""`LOW-HIGH`: a part of them, for each of several processes that choose ports at once."""

_given: Final = set[int]()


def context_name(cluster: str) -> str:
    """The name of cluster, user and context in the kubeconfig."""
    return f"devcluster-{cluster}"


def lay_out_light(paths: ClusterPaths, *, port: int, tuning: Tuning) -> None:
    """A control plane as plain processes on the host's loopback."""
    _make_directories(paths)
    _write_credentials(paths, port=port, inside_port=port, users=_LIGHT_USERS, addresses=["127.0.0.1"])
    # The kernel ends the components when the supervisor ends, however it ends.
    tied = ("setpriv", "--pdeathsig", "KILL", "--") if shutil.which("setpriv") else ()
    plane = ControlPlane(
        pki=paths.pki,
        data=paths.run,
        kubeconfigs=paths.run / "kubeconfigs",
        bind="127.0.0.1",
        advertise="127.0.0.1",
        api_port=port,
        etcd_port=free_port(),
        etcd_peer_port=free_port(),
        tuning=tuning,
        whole=False,
        prefix=tied,
    )
    plane.audit_policy.write_text(AUDIT_POLICY)
    Plan(components=plane.components()).write(paths.plan)


def lay_out_full(paths: ClusterPaths, *, port: int, tuning: Tuning) -> None:
    """A control plane and a node, inside namespaces of their own."""
    _make_directories(paths)
    users = tuple(identity.name for identity in client_identities(""))
    addresses = ["127.0.0.1", ADDRESS, FIRST_SERVICE_ADDRESS]
    _write_credentials(paths, port=port, inside_port=_API_PORT_INSIDE, users=users, addresses=addresses)
    plane = ControlPlane(
        pki=paths.pki,
        data=Path("/run"),
        kubeconfigs=Path("/run/kubeconfigs"),
        bind="0.0.0.0",  # noqa: S104 - inside a network namespace that leads nowhere
        advertise=ADDRESS,
        api_port=_API_PORT_INSIDE,
        etcd_port=2379,
        etcd_peer_port=2380,
        tuning=tuning,
        whole=True,
    )
    plane.audit_policy.write_text(AUDIT_POLICY)
    node = Node(
        cluster=paths.name,
        control_group=paths.control_group,
        cache=paths.cache,
        state_run=paths.run,
        ca=paths.pki / "ca.crt",
        api_port=_API_PORT_INSIDE,
        api_ready=plane.ready,
    )
    for directory in node.directories():
        (paths.run / directory).mkdir(parents=True, exist_ok=True)
    for name, content in node.files().items():
        target = paths.run / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    write_pause_image(binary("pause"), paths.run / "pause.tar")
    Plan(
        setup=node.setup(),
        components=(*plane.components(), *node.components()),
        checks={"dns": f"dns:{DNS_ADDRESS}:kubernetes.default.svc.cluster.local"},
    ).write(paths.plan)


def free_port() -> int:
    """A loopback port that nobody has now, and that this process was not given before: what is to listen on that one
    may not do so yet."""
    low, high = (int(number) for number in os.environ.get(PORTS_VARIABLE, f"{PORTS.start}-{PORTS.stop}").split("-"))
    for _ in range(100):
        port = random.randrange(low, high)  # noqa: S311 - no secret
        if port in _given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            _given.add(port)
            return port
    raise DevclusterError(f"no free port on 127.0.0.1 between {low} and {high}")


def _make_directories(paths: ClusterPaths) -> None:
    paths.state.mkdir(parents=True, exist_ok=True, mode=0o700)
    for directory in (paths.logs, paths.run / "etcd"):
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)


def _write_credentials(
    paths: ClusterPaths, *, port: int, inside_port: int, users: tuple[str, ...], addresses: list[str]
) -> None:
    make_authority(paths.pki)
    make_certificate(paths.pki, server_identity(addresses))
    context = context_name(paths.name)
    for identity in client_identities(node_name(paths.name)):
        if identity.name not in users:
            continue
        make_certificate(paths.pki, identity)
        write_kubeconfig(
            paths.run / "kubeconfigs" / f"{identity.name}.kubeconfig",
            kubeconfig(server=f"https://127.0.0.1:{inside_port}", pki=paths.pki, user=identity.name, context=context),
        )
    write_kubeconfig(
        paths.kubeconfig,
        kubeconfig(server=f"https://127.0.0.1:{port}", pki=paths.pki, user="admin", context=context),
    )
