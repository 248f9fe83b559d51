"""Starts that wait on a real cluster: each says for what, goes on where that heals, and ends with its cause where not.

What keeps them waiting is of the namespace or the node; docs/endings.md has those of a tool alone.
"""

import asyncio
import base64
import json
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, MERGE_PATCH, PODS, SECRETS, TASKS
from mcptasks_devcluster.eventually import eventually
from mcptasks_operator.testing.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(240)]

HOOKS: Final = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
LABEL: Final = "example.com/hook"
ROOM: Final = "example.com/room"
PATIENCE_SECONDS: Final = 120

SAY_NO: Final = """
import http.server, json, ssl
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        no = {"uid": review["request"]["uid"], "allowed": False, "status": {"message": "not on a Monday"}}
        body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": no}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
server = http.server.ThreadingHTTPServer(("", 8443), Hook)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/tls/tls.crt", "/tls/tls.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""
SAY_NOTHING: Final = """
import socket, time
listener = socket.create_server(("", 5000))
held = []
while True:
    held.append(listener.accept())
"""
"""A registry that takes connections and never answers."""


@dataclass(frozen=True, kw_only=True)
class Hand:
    """What the tests do to a namespace of a world."""

    world: World
    image: str

    async def tool(self, name: str, /, *, pod: Json | None = None, labels: Json | None = None, **spec: Any) -> None:
        """A tool that says `done`."""
        container = {
            "name": "tool",
            "image": self.image,
            "command": ["sh", "-c", "echo done > $MCPTASK_RESULT"],
            "resources": {"requests": {"cpu": "1m", "memory": "8Mi"}},
        }
        pod = dict(pod or {})
        template = {
            "metadata": {"labels": labels or {}},
            "spec": {"containers": [container | pod.pop("container", {})], **pod},
        }
        await self.world.tool(name, **spec, inputSchema={"type": "object"}, job={"template": template})

    async def call(self, tool: str) -> str:
        """Call it."""
        return await self.world.call(tool, arguments="{}")

    async def says(self, task: str, words: str) -> None:
        """Wait until the task's message says so."""

        async def said() -> bool:
            status = (await self.world.kube.get(TASKS, self.world.namespace, task)).get("status", {})
            assert "reason" not in status, status
            return words in status.get("message", "")

        await eventually(said, what=f"the task says {words!r}", timeout_seconds=PATIENCE_SECONDS)

    async def end(self, task: str) -> tuple[str, str]:
        """The reason and message of the task's end."""

        async def ended() -> Json | None:
            status = (await self.world.kube.get(TASKS, self.world.namespace, task)).get("status", {})
            return status if "finishedAt" in status else None

        status = await eventually(ended, what=f"{task} ends", timeout_seconds=PATIENCE_SECONDS)
        return status["reason"], status["message"]

    async def made(self, path: str, body: Json) -> None:
        """Make something of the namespace."""
        await self.world.kube.request("POST", f"/api/v1/namespaces/{self.world.namespace}/{path}", body=body)

    async def helper(self, name: str, program: str, **pod: Any) -> str:
        """A pod that runs that program. Returns its address."""
        container = {
            "name": name,
            "image": self.image,
            "command": ["python3", "-c", program],
            "resources": {"requests": {"cpu": "1m"}},
        } | pod.pop("container", {})
        metadata = {"name": name, "labels": {"app": name}}
        await self.world.kube.create(
            PODS, self.world.namespace, {"metadata": metadata, "spec": {"containers": [container], **pod}}
        )

        async def address() -> str | None:
            status = (await self.world.kube.get(PODS, self.world.namespace, name))["status"]
            running = status.get("containerStatuses", [{}])[0].get("state", {}).get("running")
            return status.get("podIP") if running else None

        return await eventually(address, what=f"{name} runs", timeout_seconds=PATIENCE_SECONDS)


@pytest.fixture
def hand(operated: World, python_image: str) -> Hand:
    """The hand, over a namespace where an operator is at work."""
    return Hand(world=operated, image=python_image)


@pytest.fixture
async def hooks(hand: Hand, tmp_path: Path) -> AsyncIterator[str]:
    """A webhook that denies, one that nobody answers, by pods' labels; their configuration's path."""
    namespace = hand.world.namespace
    crt, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        f"/CN=hook.{namespace}.svc",
    ]
    command += ["-addext", f"subjectAltName=DNS:hook.{namespace}.svc", "-out", str(crt), "-keyout", str(key)]
    await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)
    await hand.made(
        "configmaps", {"metadata": {"name": "tls"}, "data": {"tls.crt": crt.read_text(), "tls.key": key.read_text()}}
    )
    service = {"selector": {"app": "hook"}, "ports": [{"port": 443, "targetPort": 8443}]}
    await hand.made("services", {"metadata": {"name": "hook"}, "spec": service})
    mounts = [{"name": "tls", "mountPath": "/tls"}]
    ready = {"httpGet": {"scheme": "HTTPS", "path": "/", "port": 8443}, "periodSeconds": 1}
    await hand.helper(
        "hook",
        SAY_NO,
        container={"volumeMounts": mounts, "readinessProbe": ready},
        volumes=[{"name": "tls", "configMap": {"name": "tls"}}],
    )
    bundle = base64.b64encode(crt.read_bytes()).decode()

    def hook(kind: str, service: str) -> Json:
        return {
            "name": f"{kind}.example.com",
            "clientConfig": {"service": {"name": service, "namespace": namespace}, "caBundle": bundle},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
            "objectSelector": {"matchLabels": {LABEL: kind}},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 5,
        }

    body = {"metadata": {"name": namespace}, "webhooks": [hook("denied", "hook"), hook("unheard", "nobody")]}
    await hand.world.kube.request("POST", HOOKS, body=body)
    yield f"{HOOKS}/{namespace}"
    await hand.world.kube.request("DELETE", f"{HOOKS}/{namespace}")


