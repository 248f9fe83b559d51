"""Secret arguments, by every door and to every end: they are in one Secret and in the program, and nowhere else."""

import asyncio
import base64
import hashlib
import json
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from typing import Any, Final
from urllib.parse import quote, quote_plus

import aiohttp
import pytest

from mcptasks_crds import names
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.forwarding import forwarded
from mcptasks_server.tasks import IDEMPOTENCY_KEY
from mcptasks_server.testing.answers import Answer
from mcptasks_server.testing.legacy_wire import LegacyWire
from mcptasks_server.testing.wire import WITH_FORMS, WITH_TASKS, Wire

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(500)]

MakeTool = Callable[..., None]
NAMESPACE: Final = "job-test"
CORE: Final = "Zq7xHunter2x9wQ"
SECRET: Final = f'{CORE} "ü"/+&<{CORE}>%\\ \n=;'
"""Whose every encoding differs."""
CRC: Final = str(zlib.crc32(SECRET.encode()))
SCHEMA: Final = {
    "type": "object",
    "required": ["password"],
    "properties": {
        "password": {"type": "string", "writeOnly": True, "maxLength": 100, "not": {"pattern": "broken$"}},
        "login": {"type": "object", "properties": {"pin": {"$ref": "#/$defs/pin"}}},
        "mode": {"enum": ["good", "fail", "raise", "ask", "sleep"]},
    },
    "additionalProperties": False,
    "$defs": {"pin": {"type": "string", "writeOnly": True, "maxLength": 100}},
}
PROGRAM: Final = """
import os, sys, time, urllib.request, zlib
from mcptasks.job import Task, task, text

def main(password: str, login: dict, mode: str = "good"):
    assert login["pin"] == password
    seen = [name for name, value in os.environ.items() if "Hunter2" in value]
    bare = Task({name: value for name, value in os.environ.items() if name != "MCPTASK_ARGUMENTS"})
    same = bare.arguments == task.arguments
    told = f"{zlib.crc32(password.encode())}, environment {seen}, without the variable {same}"
    if mode == "fail":
        print(told, flush=True)
        sys.exit(3)
    if mode == "raise":
        raise PermissionError(told)
    if mode == "ask":
        task.ask("Sure?", text(), key="sure")
    if mode == "sleep":
        task.progress(1, 2, "asleep")
        time.sleep(600)
    task.complete(told)

task.run(main)
"""
GOOD: Final = f"{CRC}, environment [], without the variable True"
FORM: Final = {"type": "object", "properties": {"sure": {"type": "boolean"}}}
LATE: Final = """
import json, os
print(json.load(open(os.environ["MCPTASK_ARGUMENTS"]))["user"], end="")
"""


def forms_of(secret: str) -> Iterator[bytes]:
    """The ways in which a secret could stand in a text, base64 at any place of what was encoded included."""
    as_json = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    texts = {secret, quote(secret, safe=""), quote_plus(secret), CORE, *as_json}
    texts |= {json.dumps(text)[1:-1] for text in as_json}  # JSON text within JSON
    digests = {hash_of(text.encode()).hexdigest() for text in (secret, *as_json) for hash_of in HASHES}
    yield from (text.encode() for text in texts | digests)
    for text in (CORE, secret, *as_json):
        for before in range(3):
            for encode in (base64.standard_b64encode, base64.urlsafe_b64encode):
                # The first and the last characters depend on what stands beside it.
                yield encode(b"x" * before + text.encode())[4:-4]


HASHES: Final = (hashlib.md5, hashlib.sha1, hashlib.sha256, hashlib.sha512)


def found_in(text: str | bytes) -> list[bytes]:
    raw = text.encode() if isinstance(text, str) else text
    return [form for form in forms_of(SECRET) if form in raw]


def arguments(mode: str = "good", **others: Any) -> dict[str, Any]:
    return {"password": SECRET, "login": {"pin": SECRET}, "mode": mode, **others}


