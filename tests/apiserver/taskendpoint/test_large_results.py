"""Large results over a real API server: two replicas, one that is replaced, Secrets that go with their tasks."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from mcptasks_crds import limits, names
from mcptasks_crds.kube import SECRETS, TASKS, NotFoundError
from mcptasks_crds.task import McpTask, Report
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.proxy import Fault
from mcptasks_devcluster.services import services
from mcptasks_server.caller import ANONYMOUS
from mcptasks_server.projection import detailed_task, result_text
from mcptasks_server.testing.pods import PodClient

pytestmark = pytest.mark.apiserver

FRAME = '{"content":[{"type":"text","text":"%s"}],"structuredContent":{"n":1.0,"none":null}}'
COMPLETED = {"phase": "Completed", "reason": "Succeeded", "result": {"from": "report"}}


def of_bytes(size: int, character: str = "x") -> bytes:
    """A result of so many bytes."""
    return (FRAME % (character * (size - len(FRAME % "")))).encode()


def parts(size: int) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": "x" * size}]}


async def secrets_of(rig: Any, task: str) -> list[dict[str, Any]]:
    found = await rig.kube.list(SECRETS, rig.namespace, labelSelector=f"{names.TASK_LABEL}={task}")
    items: list[dict[str, Any]] = found["items"]
    return items


async def report_of(rig: Any, task: str) -> Report:
    report: Report = (await rig.seen(task)).status.report
    return report


async def shown(replica: Any, task: str) -> McpTask:
    """What a replica's clients are shown, once it knows that the task is over."""
    found: list[McpTask] = []

    async def is_over() -> bool:
        found.append(await replica.backend.services.tasks.get(task, caller=ANONYMOUS))
        return found[-1].status.phase is not None and found[-1].status.phase.is_terminal

    await eventually(is_over, what="the replica knows of the end")
    return found[-1]


@pytest.mark.parametrize("size", [300_000, 700_000, limits.LARGE_RESULT_BYTES])
async def test_a_large_result_is_in_a_secret_of_its_task_and_comes_back_at_every_replica(
    size: int, rig: Any, replica: Any
) -> None:
    task, pod, _ = await rig.first_attempt()  # Kubernetes takes an owner that is not there off the Secret
    given = await rig.client(replica, task, pod).put("/result", of_bytes(size))
    await rig.write(task, COMPLETED)

    (secret,) = await secrets_of(rig, task)
    source = (await report_of(rig, task)).result_from
    assert given.status == 204
    assert source is not None
    assert (secret["metadata"]["name"], source.bytes) == (source.secret_name, size)
    assert secret["immutable"] is True
    assert [owner["kind"] for owner in secret["metadata"]["ownerReferences"]] == [names.TASK_KIND, "Job"]
    assert base64.b64decode(secret["data"][names.RESULT_KEY]) == of_bytes(size)
    async with rig.replica() as other:
        for each in (replica, other):
            assert result_text(await shown(each, task)) == of_bytes(size).decode()


async def test_one_byte_more_is_refused_and_of_it_both_ends_are_kept(rig: Any, replica: Any) -> None:
    task, pod = await rig.running()
    said = await rig.client(replica, task, pod).put("/result", of_bytes(limits.LARGE_RESULT_BYTES + 1, "<"))

    kept = (await report_of(rig, task)).too_large
    assert (said.status, await secrets_of(rig, task)) == (413, [])
    assert kept is not None
    assert (kept.bytes, kept.limit) == (limits.LARGE_RESULT_BYTES + 1, limits.LARGE_RESULT_BYTES)
    assert (kept.head, kept.tail) == ("<" * 85, "<" * 85)


async def test_of_two_large_results_at_two_replicas_one_is_taken(rig: Any, replica: Any) -> None:
    async with rig.replica() as other:
        for _ in range(3):
            task, pod = await rig.running()
            results = [of_bytes(400_000), of_bytes(400_001)]
            said = await asyncio.gather(
                *(
                    rig.client(each, task, pod).put("/result", body)
                    for each, body in zip((replica, other), results, strict=True)
                )
            )
            await rig.write(task, COMPLETED)

            assert sorted(each.status for each in said) == [204, 409]
            won = results[[each.status for each in said].index(204)].decode()
            assert result_text(await shown(replica, task)) == won


