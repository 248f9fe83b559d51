"""What a tool may not say: refused when it is applied, with the field named."""

from dataclasses import dataclass
from typing import Any

import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import TOOLS, Kube, RejectedError
from mcptasks_crds.tool_rules import TOOL_RULES

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


@dataclass(frozen=True, kw_only=True)
class Case:
    """A tool that must be refused."""

    tool: Json
    field: str
    says: str


PODS: dict[str, tuple[Json, str, str]] = {
    "no containers": ({"containers": []}, "containers", "should have at least 1 items"),
    "containers not given": ({"volumes": []}, "containers", "Required value"),
    "a container without a name": ({"containers": [{"image": "busybox"}]}, "containers[0].name", "Required value"),
    "restarts": (
        {"containers": [CONTAINER], "restartPolicy": "OnFailure"},
        "restartPolicy",
        "restartPolicy must be Never, or absent: a container that starts again would run the call twice",
    ),
    "a deadline of the pod": (
        {"containers": [CONTAINER], "activeDeadlineSeconds": 5},
        "activeDeadlineSeconds",
        "activeDeadlineSeconds is not for a tool to set: use timeoutSeconds and startDeadlineSeconds",
    ),
    "an argument's variable": (
        {"containers": [CONTAINER, variable("ARG_X") | {"name": "b"}]},
        "containers",
        "environment variables that begin with ARG_ or MCPTASK_ are set by mcptasks",
    ),
    "a variable of ours before it starts": (
        {"containers": [CONTAINER], "initContainers": [variable("MCPTASK_X")]},
        "initContainers",
        "environment variables that begin with ARG_ or MCPTASK_ are set by mcptasks",
    ),
}
CASES: dict[str, Case] = {
    **{
        why: Case(tool=tool(pod), field=f"spec.job.template.spec.{field}", says=says)
        for why, (pod, field, says) in PODS.items()
    },
    "arguments that are a list": Case(
        tool=tool(inputSchema={"type": "array"}), field="spec.inputSchema.type", says="Unsupported value"
    ),
    "arguments of any type": Case(
        tool=tool(inputSchema={"properties": {}}), field="spec.inputSchema.type", says="Required value"
    ),
    "a structured result that is a text": Case(
        tool=tool(outputSchema={"type": "string"}), field="spec.outputSchema.type", says="Unsupported value"
    ),
    "an empty description": Case(
        tool=tool(description=""), field="spec.description", says="should be at least 1 chars long"
    ),
    "a name of two words": Case(
        tool=tool() | {"spec": tool()["spec"] | {"name": "two words"}}, field="spec.name", says="should match"
    ),
    "a name that MCP does not take": Case(
        tool=tool(name="x" * 129),
        field="spec.name",
        says="MCP's names have at most 128 characters: give spec.name, or a shorter metadata.name",
    ),
    "no job": Case(tool=tool() | {"spec": {"description": "Builds."}}, field="spec.job", says="Required value"),
    "no time to run": Case(tool=tool(timeoutSeconds=0), field="spec.timeoutSeconds", says="greater than or equal to 1"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_a_tool_is_refused_with_the_field_named(case: Case, kube: Kube, namespace: str) -> None:
    with pytest.raises(RejectedError) as refusal:
        await kube.create(TOOLS, namespace, case.tool)
    assert refusal.value.status == 422
    assert f"{case.field}: " in str(refusal.value)
    assert case.says in str(refusal.value)


def test_every_rule_has_a_tool_that_it_refuses() -> None:
    tried = {(case.says, case.field) for case in CASES.values()}
    rules = [(path, rule) for path, found in TOOL_RULES.items() for rule in found]
    assert {(rule.message, f"{path}{rule.field_path}".lstrip(".")) for path, rule in rules} <= tried


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