class Caller:
    """Somebody who calls by every door; what is answered is kept."""

    def __init__(self, wire: Wire, legacy: LegacyWire) -> None:
        self.wire, self.legacy = wire, legacy
        self.answers: list[Answer] = []

    async def modern(self, method: str, params: Mapping[str, Any], **how: Any) -> Answer:
        return self._kept(await self.wire.call(method, params, **{"capabilities": WITH_TASKS, **how}))

    async def old(self, method: str, params: Mapping[str, Any]) -> Answer:
        return self._kept(await self.legacy.call(method, params))

    async def ended(self, task_id: str, *statuses: str) -> dict[str, Any]:
        """The task once it is over, or as it is to be."""

        async def probe() -> dict[str, Any] | None:
            answer = await self.modern("tasks/get", {"taskId": task_id}, capabilities=WITH_FORMS)
            return answer.result if answer.result["status"] in (statuses or ENDS) else None

        return await eventually(probe, what=f"{task_id} ends", timeout_seconds=120)

    def _kept(self, answer: Answer) -> Answer:
        self.answers.append(answer)
        return answer


ENDS: Final = ("completed", "failed", "cancelled")


@pytest.fixture
async def caller(wire: Wire) -> Caller:
    return Caller(wire, await LegacyWire.connected(wire, capabilities={}))


@pytest.fixture
def tools(python_tool: MakeTool, release: Any) -> None:
    question = {"key": "sure", "message": "Sure?", "requestedSchema": FORM}
    python_tool("vault", PROGRAM, inputSchema=SCHEMA)
    python_tool("soon", PROGRAM, inputSchema=SCHEMA, holdSeconds=1)
    python_tool("guarded", PROGRAM, inputSchema=SCHEMA, questions=[question | {"when": "beforeStart"}])
    python_tool("first", PROGRAM, inputSchema=SCHEMA, questions=[question | {"when": "beforeTask"}])
    python_tool("late", LATE, inputSchema={"type": "object", "properties": {"user": {"type": "string"}}})


async def good_calls(caller: Caller) -> None:
    """By every door, and the tool has its secret each time."""
    call = {"name": "vault", "arguments": arguments()}
    handle = (await caller.modern("tools/call", call, meta={IDEMPOTENCY_KEY: "once"})).result["taskId"]
    asked = (await caller.old("tools/call", {**call, "task": {"ttl": 600_000}})).result["task"]["taskId"]
    plain, held, again = await asyncio.gather(
        caller.modern("tools/call", call, capabilities={}),
        caller.old("tools/call", call),
        caller.modern("tools/call", call, meta={IDEMPOTENCY_KEY: "once"}),
    )
    result = (await caller.old("tasks/result", {"taskId": asked})).result

    assert again.result["taskId"] == handle
    for each in (plain.result, held.result, result, (await caller.ended(handle))["result"]):
        assert [part["text"] for part in each["content"]] == [GOOD]
    shown = await caller.modern("tools/call", {"name": "task_get", "arguments": {"taskId": handle}}, capabilities={})
    assert GOOD in shown.text


async def bad_calls(caller: Caller) -> None:
    """Everything that a call can be refused for, with the secret where it is wrong."""
    wrong: list[dict[str, Any]] = [
        arguments() | {"password": SECRET * 10},
        arguments() | {"password": {SECRET: SECRET}},
        arguments() | {"password": f"{SECRET}broken"},
        arguments() | {"login": {"pin": SECRET * 10}},
        arguments() | {"login": {"pin": {SECRET: [SECRET]}}},
        arguments() | {"mode": "none of these"},
        {"login": {"pin": SECRET}},
        arguments() | {"other": 1},
        arguments() | {"password": SECRET * 6000},
    ]
    for given in wrong:
        call = {"name": "vault", "arguments": given}
        for answer in (
            await caller.modern("tools/call", call),
            await caller.modern("tools/call", call, capabilities={}),
            await caller.old("tools/call", {**call, "task": {}}),
            await caller.old("tools/call", call),
        ):
            assert answer.body.get("error") or answer.result["isError"], answer.text
    body = caller.wire.body_of("tools/call", {"name": "vault", "arguments": arguments()})
    text = json.dumps(SECRET)
    headers = caller.wire.headers_for("tools/call", {"name": "vault"})
    for broken in (
        body.replace('"mode"', f'"password": {text}, "mode"'),  # a member twice
        body.replace('"mode"', f'{text} "mode"'),  # no JSON
        body.replace('"arguments": {', f'"arguments": {text}, "x": {{'),  # no object
        body[:-40],
    ):
        assert "error" in caller._kept(await caller.wire.post(broken, headers=headers)).body
    refused = await caller.modern(
        "tools/call", {"name": "vault", "arguments": arguments("fail")}, meta={IDEMPOTENCY_KEY: "once"}
    )
    assert "other arguments" in refused.message
    gone = await caller.modern("tools/call", {"name": "no-such-tool", "arguments": arguments()})
    assert "Unknown tool" in gone.message