async def test_the_same_large_result_at_two_replicas_is_one_secret(rig: Any, replica: Any) -> None:
    task, pod = await rig.running()
    async with rig.replica() as other:
        said = await asyncio.gather(
            *(rig.client(each, task, pod).put("/result", of_bytes(400_000)) for each in (replica, other) * 3)
        )

    assert {each.status for each in said} == {204}
    assert len(await secrets_of(rig, task)) == 1


async def test_a_server_that_is_cut_off_between_the_two_writes_is_followed_by_one_that_makes_the_second(
    rig: Any, proxy: Any, proxied: Any, replica: Any
) -> None:
    task, pod = await rig.running()
    async with rig.replica(proxied) as cut_off:
        sending = asyncio.create_task(rig.client(cut_off, task, pod).put("/result", of_bytes(500_000)))

        async def is_kept() -> bool:
            if not await secrets_of(rig, task):
                return False
            proxy.cut()
            return True

        await eventually(is_kept, what="the Secret is there")
        first = await sending
        proxy.mend()
    second = await rig.client(replica, task, pod).put("/result", of_bytes(500_000))
    await rig.write(task, COMPLETED)

    assert first.status in (204, 503)  # the cut may have come too late
    assert second.status == 204
    assert len(await secrets_of(rig, task)) == 1
    assert result_text(await shown(replica, task)) == of_bytes(500_000).decode()


@pytest.mark.parametrize("repeated", [500_000, 500_001], ids=["the same", "another"])
async def test_a_server_that_is_killed_exactly_between_the_two_writes_leaves_nothing_that_stands_in_the_way(
    repeated: int, rig: Any, proxy: Any, replica: Any, tmp_path: Path
) -> None:
    task, pod = await rig.running()
    kept = proxy.add(Fault(method="POST", path="/secrets$", hold_answer=True))
    kubeconfig = proxy.write_kubeconfig(tmp_path / "kubeconfig")
    async with services(kubeconfig=kubeconfig, namespace=rig.namespace) as processes:
        await processes.start("server")
        url = f"http://127.0.0.1:{processes.environment['MCPTASKS_TASK_PORT']}{names.TASKS_PATH}/{task}"
        client = PodClient(session=rig.session, url=url, token=pod.token)

        async def is_ready() -> bool:
            try:
                return (await client.get()).status == 200
            except aiohttp.ClientError:
                return False

        await eventually(is_ready, what="the server serves", timeout_seconds=60)
        sending = asyncio.create_task(client.put("/result", of_bytes(500_000)))
        async with asyncio.timeout(30):
            await kept.reached.wait()
        await processes.kill("server")
        with pytest.raises(aiohttp.ClientError):
            await sending
    assert ((await rig.seen(task)).status.report, len(await secrets_of(rig, task))) == (None, 1)

    body = of_bytes(repeated)
    said = [await rig.client(replica, task, pod).put("/result", body) for _ in range(3)]
    await rig.write(task, COMPLETED)

    assert [each.status for each in said] == [204, 204, 204]
    assert result_text(await shown(replica, task)) == body.decode()
    assert len(await secrets_of(rig, task)) == (1 if repeated == 500_000 else 2)
    await rig.kube.delete(TASKS, rig.namespace, task)

    async def none_is_left() -> bool:
        return await secrets_of(rig, task) == []

    await eventually(none_is_left, what="the Secrets are gone with their task", timeout_seconds=60)


async def test_a_server_that_is_replaced_in_the_middle_loses_no_part(rig: Any) -> None:
    task, pod = await rig.running()
    sizes = (100_000, 200_000, 10, 300_000)
    async with rig.replica() as first:
        for key, size in enumerate(sizes[:3]):
            said = await rig.client(first, task, pod).post("/content", parts(size), **{"Idempotency-Key": str(key)})
            assert said.status == 204
    async with rig.replica() as second:
        for key, size in enumerate(sizes):
            said = await rig.client(second, task, pod).post("/content", parts(size), **{"Idempotency-Key": str(key)})
            assert said.status == 204
        given = await rig.client(second, task, pod).put("/result", {"content": []})
        await rig.write(task, COMPLETED)
        text = result_text(await shown(second, task))

    assert given.status == 204
    assert text is not None
    assert [len(part["text"]) for part in json.loads(text)["content"]] == list(sizes)
    assert len(await secrets_of(rig, task)) == 3


