"""The one node of a whole cluster: its network, its configuration files, and what runs on it.

Everything is inside the cluster's own namespaces, so addresses and paths are the same in every cluster. ``/run`` is
the cluster's own directory there (short enough for socket paths).
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from mcptasks_devcluster.build import binary
from mcptasks_devcluster.controlplane import SERVICE_RANGE
from mcptasks_devcluster.images import PAUSE_IMAGE
from mcptasks_devcluster.plan import Component

ADDRESS = "192.168.77.2"
POD_RANGE = "10.244.0.0/16"
DNS_ADDRESS = "10.96.0.10"
RUN = Path("/run")
CONTAINERD_SOCKET = RUN / "containerd/containerd.sock"
_OVERLAY = "lowerdir=/var/lib,upperdir=/run/var-lib/written,workdir=/run/var-lib/work"


@dataclass(frozen=True, kw_only=True)
class Node:
    """One node of one cluster."""

    cluster: str
    control_group: str
    """The kubelet's root in each hierarchy of control groups."""
    cache: Path
    """This tool's cache directory, as seen from the host."""
    state_run: Path
    """What is mounted on ``/run``, as seen from the host."""
    ca: Path
    api_port: int
    api_ready: str

    @property
    def name(self) -> str:
        """The Node object's name."""
        return node_name(self.cluster)

    def setup(self) -> tuple[tuple[str, ...], ...]:
        """Commands that make the network and the mounts, inside the new namespaces."""
        return (
            ("mount", "--make-rprivate", "/"),
            ("mount", "--bind", str(self.cache), f"{self.state_run}/cache"),
            ("mount", "--rbind", str(self.state_run), "/run"),
            # The kubelet and the network plugins write to fixed places there, whatever they are told.
            ("mount", "--bind", "/run/log", "/var/log"),
            ("mount", "-t", "overlay", "-o", _OVERLAY, "overlay", "/var/lib"),
            # Whatever was just covered, the cache directory is where it was: the programs and logs are there.
            ("mkdir", "-p", str(self.cache)),
            ("mount", "--bind", "/run/cache", str(self.cache)),
            ("ip", "link", "set", "lo", "up"),
            ("ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"),
            # A route is needed for the address rewriting to happen; a bridge, as not every kernel has dummy devices.
            ("ip", "link", "add", "services", "type", "bridge"),
            ("ip", "link", "set", "services", "up"),
            ("ip", "route", "add", SERVICE_RANGE, "dev", "services"),
            ("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"),
        )

    def files(self) -> dict[str, str]:
        """Path under ``/run`` -> content."""
        return {
            "containerd/config.toml": containerd_config(),
            "cni/net.d/10-pods.conflist": json.dumps(_cni_config(), indent=1),
            "kubelet/config.yaml": yaml.safe_dump(kubelet_config(self.control_group, self.ca)),
            "kube-proxy.yaml": yaml.safe_dump(_proxy_config()),
            "coredns/Corefile": corefile(),
            "resolv.conf": "",
        }

    def directories(self) -> tuple[str, ...]:
        """Under ``/run``; mounted from or onto."""
        return ("cache", "log", "var-lib/written", "var-lib/work")

    def components(self) -> tuple[Component, ...]:
        """What runs on the node."""
        ctr = ("ctr", "--address", str(CONTAINERD_SOCKET), "--namespace", "k8s.io")
        containerd = f"unix:{CONTAINERD_SOCKET}"
        return (
            Component(
                name="forward", argv=(str(binary("forward")), "-to", f"127.0.0.1:{self.api_port}"), listener=True
            ),
            Component(name="containerd", argv=("containerd", "--config", "/run/containerd/config.toml")),
            Component(
                name="pause-image",
                argv=(*ctr, "images", "import", "/run/pause.tar"),
                after=(containerd,),
                once=True,
            ),
            Component(
                name="kubelet",
                argv=(
                    str(binary("kubelet")),
                    "--config=/run/kubelet/config.yaml",
                    "--kubeconfig=/run/kubeconfigs/kubelet.kubeconfig",
                    "--root-dir=/run/kubelet",
                    "--cert-dir=/run/kubelet/pki",
                    f"--hostname-override={self.name}",
                    f"--node-ip={ADDRESS}",
                ),
                after=("done:pause-image", self.api_ready),
            ),
            Component(
                name="kube-proxy",
                argv=(
                    str(binary("kube-proxy")),
                    "--config=/run/kube-proxy.yaml",
                    f"--hostname-override={self.name}",
                ),
                after=(self.api_ready,),
            ),
            Component(
                name="coredns", argv=(str(binary("coredns")), "-conf", "/run/coredns/Corefile"), after=(self.api_ready,)
            ),
        )


def node_name(cluster: str) -> str:
    """The Node object's name."""
    return f"{cluster}-node"


def containerd_config() -> str:
    """For Debian's containerd 1.6; everything under the cluster's own ``/run``."""
    return f"""version = 2
root = "/run/lib/containerd"
state = "/run/containerd"
# The first would write to /opt; the others only complain that they cannot be used.
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
]
[grpc]
address = "{CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE_IMAGE}"
# Where this user may not lower oom_score_adj, every sandbox would fail to start otherwise.
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "/run/cni/net.d"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
"""


def _cni_config() -> dict[str, Any]:
    """Each pod on a link of its own. On a shared bridge, a reply from one pod to another would go past the address
    rewriting (where the kernel has no br_netfilter), and Services would not work between pods of one node."""
    return {
        "cniVersion": "0.4.0",
        "name": "pods",
        "plugins": [
            {
                "type": "ptp",
                "ipMasq": False,
                "ipam": {
                    "type": "host-local",
                    "dataDir": "/run/cni/addresses",
                    "ranges": [[{"subnet": POD_RANGE}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }


def kubelet_config(control_group: str, ca: Path) -> dict[str, Any]:
    """Never evicts for disk and never collects images: those that were loaded cannot be pulled again."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(ca)},
        },
        "authorization": {"mode": "Webhook"},
        "address": "0.0.0.0",  # noqa: S104 - inside a network namespace that leads nowhere
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{control_group}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "oomScoreAdj": 0,
        "evictionHard": {
            "memory.available": "50Mi",
            "nodefs.available": "0%",
            "nodefs.inodesFree": "0%",
            "imagefs.available": "0%",
        },
        "imageGCHighThresholdPercent": 100,
        "maxPods": 500,
        "clusterDomain": "cluster.local",
        "clusterDNS": [DNS_ADDRESS],
        "resolvConf": "/run/resolv.conf",
        "volumePluginDir": "/run/kubelet/volumeplugins",
        "hairpinMode": "none",
    }


def _proxy_config() -> dict[str, Any]:
    """Sysctls that belong to the whole machine are left alone."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": "/run/kubeconfigs/kube-proxy.kubeconfig"},
        "mode": "iptables",
        "clusterCIDR": POD_RANGE,
        "oomScoreAdj": 0,
        "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }


def corefile() -> str:
    """The cluster's names; every other name is answered at once with "no such name", as there is no way out."""
    return f"""cluster.local:53 in-addr.arpa:53 ip6.arpa:53 {{
    bind {ADDRESS}
    errors
    kubernetes {{
        kubeconfig /run/kubeconfigs/coredns.kubeconfig
        pods insecure
        ttl 5
    }}
    cache 5
    loadbalance
}}
.:53 {{
    bind {ADDRESS}
    errors
    template ANY ANY . {{
        rcode NXDOMAIN
    }}
}}
"""