async def other_ends(caller: Caller) -> None:
    """Tools that fail, ask, wait, are cancelled, and are held back."""
    begun = {}
    for name, mode in (
        ("vault", "fail"),
        ("vault", "raise"),
        ("vault", "ask"),
        ("vault", "sleep"),
        ("guarded", "good"),
    ):
        call = {"name": name, "arguments": arguments(mode)}
        answer = await caller.modern("tools/call", call, capabilities=WITH_FORMS)
        begun[name, mode] = answer.result["taskId"]
    assert GOOD in (await caller.ended(begun["vault", "fail"]))["result"]["content"][0]["text"]
    assert f"PermissionError: {GOOD}" == (await caller.ended(begun["vault", "raise"]))["result"]["content"][0]["text"]

    asking = begun["vault", "ask"]
    await caller.ended(asking, "input_required")
    await caller.ended(begun["guarded", "good"], "input_required")
    answers = {"sure": {"action": "accept", "content": {"answer": "yes"}}}
    await caller.modern("tasks/update", {"taskId": asking, "inputResponses": answers}, capabilities=WITH_FORMS)
    for each in (begun["vault", "sleep"], begun["guarded", "good"]):
        await caller.modern("tasks/cancel", {"taskId": each}, capabilities=WITH_FORMS)
        assert (await caller.ended(each))["status"] == "cancelled"
    assert (await caller.ended(asking))["result"]["content"][0]["text"] == GOOD

    handed = await caller.modern("tools/call", {"name": "soon", "arguments": arguments("sleep")}, capabilities={})
    task_id = handed.result["structuredContent"]["taskId"]
    for call in (
        {"name": "task_get", "arguments": {"taskId": task_id, "waitSeconds": 0}},
        {"name": "task_cancel", "arguments": {"taskId": task_id}},
    ):
        assert not (await caller.modern("tools/call", call, capabilities={})).result.get("isError")

    call = {"name": "first", "arguments": arguments()}
    asks = await caller.modern("tools/call", call, capabilities=WITH_FORMS)
    state = asks.result["requestState"]
    assert found_in(opened(state)) == []
    more = {"requestState": state, "inputResponses": {"sure": {"action": "accept", "content": {"sure": True}}}}
    handle = (await caller.modern("tools/call", {**call, **more}, capabilities=WITH_FORMS)).result["taskId"]
    assert (await caller.ended(handle))["result"]["content"][0]["text"] == GOOD


def opened(state: str) -> bytes:
    """What is in a signed state, which anybody can read; it is compressed where that is shorter."""
    body, _, _ = state.rpartition(".")
    raw = base64.urlsafe_b64decode(body.lstrip(".") + "==")
    text = zlib.decompress(raw) if body.startswith(".") else raw
    assert b'"caller"' in text
    return text


def everything(release: Any) -> Iterator[tuple[str, str]]:
    """All that the cluster tells of the namespace, by where it stands; of Secrets with arguments not the arguments."""
    kinds = set(release.kubectl("api-resources", "--namespaced", "--verbs=list", "--output=name").split())
    assert kinds >= {"mcptasks.mcptasks.dev", "mcptools.mcptasks.dev", "jobs.batch", "pods", "events", "configmaps"}
    listed = ",".join(sorted(kinds - {"secrets"}))
    yield "get", release.kubectl("get", listed, "--output=json", "--show-managed-fields")
    yield "describe", release.kubectl("describe", f"{listed},secrets")
    for secret in secrets_of(release):
        if holds_arguments(secret):
            assert found_in(base64.b64decode(secret["data"].pop("arguments.json")))
        yield f"secret {secret['metadata']['name']}", json.dumps(secret)
        for key, value in secret.get("data", {}).items():
            yield f"secret {secret['metadata']['name']}/{key}", base64.b64decode(value).decode("utf-8", "replace")
    for pod in release.kubectl("get", "pods", "--output=name").split():
        yield f"logs of {pod}", release.kubectl("logs", pod, "--all-containers", "--ignore-errors")


