"""What running pods and the server have to say to each other: results, answers, and much progress.

No pod runs: what one would send is sent from here, with a token that is bound to a pod object, so that neither an image
nor a node is in what is timed.
"""

import asyncio
import json
import secrets
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
from benchmarks import reporters
from benchmarks.rig import Rig, bare_task, cpu_seconds, message, p50, percentile, resident_bytes, rig

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS
from mcptasks_devcluster.eventually import eventually

REPORTERS: Final = 500
SECONDS: Final = 40.0
RESULT: Final = {"content": [{"type": "text", "text": "done"}]}
FORM: Final = {"type": "object", "properties": {"go": {"type": "boolean"}}}
NOWHERE: Final = {"example.invalid/none": "true"}
"""No node has that label: the pod is never started."""


@dataclass(frozen=True, kw_only=True)
class Speaker:
    """A task's pod, as the endpoint knows it."""

    task: str
    url: str
    token: str

    async def send(self, session: aiohttp.ClientSession, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """One request."""
        headers = {"Authorization": f"Bearer {self.token}"}
        async with session.request(method, f"{self.url}{path}", json=body, headers=headers) as answer:
            return answer.status, json.loads(await answer.text() or "null")


async def measure(*, kubeconfig: Path, count: int) -> dict[str, dict[str, float]]:
    """Returns the figures by measurement and name. `count`: results and answers that are timed."""
    token = secrets.token_hex(32)
    async with rig(kubeconfig=kubeconfig, operator=True, token=token) as running, _session() as session:
        results = await _results(running, session, count=count, token=token)
        answers = await _answers(running, session, count=count)
    async with rig(kubeconfig=kubeconfig, operator=False) as running:
        progress = await _progress(running)
    return {"a pod's result": results, "a pod's answer": answers, f"progress of {REPORTERS} pods": progress}


async def _results(running: Rig, session: aiohttp.ClientSession, *, count: int, token: str) -> dict[str, float]:
    """From sending a result to a listening client having it; the operator's part is in it."""
    heard, writes = [], []
    for _ in range(1 + count):  # the first one may wait until the operator has begun
        speaker = await _speaker(running)
        writes.append(await running.bare_write())
        async with _listening(running, session, speaker.task, token=token) as told:
            await eventually(lambda: _says(told, b"working"), what="the client listens")
            sent = time.monotonic()
            status, _ = await speaker.send(session, "PUT", "/result", RESULT)
            assert status == 204, status
            await eventually(lambda: _says(told, b'"completed"'), what="the client has the result")
            heard.append(told.at[b'"completed"'] - sent)
    return {
        "count": count,
        "write_ms_p50": p50(writes) * 1000,
        "heard_ms_p50": p50(heard[1:]) * 1000,
        "heard_ms_p99": percentile(heard[1:], 0.99) * 1000,
        "heard_per_write_p50": p50(heard[1:]) / p50(writes),
    }


async def _answers(running: Rig, session: aiohttp.ClientSession, *, count: int) -> dict[str, float]:
    """From the answer to `tasks/update` to that of the pod's long poll, which may come first."""
    speaker, waits = await _speaker(running), []
    for number in range(min(count, 60)):
        path = f"/questions/q{number}"
        await speaker.send(session, "PUT", path, {"message": "Go on?", "requestedSchema": FORM})
        waiting = asyncio.create_task(_answered(speaker, session, f"{path}?wait=60"))
        await asyncio.sleep(0.1)  # until it waits
        responses = {f"q{number}": {"action": "accept", "content": {"go": True}}}
        await running.client.request("tasks/update", speaker.task, taskId=speaker.task, inputResponses=responses)
        acknowledged = time.monotonic()
        waits.append(max(0.0, await waiting - acknowledged))
    return {"count": len(waits), "ms_p50": p50(waits) * 1000, "ms_p99": percentile(waits, 0.99) * 1000}


async def _answered(speaker: Speaker, session: aiohttp.ClientSession, path: str) -> float:
    status, _ = await speaker.send(session, "GET", path)
    assert status == 200, status
    return time.monotonic()


async def _progress(running: Rig) -> dict[str, float]:
    """Many pods report all the time; what the cluster sees of it is what a watch of our own sees."""
    speakers = await asyncio.gather(*(_speaker(running) for _ in range(REPORTERS)))
    shown = _Shown()
    watching = asyncio.create_task(shown.follow(running))
    cpu, began = cpu_seconds(running.server_pid), time.monotonic()
    taken, last = await _report(running, speakers)
    seconds = time.monotonic() - began
    used = cpu_seconds(running.server_pid) - cpu
    resident = resident_bytes(running.server_pid)
    with suppress(AssertionError):  # the figure says so
        await eventually(lambda: shown.has(last), what="the last values are shown", timeout_seconds=15)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    return {
        "reports_per_second": taken / seconds,
        "writes_per_second": (len(shown.moments) - 1) / (shown.moments[-1] - shown.moments[0]),
        "most_writes_in_a_second": max(shown.by_second.values()),
        "age_when_replaced_s_p50": p50(shown.ages),
        "age_when_replaced_s_p99": percentile(shown.ages, 0.99),
        "oldest_shown_s": max(shown.ages),
        "last_values_missing": sum(shown.values.get(task) != value for task, value in last.items()),
        "cpu_us_per_report": used / taken * 1e6,
        "resident_mib": resident / 2**20,
    }


@dataclass
class _Shown:
    """What a watch has shown of all progress."""

    moments: list[float] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)
    by_second: dict[str, int] = field(default_factory=dict)
    """How many writes each second had."""
    ages: list[float] = field(default_factory=list)
    """How old each value was, in seconds, when this watch saw a newer one in its place."""

    async def follow(self, running: Rig) -> None:
        """Follow the tasks from now on."""
        version = (await running.kube.list(TASKS, running.namespace, limit="1"))["metadata"]["resourceVersion"]
        watch = running.kube.watch(TASKS, running.namespace, timeout_seconds=120, resourceVersion=version)
        async with aclosing(watch) as events:
            async for event in events:
                self._see(event["object"])

    def _see(self, task: Json) -> None:
        name, report = task["metadata"]["name"], task.get("status", {}).get("report", {})
        value = report.get("progress", {}).get("progress")
        before = self.values.get(name)
        if value is None or value == before:
            return
        now = time.monotonic()
        self.moments.append(now)
        # By the API server's clock: a watch on a busy machine brings several seconds' changes at once.
        written = max(entry["time"] for entry in task["metadata"]["managedFields"])
        self.by_second[written] = self.by_second.get(written, 0) + 1
        self.values[name] = value
        if before is not None:
            self.ages.append(now - before / 1000)

    async def has(self, values: dict[str, float]) -> bool:
        """Whether these are what is shown."""
        return all(self.values.get(task) == value for task, value in values.items())


