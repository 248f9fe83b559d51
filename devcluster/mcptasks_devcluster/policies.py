"""NetworkPolicy in a local cluster, enforced for as long as somebody asks for it.

What decides is kubernetes-sigs/kube-network-policies, as it is published: the kernel hands it the first packet of each
connection (nfqueue), and it says whether that goes on. It also writes the rule that hands them over, in words that not
every kernel knows (``CONFIG_NFT_QUEUE``); so here the rule is one of iptables, which means the same.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcptasks_devcluster.build import binary, ensure
from mcptasks_devcluster.errors import NotReadyError, WrongClusterError
from mcptasks_devcluster.node import node_name
from mcptasks_devcluster.paths import ClusterPaths
from mcptasks_devcluster.polling import becomes_so
from mcptasks_devcluster.processes import MARK, namespace_init
from mcptasks_devcluster.shell import run

ENFORCER = "kube-network-policies"
_QUEUE = "100"
_LISTENS_WITHIN = 60.0
_ENDS_WITHIN = 30.0
# From pod to pod; what the node itself sends, such as the kubelet's probes, is not forwarded. Without an enforcer
# nothing gets through.
_FIRST_PACKETS = ("FORWARD", "-m", "conntrack", "--ctstate", "NEW", "-j", "NFQUEUE", "--queue-num", _QUEUE)


@contextmanager
def enforced(paths: ClusterPaths) -> Iterator[None]:
    """NetworkPolicy objects are obeyed in this cluster, for connections that begin while the context lasts.

    Raises:
        WrongClusterError: it is no whole local cluster that is up.
        NotReadyError: the enforcer does not start.
    """
    init = namespace_init(paths.state)
    if init is None:
        raise WrongClusterError(f"{paths.name} is no whole local cluster, or not up")
    ensure([ENFORCER])
    iptables = ("nsenter", "--target", str(init), "--net", "--mount", "--", "iptables", "--wait", "--table", "mangle")
    log = paths.logs / f"{ENFORCER}.log"
    with log.open("ab") as said:
        process = subprocess.Popen(
            ["nsenter", "--target", str(init), "--net", "--", *enforcer_command(paths)],
            env={**os.environ, MARK: str(paths.state)},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
        )
    try:
        if not becomes_so(lambda: process.poll() is not None or _listens(init), within=_LISTENS_WITHIN):
            raise NotReadyError(f"{ENFORCER} does not listen after {_LISTENS_WITHIN:.0f} s; see {log}")
        if process.poll() is not None:
            raise NotReadyError(f"{ENFORCER} ended with {process.returncode}; see {log}")
        run([*iptables, "--append", *_FIRST_PACKETS])
        try:
            yield
        finally:
            run([*iptables, "--delete", *_FIRST_PACKETS])
    finally:
        process.terminate()
        process.wait(timeout=_ENDS_WITHIN)


def enforcer_command(paths: ClusterPaths) -> list[str]:
    """What runs in the cluster's network, with files as they are seen from outside of it."""
    return [
        str(binary(ENFORCER)),
        f"--kubeconfig={paths.run / 'kubeconfigs' / 'admin.kubeconfig'}",
        f"--hostname-override={node_name(paths.name)}",
        f"--nfqueue-id={_QUEUE}",
        "--metrics-bind-address=127.0.0.1:9080",
        # What it cannot judge does not get through.
        "--fail-open=false",
        # Both need what is not here: a kernel that lists connections to it, and a runtime that tells it of pods.
        "--strict-mode=false",
        "--disable-nri",
    ]


def _listens(init: int) -> bool:
    """Whether the enforcer has opened its queue in that process's network. The file is there once the module is."""
    queues = Path(f"/proc/{init}/net/netfilter/nfnetlink_queue")
    return queues.exists() and any(line.split()[0] == _QUEUE for line in queues.read_text().splitlines())