def holds_arguments(secret: Mapping[str, Any]) -> bool:
    task = secret["metadata"].get("labels", {}).get(names.TASK_LABEL, "")
    return bool(secret["metadata"]["name"] == names.arguments_secret_name(task))


def secrets_of(release: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        release.kubectl("get", "secrets", "--output=json", "--show-managed-fields")
    )["items"]
    return found


async def metrics_of(release: Any) -> AsyncIterator[tuple[str, str]]:
    """What both services count."""
    selector = "app.kubernetes.io/instance=job,app.kubernetes.io/component in (server, operator)"
    pods = json.loads(release.kubectl("get", "pods", "--selector", selector, "--output=json"))["items"]
    assert len(pods) >= 2
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())
        for pod in pods:
            name = pod["metadata"]["name"]
            ports = {each["name"]: each["containerPort"] for each in pod["spec"]["containers"][0]["ports"]}
            way = forwarded(name, ports["metrics"], kubeconfig=release.kubeconfig, namespace=NAMESPACE)
            url = await stack.enter_async_context(way)
            async with session.get(f"{url}/metrics") as response:
                text = await response.text()
            assert "mcptasks_" in text
            yield f"metrics of {name}", text


def by_hand(name: str) -> str:
    """A task that somebody writes by hand, whose arguments are in a Secret."""
    spec = {"tool": {"name": "late"}, "argumentsFrom": {"secretName": names.arguments_secret_name(name)}}
    head = {"apiVersion": names.API_VERSION, "kind": names.TASK_KIND, "metadata": {"name": name}}
    return json.dumps({**head, "spec": spec | {"caller": "anonymous"}})


async def without_its_secret(caller: Caller, release: Any) -> None:
    """A pod waits for its Secret as long as it takes, and the task for 30 seconds."""

    async def kubectl(*words: str, **given: str) -> str:
        return str(await asyncio.to_thread(release.kubectl, *words, **given))

    late, lost = names.new_task_id(), names.new_task_id()
    for task_id in (late, lost):
        await kubectl("create", "--filename", "-", given=by_hand(task_id))

    async def kubelet_misses_both() -> bool:
        events = await kubectl("get", "events", "--field-selector", "reason=FailedMount", "--output=json")
        told = [each for each in json.loads(events)["items"] if "-arguments" in each["message"]]
        return {each["involvedObject"]["name"].rpartition("-")[0] for each in told} >= {late, lost}

    await eventually(kubelet_misses_both, what="the kubelet waits for both Secrets", timeout_seconds=25)
    document = "--from-literal=arguments.json=" + json.dumps({"user": "ann"})
    await kubectl("create", "secret", "generic", names.arguments_secret_name(late), document)

    missed, came = await caller.ended(lost), await caller.ended(late)

    assert missed["error"]["data"] == {"reason": "ArgumentsLost"}
    assert names.arguments_secret_name(lost) in missed["error"]["message"]
    assert came["result"]["content"][0]["text"] == "ann"

    async def is_gone() -> bool:
        return not await kubectl("get", "pods", "--selector", f"mcptasks.dev/task={lost}", "--output", "name")

    await eventually(is_gone, what="the pod that waited in vain is taken away", timeout_seconds=60)
    await kubectl("delete", "secret", names.arguments_secret_name(late))


@pytest.mark.requirement("ours/secret-arguments", "ours/half-made-calls")
async def test_a_secret_is_in_one_secret_and_in_the_program_and_nowhere_else(
    caller: Caller, tools: None, release: Any
) -> None:
    """Beside it, for it takes its time: what becomes of tasks whose Secret comes late, or never."""
    await asyncio.gather(good_calls(caller), other_ends(caller), without_its_secret(caller, release))
    await bad_calls(caller)

    leaks = {where: found for where, text in everything(release) if (found := found_in(text))}
    leaks |= {where: found async for where, text in metrics_of(release) if (found := found_in(text))}
    leaks |= {
        answer.text[:200]: found
        for answer in caller.answers
        if (found := found_in(answer.text + json.dumps(answer.before) + str(answer.headers)))
    }
    assert leaks == {}

    # What is to be found is found: each Secret with arguments has it, as it is encoded there.
    own = [each for each in secrets_of(release) if holds_arguments(each)]
    assert len(own) == len({each["metadata"]["name"] for each in own}) >= 10
    assert all(found_in(json.dumps(each["data"])) for each in own)
