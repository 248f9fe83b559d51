"""One run: a namespace, the two services behind their proxies, the load, the storm, the verdict."""

import asyncio
import json
import os
import secrets
import shutil
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp

from mcptasks_crds.kube import SECRETS, TOOLS, Kube
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.local import LocalCluster
from mcptasks_devcluster.proxy import FaultProxy
from mcptasks_devcluster.services import services
from mcptasks_server.testing.wire import Wire

from .credentials import Credentials
from .load import Load
from .machine import OurClock
from .plan import LASTING, SERVICES, Fate, Plan, Service, Tool
from .recorder import Recorder
from .relay import Relay
from .report import write_report
from .settling import settle
from .storm import Storm
from .timeline import Timeline
from .tools import is_kept, manifests
from .verdict import Complaint, Evidence, judge

NAMESPACES: Final = "/api/v1/namespaces"
AT_ONCE: Final = 16
"""So many tasks may be under way before the next call waits for one of them to end,"""
WAIT_SECONDS: Final = 2.0
"""but no longer than this: while nothing works, the storm goes on."""
PACE_SECONDS: Final = 0.15
SHOWN_SECONDS: Final = 120.0
"""How long all clients together may take to ask once more, when all is over."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where runs take place."""

    kube: Kube
    """Past all faults."""
    cluster: LocalCluster
    image: str
    directory: Path
    """Of this run."""
    reports: Path
    """Where a run that failed leaves its report."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a run."""

    settled_seconds: float
    """How long after all was healed everything was over."""
    our_seconds: float
    """The same, as far as others left the machine to us."""
    requests_a_task: float
    """The operator's, in the mean; no watches."""
    own_exits: tuple[str, ...]
    seconds: float
    """From the first call to the verdict."""
    words: str
    """Empty, or what was wrong."""

    def __str__(self) -> str:
        exits = f", {', '.join(self.own_exits)}" if self.own_exits else ""
        verdict = "wrong" if self.words else "right"
        return (
            f"{verdict} after {self.seconds:.0f} s; over {self.settled_seconds:.1f} s after all was healed "
            f"({self.our_seconds:.1f} s of it ours); {self.requests_a_task:.1f} requests of the operator a task{exits}"
        )


async def run(plan: Plan, place: Place) -> Outcome:
    """Do it."""
    place.directory.mkdir(parents=True, exist_ok=True)
    timeline = Timeline()
    async with AsyncExitStack() as stack:
        namespace = await _namespace(stack, place.kube)
        storm = await _storm(stack, place, namespace, timeline)
        recording = Recorder(kube=place.kube, namespace=namespace, timeline=timeline)
        recorder = await stack.enter_async_context(recording.running())
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        load = Load(
            wire=Wire(session, storm.services.url),
            kube=place.kube,
            namespace=namespace,
            recorder=recorder,
            timeline=timeline,
            secret=secrets.token_hex(8),
        )
        diary = await _prepare(storm, place, namespace)
        await _serve(storm, load)
        keeping = asyncio.create_task(storm.keep_running())
        stack.callback(keeping.cancel)
        under_way = await _rage(plan, storm, load)
        settled = await settle(plan, load, under_way, OurClock(roots=(os.getpid(), place.cluster.first_process)))
        complaints = settled.complaints
        if not complaints:
            evidence = Evidence(
                recording=recorder,
                ids=load.known(),
                diary=(diary / "lines").read_text().splitlines(),
                outages=storm.outages,
                requests=storm.proxies["operator"].requests,
            )
            complaints += judge(plan, evidence)
            complaints += [Complaint(what=what) for what in load.complaints]
            complaints += await _shown(plan, load)
            complaints += await _secrets_left(place.kube, namespace)
        complaints += _tracebacks(place.directory)
        words = write_report(place.directory, plan, timeline, recorder, complaints) if complaints else ""
        if words:
            shutil.rmtree(place.reports, ignore_errors=True)
            shutil.copytree(place.directory, place.reports)
            words += f"\nplan, timeline, objects and logs: {place.reports}"
        plain = [each for each in storm.proxies["operator"].requests if not each.is_watch and not each.is_dry_run]
        return Outcome(
            settled_seconds=settled.seconds,
            our_seconds=settled.our_seconds,
            requests_a_task=len(plain) / len(plan.calls),
            own_exits=tuple(storm.own_exits),
            seconds=timeline.now(),
            words=words,
        )


async def _namespace(stack: AsyncExitStack, kube: Kube) -> str:
    made = json.loads(await kube.request("POST", NAMESPACES, body={"metadata": {"generateName": "chaos-"}}))
    namespace = str(made["metadata"]["name"])
    stack.push_async_callback(kube.request, "DELETE", f"{NAMESPACES}/{namespace}")
    return namespace


