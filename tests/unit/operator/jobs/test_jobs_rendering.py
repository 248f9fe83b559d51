"""The Job as a whole, and what it carries of its task."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from mcptasks_crds.task import McpTask
from mcptasks_crds.tool import McpTool
from mcptasks_operator.executions import execution_from_json
from mcptasks_operator.jobs import render
from mcptasks_operator.observation import Execution

Make = Callable[..., Any]
ANSWERS = {"path": "answers.json", "fieldRef": {"fieldPath": "metadata.annotations['mcptasks.dev/answers']"}}
QUESTION = {"message": "Sure?", "requestedSchema": '{"type":"object"}', "when": "beforeStart"}
BEFORE_TASK = QUESTION | {"when": "beforeTask"}
YES = {"response": '{"action":"accept", "content":{"n":1.0}}'}
A_IS_ANSWERED = f'{{"a":{YES["response"]}}}'
TASK = "mt-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"


def test_the_smallest_tool_becomes_a_whole_restricted_job(make_tool: Make, make_task: Make) -> None:
    tool: McpTool = make_tool(properties={"branch": {"default": "main"}})
    task: McpTask = make_task('{"branch": "$x"}')

    labels = {
        "app.kubernetes.io/managed-by": "mcptasks",
        "mcptasks.dev/task": TASK,
        "mcptasks.dev/tool": "build",
    }
    tolerated = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
    job = render(task, tool)
    execution = job["metadata"]["annotations"].pop("mcptasks.dev/execution")
    assert job == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": TASK,
            "namespace": "tools",
            "labels": labels,
            "annotations": {},
            "ownerReferences": [
                {
                    "apiVersion": "mcptasks.dev/v1alpha1",
                    "kind": "McpTask",
                    "name": TASK,
                    "uid": "task-uid",
                    "controller": True,
                }
            ],
        },
        "spec": {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "podReplacementPolicy": "Failed",
            "activeDeadlineSeconds": 300 + 3600 + 5 + 60,
            "template": {
                "metadata": {
                    "labels": {"sidecar.istio.io/inject": "false", **labels},
                    "annotations": {
                        "sidecar.istio.io/inject": "false",
                        "linkerd.io/inject": "disabled",
                        "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
                        "karpenter.sh/do-not-disrupt": "true",
                        "mcptasks.dev/arguments": '{"branch": "$x"}',
                        "mcptasks.dev/answers": "{}",
                    },
                },
                "spec": {
                    "restartPolicy": "Never",
                    "terminationGracePeriodSeconds": 5,
                    "enableServiceLinks": False,
                    "automountServiceAccountToken": False,
                    "securityContext": {"fsGroup": 65532, "fsGroupChangePolicy": "OnRootMismatch"},
                    "tolerations": [
                        {"key": "node.kubernetes.io/not-ready", **tolerated},
                        {"key": "node.kubernetes.io/unreachable", **tolerated},
                    ],
                    "containers": [
                        {
                            "name": "main",
                            "image": "example.com/tool:1",
                            "env": [
                                {"name": "ARG_BRANCH", "value": "$$x"},
                                {"name": "MCPTASK_ID", "value": TASK},
                                {"name": "MCPTASK_TOOL", "value": "build"},
                                {"name": "MCPTASK_ARGUMENTS", "value": "/mcptask/arguments.json"},
                                {"name": "MCPTASK_ANSWERS", "value": "/mcptask/answers.json"},
                                {"name": "MCPTASK_RESULT", "value": "/dev/termination-log"},
                                {"name": "HOME", "value": "/tmp"},
                            ],
                            "securityContext": {
                                "runAsUser": 65532,
                                "runAsNonRoot": True,
                                "seccompProfile": {"type": "RuntimeDefault"},
                                "readOnlyRootFilesystem": True,
                                "capabilities": {"drop": ["ALL"]},
                                "allowPrivilegeEscalation": False,
                            },
                            "resources": {
                                "requests": {"cpu": "100m", "memory": "128Mi"},
                                "limits": {"cpu": "1", "memory": "512Mi"},
                            },
                            "terminationMessagePath": "/dev/termination-log",
                            "terminationMessagePolicy": "File",
                            "volumeMounts": [
                                {"name": "mcptask-tmp-0", "mountPath": "/tmp"},
                                {"name": "mcptask", "mountPath": "/mcptask", "readOnly": True},
                            ],
                        }
                    ],
                    "volumes": [
                        {"name": "mcptask-tmp-0", "emptyDir": {}},
                        {
                            "name": "mcptask",
                            "projected": {
                                "sources": [
                                    {
                                        "downwardAPI": {
                                            "items": [
                                                {
                                                    "path": "arguments.json",
                                                    "fieldRef": {
                                                        "fieldPath": "metadata.annotations['mcptasks.dev/arguments']"
                                                    },
                                                },
                                                ANSWERS,
                                            ]
                                        }
                                    }
                                ]
                            },
                        },
                    ],
                },
            },
        },
    }
    assert execution_from_json(execution) == Execution(
        tool_resource="build",
        tool_uid="tool-uid",
        tool_generation=3,
        container="main",
        start_deadline_seconds=300,
        timeout_seconds=3600,
        grace_seconds=5,
        output_schema=None,
    )


def test_the_job_carries_what_is_needed_of_the_tool_later(make_tool: Make, make_task: Make, make_pod: Make) -> None:
    output = {"type": "object", "properties": {"caf\u00e9": {"const": None}}}
    pod = {**make_pod(), "terminationGracePeriodSeconds": 40}

    job = render(make_task(), make_tool(pod, outputSchema=output, timeoutSeconds=7, startDeadlineSeconds=11))

    execution = execution_from_json(job["metadata"]["annotations"]["mcptasks.dev/execution"])
    assert execution is not None
    assert execution.output_schema is not None
    assert json.loads(execution.output_schema) == output
    assert (execution.timeout_seconds, execution.start_deadline_seconds, execution.grace_seconds) == (7, 11, 40)
    assert job["spec"]["activeDeadlineSeconds"] > 7 + 11 + 40


@pytest.mark.parametrize("text", ["", "{}", "null", "[]", "{", '{"tool_resource": 1}'])
def test_an_annotation_that_somebody_broke_is_no_execution(text: str) -> None:
    assert execution_from_json(text) is None


def test_an_annotation_of_a_newer_version_is_read(make_tool: Make, make_task: Make) -> None:
    text = render(make_task(), make_tool())["metadata"]["annotations"]["mcptasks.dev/execution"]

    newer = json.dumps({**json.loads(text), "something_new": [1]})

    assert execution_from_json(newer) == execution_from_json(text)


def test_arguments_in_a_secret_reach_the_pod_without_being_read(make_tool: Make, make_task: Make) -> None:
    tool = make_tool(properties={"a": {"default": "x"}, "b-c": {}, "B_C": {}})
    task = make_task(None, argumentsFrom={"secretName": "its-secret"})

    template = render(task, tool)["spec"]["template"]

    environment = template["spec"]["containers"][0]["env"]
    reference = {"name": "its-secret", "key": "ARG_A", "optional": True}
    assert environment[0] == {"name": "ARG_A", "valueFrom": {"secretKeyRef": reference}}
    assert environment[1]["name"] == "MCPTASK_ID"
    assert template["spec"]["volumes"][-1]["projected"]["sources"] == [
        {"secret": {"name": "its-secret", "items": [{"key": "arguments.json", "path": "arguments.json"}]}},
        {"downwardAPI": {"items": [ANSWERS]}},
    ]
    assert "mcptasks.dev/arguments" not in template["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("spec", "waits", "given"),
    [
        ({"questions": {}, "answers": {"a": YES}}, False, "{}"),
        ({"questions": {"a": QUESTION}, "answers": {}}, True, "{}"),
        ({"questions": {"a": QUESTION}, "answers": {"a": YES}}, False, A_IS_ANSWERED),
        ({"questions": {"a": BEFORE_TASK}, "answers": {"a": YES, "b": YES}}, False, A_IS_ANSWERED),
        ({"questions": {"b": QUESTION, "a": BEFORE_TASK}, "answers": {"a": YES}}, True, A_IS_ANSWERED),
    ],
)
def test_a_job_waits_for_what_is_not_answered_and_carries_what_is(
    spec: Any, waits: bool, given: str, make_tool: Make, make_task: Make
) -> None:
    job = render(make_task(**spec), make_tool())

    assert job["spec"].get("suspend", False) is waits
    assert job["metadata"]["annotations"].get("mcptasks.dev/released-at") == ("" if waits else None)
    assert job["spec"]["template"]["metadata"]["annotations"]["mcptasks.dev/answers"] == given


def test_a_pod_does_not_start_without_a_variable_that_its_command_names(
    make_tool: Make, make_task: Make, make_pod: Make
) -> None:
    tool = make_tool(make_pod(args=["$(ARG_A)"]), properties={"a": {}, "b": {}})
    task = make_task(None, argumentsFrom={"secretName": "its-secret"})

    first, second, *_ = render(task, tool)["spec"]["template"]["spec"]["containers"][0]["env"]

    assert first["valueFrom"]["secretKeyRef"]["optional"] is False
    assert second["valueFrom"]["secretKeyRef"]["optional"] is True


def test_a_call_without_arguments_has_an_empty_object_in_its_file(make_tool: Make, make_task: Make) -> None:
    template = render(make_task(None), make_tool())["spec"]["template"]

    assert template["metadata"]["annotations"]["mcptasks.dev/arguments"] == "{}"


def test_each_container_gets_the_task_and_the_tool_alone_the_place_for_its_result(
    make_tool: Make, make_task: Make
) -> None:
    pod = {
        "initContainers": [
            {"name": "first", "image": "i"},
            {"name": "proxy", "image": "i", "restartPolicy": "Always"},
        ],
        "containers": [{"name": "other", "image": "i"}, {"name": "tool", "image": "i"}],
    }

    job = render(make_task('{"a": "$(B)"}'), make_tool(pod, properties={"a": {}}))

    rendered = job["spec"]["template"]["spec"]
    containers = {each["name"]: each for each in rendered["initContainers"] + rendered["containers"]}
    for name, container in containers.items():
        environment = {each["name"]: each["value"] for each in container["env"]}
        assert container["env"][0] == {"name": "ARG_A", "value": "$$(B)"}
        assert environment["MCPTASK_ID"] == TASK
        assert ("MCPTASK_RESULT" in environment) == (name == "tool")
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["volumeMounts"][-1]["mountPath"] == "/mcptask"
    scratches = [each["volumeMounts"][0]["name"] for each in containers.values()]
    assert len(set(scratches)) == len(containers)
    assert {volume["name"] for volume in rendered["volumes"]} == {"mcptask", *scratches}


def test_labels_and_annotations_of_the_author_are_kept_and_ours_are_set(
    make_tool: Make, make_task: Make, make_pod: Make
) -> None:
    wanted = {"labels": {"team": "a", "app.kubernetes.io/managed-by": "Helm"}, "annotations": {"note": "b"}}
    tool = make_tool(job={"metadata": wanted, "template": {"metadata": wanted, "spec": make_pod()}})

    job = render(make_task(), tool)

    for metadata in (job["metadata"], job["spec"]["template"]["metadata"]):
        assert metadata["labels"]["team"] == "a"
        assert metadata["annotations"]["note"] == "b"
        # Both sides watch by it.
        assert metadata["labels"]["app.kubernetes.io/managed-by"] == "mcptasks"


@pytest.mark.requirement("failures/f2-24")
def test_a_tool_name_that_is_no_label_is_hashed_in_the_label_alone(make_tool: Make, make_task: Make) -> None:
    job = render(make_task(), make_tool(name="-starts-with-a-dash"))

    environment = job["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {"name": "MCPTASK_TOOL", "value": "-starts-with-a-dash"} in environment
    assert job["metadata"]["labels"]["mcptasks.dev/tool"].startswith("h-")


def test_rendering_twice_gives_the_same_job_and_changes_no_tool(make_tool: Make, make_task: Make) -> None:
    tool: McpTool = make_tool(properties={"a": {"default": [1]}})
    before = deepcopy(tool.manifest())

    assert render(make_task(), tool) == render(make_task(), tool)
    assert tool.manifest() == before