@pytest.mark.requirement("failures/f2-04")
async def test_pods_that_are_refused_say_why_and_start_where_that_heals(hand: Hand, hooks: str) -> None:
    kube, namespace = hand.world.kube, hand.world.namespace
    enforced = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}}
    await kube.request("PATCH", f"/api/v1/namespaces/{namespace}", body=enforced, content_type=MERGE_PATCH)
    await hand.tool("unsafe", pod={"hostNetwork": True})
    await hand.tool("denied", labels={LABEL: "denied"})
    await hand.tool("unheard", labels={LABEL: "unheard"})
    await hand.tool("poor")
    unsafe, denied, unheard = [await hand.call(tool) for tool in ("unsafe", "denied", "unheard")]

    await hand.says(unsafe, 'its pod is refused: violates PodSecurity "baseline:latest"')
    await hand.says(denied, "denied the request: not on a Monday")
    await hand.says(unheard, 'its pod cannot be created yet: Internal error occurred: failed calling webhook "unheard')
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "1"}}}  # the webhook's own
    await hand.made("resourcequotas", quota)
    poor = await hand.call("poor")
    await hand.says(poor, "waiting for quota: exceeded quota: none")
    ends = await asyncio.gather(hand.end(unsafe), hand.end(denied))
    await kube.request("DELETE", f"/api/v1/namespaces/{namespace}/resourcequotas/none")
    await kube.request("PATCH", hooks, body={"webhooks": []}, content_type=MERGE_PATCH)

    assert [reason for reason, _ in ends] == ["PodRejected", "PodRejected"]
    assert 'violates PodSecurity "baseline:latest": host namespaces' in ends[0][1]
    assert "not on a Monday" in ends[1][1]
    assert [await hand.end(task) for task in (unheard, poor)] == [("Succeeded", "completed")] * 2


@pytest.mark.requirement("failures/f2-02", "failures/f2-06", "failures/f2-07")
async def test_a_start_goes_on_when_what_it_waits_for_comes_and_never_after_its_end(hand: Hand) -> None:
    kube, namespace = hand.world.kube, hand.world.namespace
    (node,) = [each["metadata"]["name"] for each in await nodes(hand.world)]
    registry = await hand.helper("registry", SAY_NOTHING)
    mount = {"volumeMounts": [{"name": "late", "mountPath": "/late"}]}
    volume = {"name": "late", "secret": {"secretName": "late"}}
    await hand.tool("secretive", pod={"container": mount, "volumes": [volume]})
    await hand.tool("patient", pod={"nodeSelector": {ROOM: namespace}})
    await hand.tool("hasty", pod={"nodeSelector": {ROOM: namespace}}, startDeadlineSeconds=3)
    await hand.tool("slow", pod={"container": {"image": f"{registry}:5000/slow:1"}}, startDeadlineSeconds=20)
    tasks = {tool: await hand.call(tool) for tool in ("secretive", "patient", "hasty", "slow")}

    await hand.says(tasks["secretive"], 'a Secret or ConfigMap is missing: MountVolume.SetUp failed for volume "late"')
    await kube.create(SECRETS, namespace, {"metadata": {"name": "late"}})
    await hand.says(tasks["patient"], "waiting for a node: 0/1 nodes are available")
    await hand.says(tasks["slow"], f'pulling image "{registry}:5000/slow:1"')
    assert (await hand.end(tasks["hasty"]))[0] == "Unschedulable"
    await label(hand.world, node, namespace)
    try:
        assert await hand.end(tasks["patient"]) == ("Succeeded", "completed")
        assert await hand.end(tasks["secretive"]) == ("Succeeded", "completed")
        assert (await hand.end(tasks["slow"]))[0] in {"StartDeadline", "ImagePull"}
        await eventually(lambda: never_runs(hand.world, tasks["hasty"]), what="its Job is over, and has no pod")
    finally:
        await label(hand.world, node, None)


async def never_runs(world: World, task: str) -> bool:
    """Whether no pod of the task is there, and its Job makes none any more."""
    pods = await world.kube.list(PODS, world.namespace, labelSelector=f"{names.TASK_LABEL}={task}")
    job = await world.kube.get(JOBS, world.namespace, names.job_name(task))
    failed = [each["type"] for each in job["status"].get("conditions", ()) if each["status"] == "True"]
    assert not any(pod["status"]["phase"] == "Running" for pod in pods["items"])
    return "Failed" in failed and not [pod for pod in pods["items"] if pod["status"]["phase"] == "Pending"]


async def nodes(world: World) -> list[Json]:
    return list(json.loads(await world.kube.request("GET", "/api/v1/nodes"))["items"])


async def label(world: World, node: str, value: str | None) -> None:
    body = {"metadata": {"labels": {ROOM: value}}}
    await world.kube.request("PATCH", f"/api/v1/nodes/{node}", body=body, content_type=MERGE_PATCH)
