"""Simulated nodes, by KWOK, beside a real control plane: pods are scheduled, run and end, and no program runs.

What a thousand tasks cost is then what the control plane and the operator do, and not what a node does.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from mcptasks_crds.base import Json
from mcptasks_crds.kube import Kube
from mcptasks_devcluster.build import binary, ensure
from mcptasks_devcluster.eventually import eventually

STAGES: Final = Path(__file__).with_suffix(".yaml")
LABEL: Final = "simulated-node"
ENDS: Final = {"simulated": "ends"}
"""Pods with this label end as soon as they run, with exit code 0 and `done` as their result; others run for ever."""
PODS_A_NODE: Final = 250
_NODES: Final = "/api/v1/nodes"


def pod_template(labels: Mapping[str, str]) -> dict[str, Any]:
    """A pod for these nodes alone."""
    return {
        "metadata": {"labels": dict(labels)},
        "spec": {
            "nodeSelector": {LABEL: "true"},
            "tolerations": [{"key": LABEL, "operator": "Exists"}],
            "containers": [{"name": "tool", "image": "example.invalid/none:1"}],
        },
    }


@asynccontextmanager
async def simulated_nodes(kube: Kube, *, kubeconfig: Path, pods: int, log: Path) -> AsyncIterator[int]:
    """Nodes for so many pods, for as long as the context lasts; yields the process id of what simulates them."""
    ensure(["kwok"])
    names = [f"simulated-{number}" for number in range(-(-pods // PODS_A_NODE))]
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            str(binary("kwok")),
            *(f"--kubeconfig={kubeconfig}", f"--config={STAGES}", f"--manage-nodes-with-label-selector={LABEL}=true"),
            stdout=file,
            stderr=file,
        )
        try:
            for name in names:
                await kube.request("POST", _NODES, body=_node(name))
            for name in names:
                await eventually(partial(_is_ready, kube, name), what=f"the node {name} is ready")
            yield process.pid
        finally:
            for name in names:
                await kube.request("DELETE", f"{_NODES}/{name}")
            process.terminate()
            await process.wait()


def _node(name: str) -> Json:
    room = {"cpu": "1000", "memory": "4Ti", "pods": str(PODS_A_NODE)}
    return {
        "metadata": {"name": name, "labels": {LABEL: "true"}, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "spec": {"taints": [{"key": LABEL, "value": "true", "effect": "NoSchedule"}]},
        "status": {"allocatable": room, "capacity": room},
    }


async def _is_ready(kube: Kube, name: str) -> bool:
    node = json.loads(await kube.request("GET", f"{_NODES}/{name}"))
    return any(each["type"] == "Ready" and each["status"] == "True" for each in node["status"].get("conditions", ()))
