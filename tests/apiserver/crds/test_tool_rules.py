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


QUESTION: Json = {
    "key": "sure",
    "message": "Sure?",
    "requestedSchema": {"type": "object", "properties": {"sure": {"type": "boolean", "x-own": [None]}}},
    "when": "beforeStart",
}


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
    "a companion tool's name": Case(
        tool=tool() | {"spec": tool()["spec"] | {"name": "task_get"}},
        field="spec.name",
        says="task_get, task_answer, task_cancel, task_list are the server's own tools: choose another name",
    ),
    "a word that MCP does not have": Case(
        tool=tool(taskSupport="always"), field="spec.taskSupport", says="Unsupported value"
    ),
    "what clients without tasks get of a tool that needs them": Case(
        tool=tool(taskSupport="required", withoutTasks="handle"),
        field="spec.withoutTasks",
        says="withoutTasks goes with taskSupport optional alone: remove it",
    ),
    "a hold that is always without end": Case(
        tool=tool(taskSupport="forbidden", holdSeconds=5),
        field="spec.holdSeconds",
        says="holdSeconds goes with taskSupport optional and withoutTasks handle alone: remove it",
    ),
    "a hold that the tool says is without end": Case(
        tool=tool(withoutTasks="hold", holdSeconds=5),
        field="spec.holdSeconds",
        says="holdSeconds goes with taskSupport optional and withoutTasks handle alone: remove it",
    ),
    "two queues": Case(
        tool=tool(queueName="gpus", limits={"running": 5}),
        field="spec.queueName",
        says="queueName leaves it to Kueue who runs: remove it, or limits.running",
    ),
    "no name of a queue": Case(tool=tool(queueName="GPUs!"), field="spec.queueName", says="should match"),
    "too many retries": Case(tool=tool(retries=11), field="spec.retries", says="less than or equal to 10"),
    "a queue without a limit": Case(
        tool=tool(limits={"queued": 5}),
        field="spec.limits.queued",
        says="limits.queued goes with limits.running: without it, nothing waits",
    ),
    "no room to run": Case(
        tool=tool(limits={"running": 0}), field="spec.limits.running", says="greater than or equal to 1"
    ),
    "no time to hold": Case(tool=tool(holdSeconds=0), field="spec.holdSeconds", says="greater than or equal to 1"),
    "two questions of one key": Case(
        tool=tool(questions=[QUESTION, QUESTION | {"message": "Really?"}]),
        field="spec.questions[1]",
        says="Duplicate value",
    ),
    "too many questions": Case(
        tool=tool(questions=[QUESTION | {"key": f"q{n}"} for n in range(17)]),
        field="spec.questions",
        says="must have at most 16 items",
    ),
    "a question's key with a space": Case(
        tool=tool(questions=[QUESTION | {"key": "are you sure"}]), field="spec.questions[0].key", says="should match"
    ),
    "a question without words": Case(
        tool=tool(questions=[QUESTION | {"message": ""}]), field="spec.questions[0].message", says="at least 1 chars"
    ),
    "a question that is asked at another time": Case(
        tool=tool(questions=[QUESTION | {"when": "later"}]), field="spec.questions[0].when", says="Unsupported value"
    ),
    "a form that is no object": Case(
        tool=tool(questions=[QUESTION | {"requestedSchema": {"type": "string"}}]),
        field="spec.questions[0].requestedSchema.type",
        says="Unsupported value",
    ),
    "a question that expires at once": Case(
        tool=tool(questions=[QUESTION | {"expirySeconds": 0}]),
        field="spec.questions[0].expirySeconds",
        says="greater than or equal to 1",
    ),
    "approvers of a question that only its caller answers": Case(
        tool=tool(questions=[QUESTION | {"approvers": {"users": ["anna"]}}]),
        field="spec.questions",
        says="approvers go with answeredBy approvers or either, and these need them",
    ),
    "approvers who are nobody": Case(
        tool=tool(questions=[QUESTION | {"answeredBy": "either", "approvers": {"users": [], "groups": []}}]),
        field="spec.questions",
        says="approvers need at least one user or group",
    ),
    "approvers alone before there is a task": Case(
        tool=tool(
            questions=[
                QUESTION | {"when": "beforeTask", "answeredBy": "approvers", "approvers": {"groups": ["release"]}}
            ]
        ),
        field="spec.questions",
        says="where only approvers answer, when must be beforeStart and modelMayAnswer false: they answer tasks",
    ),
    "a caller without a name": Case(
        tool=tool(access={"callers": [""]}), field="spec.access.callers[0]", says="at least 1 chars"
    ),
    "a group twice": Case(
        tool=tool(access={"groups": ["ops", "ops"]}), field="spec.access.groups[1]", says="Duplicate value"
    ),
    "no job": Case(tool=tool() | {"spec": {"description": "Builds."}}, field="spec.job", says="Required value"),
    "no time to run": Case(tool=tool(timeoutSeconds=0), field="spec.timeoutSeconds", says="greater than or equal to 1"),
}


@pytest.mark.requirement("tools/names")
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
        tool(taskSupport="required", questions=[QUESTION, QUESTION | {"key": "other", "expirySeconds": 1}]),
        tool(taskSupport="optional", withoutTasks="hold"),
        tool(withoutTasks="handle", holdSeconds=3600),
        tool(holdSeconds=1, access={"callers": ["alice"], "groups": []}),
        tool(access={}),
        tool(limits={}),
        tool(queueName="team-a.gpus", queueSeconds=60, retries=10),
        tool(limits={"running": 1, "queued": 0}, queueSeconds=1),
        tool(questions=[QUESTION | {"answeredBy": "approvers", "approvers": {"groups": ["release"]}}]),
        tool(questions=[QUESTION | {"when": "beforeTask", "answeredBy": "either", "approvers": {"users": ["anna"]}}]),
    ],
)
async def test_its_neighbour_is_accepted_and_kept_as_it_was_written(accepted: Json, kube: Kube, namespace: str) -> None:
    created = await kube.create(TOOLS, namespace, accepted)
    assert created["spec"]["job"] == accepted["spec"]["job"]


async def test_a_long_object_name_needs_a_tool_name(kube: Kube, namespace: str) -> None:
    named = tool(name="x" * 129)
    named["spec"]["name"] = "build"
    assert (await kube.create(TOOLS, namespace, named))["spec"]["name"] == "build"


@pytest.mark.requirement("tools/input-schema")
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
