"""The operator with the rights that the chart gives it, and no others."""

import pytest

from mcptasks_crds import names
from mcptasks_crds.kube import EVENTS, JOBS, TASKS, Kube, RejectedError
from mcptasks_crds.phases import Phase
from mcptasks_operator.testing.world import World

pytestmark = pytest.mark.apiserver


@pytest.mark.requirement("failures/f1-19")
async def test_the_charts_rights_suffice_for_the_whole_life_of_a_task(
    restricted: World, caplog: pytest.LogCaptureFixture
) -> None:
    async with restricted.operator() as operator:
        await restricted.tool()
        kept = await restricted.call()
        task = await restricted.call(retentionSeconds=1)
        stopped = await restricted.call()
        for each in (kept, task):
            await restricted.kubelet.run(each)
            await restricted.kubelet.finish(each)
        await restricted.status(kept, Phase.COMPLETED)
        await restricted.gone(TASKS, task)
        await restricted.job(stopped)
        await restricted.cancel(stopped)
        await restricted.status(stopped, Phase.CANCELLED)
        await restricted.until(EVENTS, names.event_name(kept, "Succeeded"), lambda _: True)
        text = operator.metrics.text().decode()

    assert 'code="403"' not in text
    assert 'resource="pods/log"' in text
    assert [record for record in caplog.records if "orbidden" in record.getMessage()] == []


async def test_the_charts_rights_are_no_more_than_the_operator_needs(restricted: World) -> None:
    async with await Kube.connect(kubeconfig=restricted.kubeconfig) as kube:
        for path in ("/api/v1/namespaces", f"/api/v1/namespaces/{restricted.namespace}/secrets"):
            with pytest.raises(RejectedError, match="forbidden"):
                await kube.request("GET", path)
        with pytest.raises(RejectedError, match="forbidden"):
            await kube.create(TASKS, restricted.namespace, {"metadata": {"name": names.new_task_id()}})
        with pytest.raises(RejectedError, match="forbidden"):
            await kube.patch(JOBS, restricted.namespace, "x", {"status": {}}, subresource="status")
