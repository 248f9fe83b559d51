"""What one task costs the API server, counted before it."""

import re
from collections import Counter

import pytest

from mcptasks_crds.kube import TASKS
from mcptasks_crds.phases import Phase
from mcptasks_operator.testing.world import World

pytestmark = pytest.mark.apiserver

MOST_REQUESTS = 7


def requests_of(world: World, task: str) -> Counter[str]:
    """The operator's requests about a task, by method and what they are about."""
    counted: Counter[str] = Counter()
    made_one = False
    for request in world.proxy.requests:
        if request.is_watch:
            continue
        about = re.sub(r"^.*/namespaces/[^/]+/", "", request.path)
        is_create = request.method == "POST" and not request.is_dry_run
        made_one = made_one or (is_create and about == "jobs")
        if task in about or (is_create and made_one):  # before it, the operator makes its Lease and looks around
            counted[f"{request.method} {about.replace(task, 'TASK')}"] += 1
    return counted


async def test_a_task_costs_six_requests_from_creation_to_deletion(operated: World) -> None:
    task = await operated.call(retentionSeconds=2)
    await operated.kubelet.run(task)
    await operated.status(task, Phase.RUNNING)
    await operated.kubelet.finish(task, message="done")
    await operated.gone(TASKS, task)

    requests = requests_of(operated, task)

    assert requests == {
        "POST jobs": 1,
        "PATCH mcptasks/TASK/status": 3,  # accepted, with the Job's uid; running; ended
        "POST events": 1,
        "DELETE mcptasks/TASK": 1,
    }


async def test_a_task_whose_log_is_read_costs_seven(operated: World) -> None:
    task = await operated.call(retentionSeconds=2)
    await operated.kubelet.run(task)
    await operated.status(task, Phase.RUNNING)
    pod = await operated.kubelet.pod_of(task)
    await operated.kubelet.finish(task)
    await operated.gone(TASKS, task)

    requests = requests_of(operated, task)

    assert requests[f"GET pods/{pod.replace(task, 'TASK')}/log"] == 1
    assert requests.total() == MOST_REQUESTS


async def test_a_task_that_is_over_before_it_is_seen_to_run_costs_one_less(operated: World) -> None:
    task = await operated.call(retentionSeconds=2)
    await operated.kubelet.finish(task, message="done")
    await operated.gone(TASKS, task)

    requests = requests_of(operated, task)

    assert requests["PATCH mcptasks/TASK/status"] == 2
    assert requests.total() == MOST_REQUESTS - 2


async def test_the_log_is_read_once_and_only_without_a_termination_message(operated: World) -> None:
    task = await operated.call(retentionSeconds=2)
    pod = await operated.kubelet.pod_of(task)
    await operated.kubelet.finish(task)
    await operated.gone(TASKS, task)

    reads = [request for request in operated.proxy.requests if request.path.endswith(f"/pods/{pod}/log")]

    assert len(reads) == 1
    assert requests_of(operated, task).total() <= MOST_REQUESTS


@pytest.mark.parametrize(("is_error", "logs"), [(False, 0), (True, 1)])
@pytest.mark.parametrize("is_apart", [False, True])
async def test_a_result_over_the_task_endpoint_costs_six_and_an_error_its_log(
    is_error: bool, logs: int, is_apart: bool, operated: World
) -> None:
    task = await operated.call(retentionSeconds=2)
    await operated.kubelet.run(task)
    await operated.status(task, Phase.RUNNING)
    apart = {"secretName": f"{task}-result-0123456789abcdef", "bytes": 700_000, "isError": is_error}
    report = {"resultFrom": apart} if is_apart else {"result": f'{{"content":[],"isError":{str(is_error).lower()}}}'}
    pod = await operated.kubelet.pod_of(task)
    await operated.kube.patch(TASKS, operated.namespace, task, {"status": {"report": report}}, subresource="status")
    await operated.status(task, Phase.COMPLETED)
    await operated.kubelet.finish(task)
    await operated.gone(TASKS, task)

    requests = requests_of(operated, task)

    assert requests[f"GET pods/{pod.replace(task, 'TASK')}/log"] == logs
    assert requests.total() == MOST_REQUESTS - 1 + logs