async def _report(running: Rig, speakers: list[Speaker]) -> tuple[int, dict[str, float]]:
    where = urlsplit(running.tasks_url)
    with tempfile.NamedTemporaryFile("w") as file:
        json.dump([(speaker.task, speaker.token) for speaker in speakers], file)
        file.flush()
        words = [str(reporters.__file__), str(where.hostname), str(where.port), str(SECONDS), file.name]
        process = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=asyncio.subprocess.PIPE)
        output, _ = await process.communicate()
    found: Json = json.loads(output)
    return found["taken"], found["last"]


async def _speaker(running: Rig) -> Speaker:
    """A task that has a Job and a pod, neither of which ever starts."""
    made = await running.kube.create(TASKS, running.namespace, bare_task("talks"))
    name, uid = str(made["metadata"]["name"]), str(made["metadata"]["uid"])
    owner = {"apiVersion": names.API_VERSION, "kind": names.TASK_KIND, "name": name, "uid": uid, "controller": True}
    container = {"name": "tool", "image": "example.invalid/none:1"}
    pod = {"restartPolicy": "Never", "containers": [container], "nodeSelector": NOWHERE}
    manifest: Json = {
        "metadata": {"name": name, "ownerReferences": [owner], "labels": {names.TASK_LABEL: name}},
        "spec": {"suspend": True, "template": {"spec": pod}},
    }
    job = await running.kube.create(JOBS, running.namespace, manifest)
    named = {"metadata": {"generateName": "talks-", "ownerReferences": [owner]}, "spec": pod}
    body = {**named, "apiVersion": "v1", "kind": "Pod"}
    there = (await running.kube.create(PODS, running.namespace, body))["metadata"]
    status = {"phase": "Pending", "job": {"name": name, "uid": job["metadata"]["uid"], "podUID": there["uid"]}}
    await running.kube.patch(TASKS, running.namespace, name, {"status": status}, subresource="status")
    bound = {"kind": "Pod", "apiVersion": "v1", "name": there["name"], "uid": there["uid"]}
    asked = {"spec": {"audiences": [names.task_audience(name)], "boundObjectRef": bound}}
    path = f"/api/v1/namespaces/{running.namespace}/serviceaccounts/default/token"
    token = json.loads(await running.kube.request("POST", path, body=asked))["status"]["token"]
    return Speaker(task=name, url=f"{running.tasks_url}{names.TASKS_PATH}/{name}", token=token)


@dataclass
class _Told:
    """What a listening client has been told up to now."""

    text: bytes = b""
    at: dict[bytes, float] = field(default_factory=dict)
    """When a word first came."""

    def hear(self, data: bytes) -> None:
        """Take what came."""
        self.text += data
        for word in (b"working", b'"completed"'):
            if word in self.text:
                self.at.setdefault(word, time.monotonic())


async def _says(told: _Told, word: bytes) -> bool:
    return word in told.at


@asynccontextmanager
async def _listening(running: Rig, session: aiohttp.ClientSession, task: str, *, token: str) -> AsyncIterator[_Told]:
    headers, body = message("subscriptions/listen", "", token=token, notifications={"taskIds": [task]})
    del headers["Mcp-Name"]
    told = _Told()
    async with session.post(running.url, json=body, headers=headers) as response:

        async def read() -> None:
            async for chunk in response.content.iter_any():
                told.hear(chunk)

        reading = asyncio.create_task(read())
        try:
            yield told
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            response.close()


def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
