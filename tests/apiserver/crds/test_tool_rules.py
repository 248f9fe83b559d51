"""What a tool may not say: refused when it is applied, with the field named."""

from typing import Any

import pytest

from mcptasks_crds import names
from mcptasks_crds.kube import TOOLS, Kube, RejectedError

Json = dict[str, Any]

pytestmark = pytest.mark.apiserver

CONTAINER: Json = {"name": "tool", "image": "busybox", "command": ["true"]}


def tool(pod: Json | None = None, *, name: str = "build", **spec: Any) -> Json:
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.TOOL_KIND,
        "metadata": {"name": name},
        "spec": {"description": "Builds.", "job": {"template": {"spec": pod or {"containers": [CONTAINER]}}}, **spec},
    }


def variable(name: str) -> Json:
    return CONTAINER | {"env": [{"name": "PLAIN", "value": "1"}, {"name": name, "value": "2"}]}


@pytest.mark.parametrize(
    ("refused", "says"),
    [
        (tool({"containers": []}), r"spec\.job\.template\.spec\.containers: .*at least 1 items"),
        (tool({"volumes": []}), r"spec\.job\.template\.spec\.containers: Required"),
        (tool({"containers": [{"image": "busybox"}]}), r"containers\[0\]\.name: Required"),
        (tool({"containers": [CONTAINER], "restartPolicy": "OnFailure"}), r"restartPolicy must be Never, or absent"),
        (
            tool({"containers": [CONTAINER], "activeDeadlineSeconds": 5}),
            r"spec\.job\.template\.spec\.activeDeadlineSeconds: .*use timeoutSeconds and startDeadlineSeconds",
        ),
        (tool({"containers": [CONTAINER, variable("ARG_X") | {"name": "b"}]}), r"\.containers: .*ARG_ or MCPTASK_"),
        (tool({"containers": [CONTAINER], "initContainers": [variable("MCPTASK_X")]}), r"initContainers: .*ARG_ or"),
        (tool(inputSchema={"type": "array"}), r"spec\.inputSchema\.type: Unsupported value"),
        (tool(inputSchema={"properties": {}}), r"spec\.inputSchema\.type: Required"),
        (tool(outputSchema={"type": "string"}), r"spec\.outputSchema\.type: Unsupported value"),
        (tool(description=""), r"spec\.description: .*at least 1 chars"),
        (tool(name="x" * 129), r"give spec\.name, or a shorter metadata\.name"),
        (tool() | {"spec": {"description": "Builds."}}, r"spec\.job: Required"),
        (tool() | {"spec": tool()["spec"] | {"name": "two words"}}, r"spec\.name: .*should match"),
        (tool(timeoutSeconds=0), r"spec\.timeoutSeconds: .*greater than or equal to 1"),
    ],
)
async def test_a_tool_is_refused(refused: Json, says: str, kube: Kube, namespace: str) -> None:
    with pytest.raises(RejectedError, match=says) as refusal:
        await kube.create(TOOLS, namespace, refused)
    assert refusal.value.status == 422


@pytest.mark.parametrize(
    "accepted",
    [
        tool({"containers": [CONTAINER], "restartPolicy": "Never"}),
        tool({"containers": [CONTAINER], "restartPolicy": None, "activeDeadlineSeconds": None, "initContainers": None}),
        tool({"containers": [CONTAINER | {"env": None}]}),
        tool({"containers": [variable("MY_ARG_X")], "anything": {"Kubernetes": ["takes", None]}}),
        tool(name="x" * 128),
        tool(timeoutSeconds=1),
    ],
)
async def test_its_neighbour_is_accepted_and_kept_as_it_was_written(accepted: Json, kube: Kube, namespace: str) -> None:
    created = await kube.create(TOOLS, namespace, accepted)
    assert created["spec"]["job"] == accepted["spec"]["job"]


async def test_a_long_object_name_needs_a_tool_name(kube: Kube, namespace: str) -> None:
    named = tool(name="x" * 129)
    named["spec"]["name"] = "build"
    assert (await kube.create(TOOLS, namespace, named))["spec"]["name"] == "build"


async def test_schemas_annotations_and_icons_pass_untouched(kube: Kube, namespace: str) -> None:
    given: Json = {
        "inputSchema": {"type": "object", "properties": {"a": {"default": None, "enum": [None, 1]}}, "x-own": [[]]},
        "outputSchema": {"type": "object", "$defs": {"b": True}, "allOf": [{"$ref": "#/$defs/b"}]},
        "annotations": {"readOnlyHint": True, "com.example/other": {"deep": [1, "<&>"]}},
        "icons": [{"src": "data:image/png;base64,AA==", "theme": "dark"}],
    }
    created = await kube.create(TOOLS, namespace, tool(**given))
    assert {name: created["spec"][name] for name in given} == given


async def test_a_tool_stays_editable(kube: Kube, namespace: str) -> None:
    await kube.create(TOOLS, namespace, tool())
    changed = await kube.patch(TOOLS, namespace, "build", {"spec": {"name": "other", "timeoutSeconds": 7}})
    assert changed["metadata"]["generation"] == 2


async def test_conditions_are_one_for_each_type(kube: Kube, namespace: str) -> None:
    await kube.create(TOOLS, namespace, tool())
    ready = {"type": "Ready", "status": "True", "reason": "Tried", "lastTransitionTime": "2026-12-01T00:00:00Z"}
    status = {"observedGeneration": 1, "conditions": [ready]}
    patched = await kube.patch(TOOLS, namespace, "build", {"status": status}, subresource="status")
    assert patched["status"] == status
    twice = {"status": {"conditions": [ready, ready]}}
    with pytest.raises(RejectedError, match="Duplicate value"):
        await kube.patch(TOOLS, namespace, "build", twice, subresource="status")
