"""Pods with real tokens at replicas over a real API server: its rules decide, whoever is late, old, or lies."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from mcptasks_crds import limits
from mcptasks_crds.asking import open_questions
from mcptasks_crds.kube import PODS, TASKS
from mcptasks_crds.task import Progress
from mcptasks_crds.times import format_time
from mcptasks_devcluster.eventually import eventually
from mcptasks_server.caller import ANONYMOUS
from mcptasks_server.projection import result_text

pytestmark = pytest.mark.apiserver

QUESTION = {"message": "Deploy?", "requestedSchema": {"type": "object", "properties": {"sure": {"type": "boolean"}}}}
ACCEPT = '{"action":"accept","content":{"sure":true}}'
RESULT = '{"content": [{"type": "text", "text": "1.0"}], "structuredContent": {"n": 123456789012345678901234567890}}'


async def test_a_pod_reports_asks_is_answered_and_gives_its_result(rig: Any, replica: Any) -> None:
    task, pod = await rig.running(arguments='{"n": 1.0, "none": null}')
    client = rig.client(replica, task, pod)

    read = await client.get()
    told = await client.put("/progress", {"progress": 3, "total": 10, "message": "on it"})
    asked = await client.put("/questions/deploy", QUESTION)
    waiting = asyncio.create_task(client.get("/questions/deploy", wait="60"))
    await replica.backend.services.tasks.answer(task, {"deploy": ACCEPT}, caller=ANONYMOUS)
    answered = await waiting
    added = await client.post("/content", {"content": [{"type": "text", "text": "first"}]})
    given = await client.put("/result", RESULT.encode())

    assert '"arguments":{"n": 1.0, "none": null}' in read.text
    assert [said.status for said in (read, told, asked, answered, added, given)] == [200, 202, 201, 200, 204, 204]
    assert answered.body["answer"] == {"action": "accept", "content": {"sure": True}}
    report = (await rig.seen(task)).status.report
    assert report.result == RESULT
    assert report.progress == Progress(progress=3, total=10, message="on it", display="3/10", pod_uid=pod.uid)
    await rig.write(task, {"phase": "Completed", "result": {"from": "report"}})
    text = result_text(await rig.seen(task))
    assert text is not None
    assert text.startswith('{"content":[{"type": "text", "text": "first"},{"type": "text", "text": "1.0"}]')


async def test_a_token_is_good_for_its_own_task_alone(rig: Any, replica: Any) -> None:
    (task, pod), (other, _) = await rig.running(), await rig.running()
    for_the_api_server = await rig.token_of(pod, "https://kubernetes.default.svc.cluster.local")

    assert (await rig.client(replica, task, pod).get()).status == 200
    assert (await rig.client(replica, other, pod).get()).status == 403
    assert (await rig.client(replica, task, for_the_api_server).get()).status == 401


async def test_a_pod_that_pretends_to_be_the_tasks_is_refused(rig: Any, replica: Any) -> None:
    """Somebody who may make pods and tokens in the namespace, and asks for the very audience."""
    task, _ = await rig.running()
    pretender = await rig.pod(task)

    said = await rig.client(replica, task, pretender).put("/result", {"content": []})

    assert said.status == 403


async def test_a_deleted_pods_token_is_worth_nothing_once_its_task_is_over_or_goes_on_elsewhere(
    rig: Any, replica: Any
) -> None:
    task, pod = await rig.running()
    await rig.kube.delete(PODS, rig.namespace, pod.name)
    next_pod = await rig.pod(task)
    await rig.runs_in(task, next_pod)
    replaced = await rig.client(replica, task, pod).put("/result", {"content": []})
    await rig.write(task, {"phase": "Failed", "error": {"code": -32603, "message": "gone"}})
    over = await rig.client(replica, task, next_pod).put("/result", {"content": []})

    assert (replaced.status, over.status) == (403, 409)


@pytest.mark.slow
async def test_while_the_operator_is_away_the_next_attempts_pod_is_asked_to_try_again_and_nobody_takes_its_place(
    rig: Any, replica: Any
) -> None:
    task, old, job = await rig.first_attempt()
    assert (await rig.client(replica, task, old).put("/progress", {"progress": 1})).status == 202

    await rig.fails(old)
    new = await rig.attempt(task, after=old)
    early = await rig.client(replica, task, new).put("/result", {"content": []})
    pretender = await rig.client(replica, task, await rig.pod(task)).put("/result", {"content": []})
    await rig.runs_in(task, new, job_uid=job)
    late = await rig.client(replica, task, old).put("/result", {"content": []})

    assert (early.status, early.headers["Retry-After"]) == (503, "1")
    assert (pretender.status, late.status) == (403, 403)
    assert not (await rig.seen(task)).status.report.has_result
    assert (await rig.client(replica, task, new).put("/result", {"content": []})).status == 204


async def test_a_pod_that_was_deleted_has_no_say_while_its_task_lives_and_waits_for_another_attempt(
    rig: Any, replica: Any
) -> None:
    task, pod, _ = await rig.first_attempt()

    await rig.kube.delete(PODS, rig.namespace, pod.name)
    await rig.write(task, {"phase": "Pending", "job": {"podUID": None}})
    said = await rig.client(replica, task, pod).put("/result", {"content": []})

    assert said.status == 403
    assert (await rig.seen(task)).status.report is None


async def test_a_pod_that_is_not_recorded_is_waited_for(rig: Any, replica: Any) -> None:
    task = await rig.task()
    pod = await rig.pod(task)
    client = rig.client(replica, task, pod)
    early = await client.put("/result", {"content": []})
    await rig.runs_in(task, pod)

    assert (early.status, early.headers["Retry-After"]) == (503, "1")
    assert (await client.put("/result", {"content": []})).status == 204


async def test_of_two_results_at_two_replicas_one_is_taken(rig: Any, replica: Any) -> None:
    async with rig.replica() as other:
        for _ in range(5):
            task, pod = await rig.running()
            given = await asyncio.gather(
                *(
                    rig.client(each, task, pod).put("/result", {"content": [{"type": "text", "text": str(number)}]})
                    for number, each in enumerate((replica, other))
                )
            )
            assert sorted(said.status for said in given) == [204, 409]


async def test_of_a_result_and_a_cancel_the_api_server_takes_the_first(rig: Any, replica: Any) -> None:
    for _ in range(5):
        task, pod = await rig.running()

        async def cancel(task: str = task) -> bool:
            seen = await rig.seen(task)
            if seen.status.report is not None and seen.status.report.result is not None:
                return False
            await rig.write(task, {"phase": "Cancelled"})
            return True

        said, _ = await asyncio.gather(
            rig.client(replica, task, pod).put("/result", {"content": []}),
            asyncio.gather(cancel(), return_exceptions=True),
        )
        status = (await rig.seen(task)).status
        assert (said.status == 204) == (status.report is not None and status.report.result is not None)
        assert said.status in (204, 409)


async def test_of_a_result_and_a_stop_the_api_server_takes_the_first(rig: Any, replica: Any) -> None:
    """Each of the two is written into what the API server has, so one of them comes after the other."""
    stopping = {"phase": "Stopping", "stopping": {"reason": "Cancelled", "at": format_time(datetime.now(UTC))}}
    for _ in range(5):
        task, pod = await rig.running()
        await rig.kube.patch(TASKS, rig.namespace, task, {"spec": {"cancelRequested": True}})
        put = rig.client(replica, task, pod).put("/result", RESULT.encode())
        _, said = await asyncio.gather(rig.write(task, stopping), put)
        report = (await rig.seen(task)).status.report
        assert (said.status == 204) == (report is not None and report.result == RESULT)
        assert said.status in (204, 409)


async def test_the_same_question_at_two_replicas_is_asked_once(rig: Any, replica: Any) -> None:
    task, pod = await rig.running()
    async with rig.replica() as other:
        said = await asyncio.gather(
            *(rig.client(each, task, pod).put("/questions/deploy", QUESTION) for each in (replica, other) * 3)
        )

    assert {each.status for each in said} == {200, 201}
    assert [each.status for each in said].count(201) == 1
    assert list(open_questions(await rig.seen(task))) == ["deploy"]


async def test_an_answer_at_one_replica_reaches_the_pod_that_waits_at_another(rig: Any, replica: Any) -> None:
    task, pod = await rig.running()
    async with rig.replica() as other:
        client = rig.client(other, task, pod)
        await client.put("/questions/deploy", QUESTION)
        waiting = asyncio.create_task(client.get("/questions/deploy", wait="60"))
        await replica.backend.services.tasks.answer(task, {"deploy": ACCEPT}, caller=ANONYMOUS)

        assert (await waiting).body["answer"]["action"] == "accept"


async def test_progress_told_to_two_replicas_in_turn_never_falls_and_ends_with_the_last(rig: Any, replica: Any) -> None:
    task, pod = await rig.running()
    shown: list[float] = []
    replica.backend.reports.listen(lambda name, seen: _note(shown, seen) if name == task else None)
    async with rig.replica() as other:
        for number in range(60):
            client = rig.client((replica, other)[number % 2], task, pod)
            assert (await client.put("/progress", {"progress": number})).status == 202

        async def is_last() -> bool:
            report = (await rig.seen(task)).status.report
            return report is not None and report.progress.progress == 59

        await eventually(is_last, what="the last value is written")
    assert shown == sorted(shown)


async def test_what_was_not_written_yet_is_written_when_the_server_ends(rig: Any) -> None:
    task, pod = await rig.running()
    async with rig.replica() as replica:
        for number in range(10):
            await rig.client(replica, task, pod).put("/progress", {"progress": number})

    report = (await rig.seen(task)).status.report
    assert report.progress.progress == 9


async def test_the_last_progress_is_written_though_another_replica_was_told_it_just_before_the_result(
    rig: Any, replica: Any
) -> None:
    """The one that was told is still waiting for the second to be over, and never gets to write it."""
    task, pod = await rig.running()
    async with rig.replica() as other:
        for number in range(10):
            await rig.client(replica, task, pod).put("/progress", {"progress": number})
        said = {"Mcptask-Progress": '{"progress": 9}'}
        given = await rig.client(other, task, pod).put("/result", RESULT.encode(), **said)
        report = (await rig.seen(task)).status.report
        await rig.write(task, {"phase": "Completed", "result": {"from": "report"}})

    assert given.status == 204
    assert (report.result, report.progress.progress) == (RESULT, 9)
    assert (await rig.seen(task)).status.report == report


async def test_a_program_that_has_waited_for_its_last_progress_may_end_however_it_likes(rig: Any, replica: Any) -> None:
    task, pod = await rig.running()
    for number in range(10):
        await rig.client(replica, task, pod).put("/progress", {"progress": number})
    said = await rig.client(replica, task, pod).put("/progress?wait=20", {"progress": 9})

    assert said.status == 200
    assert (await rig.seen(task)).status.report.progress.progress == 9


async def test_a_server_that_is_replaced_in_the_middle_loses_nothing(rig: Any) -> None:
    task, pod = await rig.running()
    async with rig.replica() as first:
        client = rig.client(first, task, pod)
        await client.post("/content", {"content": [{"type": "text", "text": "a"}]}, **{"Idempotency-Key": "a"})
        await client.put("/questions/deploy", QUESTION)
        waiting = asyncio.create_task(client.get("/questions/deploy", wait="60"))
        await first.backend.services.tasks.answer(task, {"deploy": ACCEPT}, caller=ANONYMOUS)
        await waiting
    async with rig.replica() as second:
        client = rig.client(second, task, pod)
        again = await client.post("/content", {"content": [{"type": "text", "text": "a"}]}, **{"Idempotency-Key": "a"})
        asked = await client.put("/questions/deploy", QUESTION)
        answered = await client.get("/questions/deploy")
        given = await client.put("/result", RESULT.encode())

    assert [said.status for said in (again, asked, answered, given)] == [204, 200, 200, 204]
    report = (await rig.seen(task)).status.report
    assert report.content == '[{"type": "text", "text": "a"}]'


async def test_while_the_api_server_is_away_progress_is_kept_for_it(rig: Any, proxy: Any, proxied: Any) -> None:
    task, pod = await rig.running()
    async with rig.replica(proxied) as replica:
        client = rig.client(replica, task, pod)
        await client.put("/progress", {"progress": 1})
        proxy.cut()
        told = await client.put("/progress", {"progress": 2})
        proxy.mend()
        assert told.status == 202

        async def is_written() -> bool:
            report = (await rig.seen(task)).status.report
            return report is not None and report.progress is not None and report.progress.progress == 2

        await eventually(is_written, what="the progress is written once the API server is back")


async def test_the_largest_report_that_the_endpoint_takes_is_one_that_the_api_server_takes(
    rig: Any, replica: Any
) -> None:
    task, pod = await rig.running()
    client = rig.client(replica, task, pod)
    form = {"type": "object", "properties": {"x": {"type": "string", "description": "<" * 150}}}
    for number in range(limits.MAX_QUESTIONS):
        said = await client.put(f"/questions/{number:064d}", {"message": "m" * 60, "requestedSchema": form})
        assert said.status in (201, 413)
    part = {"type": "text", "text": "<" * 20_000}
    content = await client.post("/content", {"content": [part]})
    room = limits.RESULT_STORED_BYTES - limits.stored_bytes((await rig.seen(task)).status.report.content)
    frame = '{"content":[{"type":"text","text":"%s"}]}'
    text = "x" * (room - limits.stored_bytes(frame % ""))
    exact = await client.put("/result", (frame % text).encode())

    assert (content.status, exact.status) == (204, 204)
    assert (await rig.seen(task)).status.report.result == frame % text


async def test_an_old_pods_progress_does_not_come_after_the_new_ones(rig: Any, replica: Any) -> None:
    task, pod = await rig.running()
    client = rig.client(replica, task, pod)
    await client.put("/progress", {"progress": 90})
    next_pod = await rig.pod(task)
    await rig.runs_in(task, next_pod)
    await client.put("/progress", {"progress": 95})
    said = await rig.client(replica, task, next_pod).put("/progress", {"progress": 1})
    assert said.status == 202

    async def is_shown() -> bool:
        report = (await rig.seen(task)).status.report
        return report is not None and report.progress == Progress(progress=1, display="1", pod_uid=next_pod.uid)

    await eventually(is_shown, what="the new attempt's progress is shown")


def _note(shown: list[float], seen: Any) -> None:
    if seen is not None and seen.status.report is not None and seen.status.report.progress is not None:
        shown.append(seen.status.report.progress.progress)