async def _storm(stack: AsyncExitStack, place: Place, namespace: str, timeline: Timeline) -> Storm:
    keys = place.directory / "keys"
    keys.mkdir()
    (keys / "0").write_text(secrets.token_hex(32))
    proxies: dict[Service, FaultProxy] = {}
    credentials: dict[Service, Credentials] = {}
    kubeconfigs: dict[Service, Path] = {}
    for service in SERVICES:
        proxy = await stack.enter_async_context(FaultProxy.running(place.kube.configuration))
        proxies[service] = proxy
        credentials[service] = Credentials(proxy=proxy, file=place.directory / f"{service}.token")
        credentials[service].rotate()
        kubeconfigs[service] = credentials[service].write_kubeconfig(place.directory / f"{service}.kubeconfig")
    listener, address = place.cluster.listen()
    running = await stack.enter_async_context(
        services(
            kubeconfig=kubeconfigs["server"],
            namespace=namespace,
            environment={
                "MCPTASKS_SIGNING_KEYS_DIR": str(keys),
                "MCPTASKS_LOG_LEVEL": "info",
                "MCPTASKS_TASK_ENDPOINT": f"http://{address}",
            },
            logs=place.directory,
        )
    )
    relay = Relay(port=int(running.environment["MCPTASKS_TASK_PORT"]))
    await stack.enter_async_context(relay.running(listener))
    return Storm(
        relay=relay,
        kube=place.kube,
        services=running,
        proxies=proxies,
        credentials=credentials,
        kubeconfigs=kubeconfigs,
        cluster=place.cluster,
        timeline=timeline,
    )


async def _prepare(storm: Storm, place: Place, namespace: str) -> Path:
    diary = place.directory / "diary"
    diary.mkdir()
    diary.chmod(0o777)
    (diary / "lines").touch()
    (diary / "lines").chmod(0o666)
    for manifest in manifests(image=place.image, diary=str(diary)):
        await place.kube.create(TOOLS, namespace, manifest)
    for service in SERVICES:
        await storm.services.start(service, kubeconfig=storm.kubeconfigs[service])
    return diary


async def _serve(storm: Storm, load: Load) -> None:
    async def is_served() -> bool:
        try:
            answer = await load.wire.call("tools/list")
        except aiohttp.ClientError:
            return False
        return {str(tool) for tool in Tool} <= {each["name"] for each in answer.body.get("result", {}).get("tools", ())}

    await eventually(is_served, what="the tools are listed", timeout_seconds=120)


async def _rage(plan: Plan, storm: Storm, load: Load) -> list[asyncio.Task[None]]:
    """The storm, step by step, and its end. Returns what clients do and did."""
    timeline = storm.timeline
    under_way: list[asyncio.Task[None]] = []
    for step in range(len(plan.calls) + 1):
        timeline.step = step
        for event in plan.events:
            if event.trouble in LASTING and event.until == step:
                await storm.end(event)
        for event in plan.events:
            if event.step == step:
                await storm.begin(event)
        under_way += [
            asyncio.create_task(load.meet(call), name=f"{call.fate} {call.number}")
            for call in plan.calls
            if call.step == step and call.fate is not Fate.NOTHING
        ]
        if step < len(plan.calls):
            under_way.append(asyncio.create_task(load.call(plan.calls[step]), name=f"call {step}"))
            await asyncio.sleep(PACE_SECONDS)
            await _less_under_way(load)
    await storm.heal()
    return under_way


async def _less_under_way(load: Load) -> None:
    async def is_less() -> bool:
        tasks = load.recorder.living(lambda it: it.tasks)
        return sum("finishedAt" not in task.get("status", {}) for task in tasks) < AT_ONCE

    try:
        await eventually(is_less, what="a task has ended", timeout_seconds=WAIT_SECONDS)
    except AssertionError:  # nothing works at the moment: the storm goes on
        return


async def _shown(plan: Plan, load: Load) -> list[Complaint]:
    """What clients are shown is what the object says."""
    statuses = {each["metadata"]["name"]: each["status"] for each in load.recorder.living(lambda it: it.tasks)}
    ids = load.known()
    found: list[Complaint] = []
    async with asyncio.timeout(SHOWN_SECONDS):
        answers = {call.number: await load.shown(ids[call.number]) for call in plan.calls}
    for call in plan.calls:
        task, answer = ids[call.number], answers[call.number]
        shown = answer.get("result", {}).get("status")
        if not is_kept(call):
            if answer.get("error", {}).get("code") != -32602:
                found.append(Complaint(what=f"it is gone, and clients are shown {answer}", task=task))
        elif shown != statuses[task]["phase"].lower():
            found.append(Complaint(what=f"it is {statuses[task]['phase']}, and clients are shown {answer}", task=task))
    return found


async def _secrets_left(kube: Kube, namespace: str) -> list[Complaint]:
    items = (await kube.list(SECRETS, namespace))["items"]
    return [Complaint(what=f"the Secret {each['metadata']['name']} is left") for each in items]


def _tracebacks(directory: Path) -> list[Complaint]:
    """Errors of our own that nobody expected; kopf tells of each failed watch with a traceback."""
    found = []
    for service in SERVICES:
        log = directory / f"{service}.log"
        lines = [line for line in log.read_text(errors="replace").splitlines() if "Traceback" in line]
        if any('"logger": "kopf' not in line and "site-packages/kopf/" not in line for line in lines):
            found.append(Complaint(what=f"the log of the {service} has a traceback: {log}"))
    return found
