"""Which tools are fit to be called, as the real API server judges their Jobs."""

import pytest

from mcptasks_crds.kube import JOBS, TOOLS, RejectedError
from mcptasks_operator.testing.world import World, condition, tool_manifest

pytestmark = pytest.mark.apiserver


def job_with(**pod: object) -> dict[str, object]:
    container = {"name": "tool", "image": "example.invalid/echo:1"}
    return {"template": {"spec": {"containers": [container]} | pod}}


async def test_a_tool_whose_job_the_api_server_accepts_is_ready_and_nothing_was_made(operated: World) -> None:
    tool = await operated.judged("echo")

    ready = condition(tool, "Ready")
    assert (ready["status"], ready["reason"], ready["observedGeneration"]) == ("True", "Accepted", 1)
    assert condition(tool, "EnvironmentComplete")["status"] == "True"
    assert (await operated.kube.list(JOBS, operated.namespace))["items"] == []


@pytest.mark.parametrize(
    ("spec", "reason", "words"),
    [
        pytest.param(
            {"inputSchema": {"type": "object", "properties": {"text": {"type": "nonsense"}}}},
            "SchemaInvalid",
            "inputSchema",
            id="a schema that is none",
        ),
        pytest.param({"job": job_with(nodeName=7)}, "JobRejected", "nodeName", id="a field of the wrong type"),
        pytest.param({"job": job_with(nodeNam="x")}, "JobRejected", "nodeNam", id="a field that does not exist"),
        pytest.param(
            {"job": job_with(volumes=[{"name": "data", "hostPath": {"path": ""}}])},
            "JobRejected",
            "hostPath",
            id="a value that is not valid",
        ),
    ],
)
async def test_a_tool_that_cannot_run_says_why_and_spoils_no_other(
    operated: World, spec: dict[str, object], reason: str, words: str
) -> None:
    tool = await operated.tool("broken", **spec)

    ready = condition(tool, "Ready")
    assert (ready["status"], ready["reason"]) == ("False", reason)
    assert words in ready["message"]
    assert "/apis/" not in ready["message"]  # what was asked of the API server is no business of the tool's author
    assert condition(await operated.judged("echo"), "Ready")["status"] == "True"


async def test_a_tool_that_was_mended_becomes_ready(operated: World) -> None:
    await operated.tool("broken", job=job_with(nodeNam="x"))
    before = condition(await operated.judged("broken", ready="False"), "Ready")

    patch = {"spec": {"job": {"template": {"spec": {"nodeNam": None}}}}}
    await operated.kube.patch(TOOLS, operated.namespace, "broken", patch)
    after = condition(await operated.judged("broken", ready="True"), "Ready")

    assert before["observedGeneration"] < after["observedGeneration"]
    assert after["lastTransitionTime"] > before["lastTransitionTime"]


async def test_of_two_tools_with_one_name_the_older_has_it_until_it_goes(world: World) -> None:
    for name in ("first", "second"):
        await world.kube.create(TOOLS, world.namespace, tool_manifest(name, name="shared"))
    async with world.operator():
        first = await world.judged("first")
        taken = condition(await world.judged("second"), "Ready")
        await world.kube.delete(TOOLS, world.namespace, "first")
        free = condition(await world.judged("second", ready="True"), "Ready")

    assert condition(first, "Ready")["status"] == "True"
    assert (taken["status"], taken["reason"]) == ("False", "NameTaken")
    assert "first" in taken["message"]
    assert free["reason"] == "Accepted"


async def test_properties_that_have_no_variable_are_named(operated: World) -> None:
    schema = {"type": "object", "properties": {"dry-run": {"type": "boolean"}, "dry_run": {"type": "boolean"}}}

    tool = await operated.tool("colliding", inputSchema=schema)

    assert condition(tool, "Ready")["status"] == "True"
    complete = condition(tool, "EnvironmentComplete")
    assert (complete["status"], complete["reason"]) == ("False", "OnlyInFile")
    assert "dry-run" in complete["message"]


async def test_a_tool_that_is_ready_is_not_tried_again_by_the_next_operator(world: World) -> None:
    async with world.operator():
        await world.tool()
    trials = [request for request in world.proxy.requests if request.is_dry_run]

    async with world.operator():
        await world.tool("another")

    assert len(trials) == 1
    assert len([request for request in world.proxy.requests if request.is_dry_run]) == 2


async def test_the_api_server_itself_refuses_a_template_that_restarts_its_container(operated: World) -> None:
    with pytest.raises(RejectedError, match="restartPolicy"):
        await operated.kube.create(
            TOOLS, operated.namespace, tool_manifest("again", job=job_with(restartPolicy="OnFailure"))
        )