async def test_a_large_result_after_a_cancel_is_refused(rig: Any, replica: Any) -> None:
    task, pod = await rig.running()
    await rig.write(task, {"phase": "Cancelled"})

    said = await rig.client(replica, task, pod).put("/result", of_bytes(400_000))

    assert (said.status, await secrets_of(rig, task)) == (409, [])


async def test_of_a_large_result_and_a_cancel_the_api_server_takes_the_first(rig: Any, replica: Any) -> None:
    for _ in range(3):
        task, pod = await rig.running()
        giving = asyncio.create_task(rig.client(replica, task, pod).put("/result", of_bytes(400_000)))
        await rig.write(task, {"phase": "Cancelled"})  # nothing has ended the task yet, so it may always be cancelled
        said = await giving
        report = await report_of(rig, task)
        assert (said.status == 204) == (report is not None and report.result_from is not None)
        assert said.status in (204, 409)


async def test_the_secrets_go_with_their_task(rig: Any, replica: Any) -> None:
    task, pod = await rig.running()
    client = rig.client(replica, task, pod)
    await client.post("/content", parts(200_000))
    await client.put("/result", of_bytes(400_000))
    assert len(await secrets_of(rig, task)) == 2
    await rig.kube.delete(TASKS, rig.namespace, task)

    async def are_gone() -> bool:
        return not await secrets_of(rig, task)

    await eventually(are_gone, what="the task's Secrets are gone")


async def test_a_result_whose_secret_is_gone_is_lost_with_a_reason(rig: Any, replica: Any) -> None:
    task, pod = await rig.running()
    await rig.client(replica, task, pod).put("/result", of_bytes(400_000))
    await rig.write(task, COMPLETED)
    source = (await report_of(rig, task)).result_from
    assert source is not None
    await rig.kube.delete(SECRETS, rig.namespace, source.secret_name)
    with pytest.raises(NotFoundError):
        await rig.kube.get(SECRETS, rig.namespace, source.secret_name)

    members = detailed_task(await shown(replica, task)).members()
    assert (members["status"], members["error"]["data"]) == ("failed", {"reason": "ResultLost"})


async def test_a_secret_that_somebody_else_has_put_in_its_place_is_not_shown(rig: Any, replica: Any) -> None:
    task, pod = await rig.running()
    await rig.client(replica, task, pod).put("/result", of_bytes(400_000))
    await rig.write(task, COMPLETED)
    (secret,) = await secrets_of(rig, task)
    await rig.kube.delete(SECRETS, rig.namespace, secret["metadata"]["name"])
    forged = {"metadata": {"name": secret["metadata"]["name"]}, "data": secret["data"]}
    await rig.kube.create(SECRETS, rig.namespace, {"apiVersion": "v1", "kind": "Secret", **forged})

    assert result_text(await shown(replica, task)) is None


async def test_the_largest_report_with_what_is_apart_is_one_that_the_api_server_takes(rig: Any, replica: Any) -> None:
    task, pod = await rig.running()
    client = rig.client(replica, task, pod)
    for number in range(limits.MAX_CONTENT_POSTS):
        said = await client.post("/content", {"content": [{"type": "text", "text": "<" * 5_000}]})
        assert said.status == 204, number
    room = limits.LARGE_RESULT_BYTES - (await report_of(rig, task)).content_from.bytes  # type: ignore[union-attr]
    room -= len(((await report_of(rig, task)).content or "").encode())
    over = await client.put("/result", of_bytes(room + 1))
    exact = await client.put("/result", of_bytes(room))
    await rig.write(task, COMPLETED)

    text = result_text(await shown(replica, task))
    assert (over.status, exact.status) == (413, 204)
    assert text is not None
    assert len(json.loads(text)["content"]) == limits.MAX_CONTENT_POSTS + 1
