"""How the API server takes the definitions: structural, strict, with defaults, columns and selectors."""

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import yaml

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import TASKS, TOOLS, Kube, RejectedError
from mcptasks_crds.manifest import custom_resource_definitions, templates
from mcptasks_crds.task import McpTask
from mcptasks_crds.tool import McpTool

MakeTask = Callable[..., Awaitable[str]]

pytestmark = pytest.mark.apiserver

STATUS: Json = {
    "phase": "Running",
    "message": "compiling",
    "expiresAt": "2026-12-01T00:00:00Z",
    "job": {"name": "the-job", "uid": "u"},
    "report": {"progress": {"progress": 3, "total": 10, "display": "3/10"}},
}
TOOL: Json = {
    "apiVersion": names.API_VERSION,
    "kind": names.TOOL_KIND,
    "metadata": {"name": "build"},
    "spec": {
        "title": "Build it",
        "description": "Builds.",
        "job": {"template": {"spec": {"containers": [{"name": "tool", "image": "busybox"}]}}},
    },
}


def bundled(program: str) -> str:
    command = [sys.executable, "-m", "mcptasks_devcluster", "bin", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="session")
def kubectl() -> str:
    return bundled("kubectl")


def table(kubectl: str, kubeconfig: Path, *arguments: str) -> list[list[str]]:
    """What `kubectl get` prints, as rows of cells; the columns stand where the head's words begin."""
    command = [kubectl, "--kubeconfig", str(kubeconfig), "get", *arguments]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    starts = [at for at, letter in enumerate(lines[0]) if letter != " " and (at == 0 or lines[0][at - 1] == " ")]
    ends = [*starts[1:], None]
    return [[line[start:end].strip() for start, end in zip(starts, ends, strict=True)] for line in lines]


async def test_both_definitions_are_structural_and_established(kube: Kube, namespace: str) -> None:
    for definition in custom_resource_definitions():
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{definition['metadata']['name']}"
        live = json.loads(await kube.request("GET", path))
        conditions = {condition["type"]: condition["status"] for condition in live["status"]["conditions"]}
        assert conditions == {"NamesAccepted": "True", "Established": "True"}
        assert live["spec"]["versions"] == definition["spec"]["versions"]


async def test_a_task_gets_its_defaults(kube: Kube, namespace: str) -> None:
    task = {
        "apiVersion": names.API_VERSION,
        "kind": names.TASK_KIND,
        "metadata": {"name": "by-hand"},
        "spec": {"tool": {"name": "build"}, "arguments": "{}"},
        "status": {"phase": "Completed"},
    }
    created = await kube.create(TASKS, namespace, task)
    assert created["spec"] == {
        "tool": {"name": "build"},
        "arguments": "{}",
        "caller": "anonymous",
        "retentionSeconds": 3600,
        "pollIntervalMs": 1000,
        "cancelRequested": False,
        "detached": False,
    }
    assert "status" not in created
    assert McpTask.model_validate(created).spec.answers == {}


async def test_a_tool_gets_its_defaults(kube: Kube, namespace: str) -> None:
    created = await kube.create(TOOLS, namespace, TOOL)
    defaults = {name: value for name, value in created["spec"].items() if name not in TOOL["spec"]}
    assert defaults == {
        "inputSchema": {"type": "object"},
        "queueSeconds": 86400,
        "retries": 0,
        "startDeadlineSeconds": 300,
        "timeoutSeconds": 3600,
        "retentionSeconds": 3600,
        "pollIntervalMs": 1000,
        "taskSupport": "optional",
    }
    read = McpTool.model_validate(created).spec.manifest()
    assert read | {"job": None} == created["spec"] | {"job": None, "questions": []}


async def test_no_record_is_kept_of_who_wrote_which_field_of_a_tasks_status(
    kube: Kube, namespace: str, make_task: MakeTask
) -> None:
    task = await kube.get(TASKS, namespace, await make_task(status=STATUS))
    written = [entry["fieldsV1"] for entry in task["metadata"]["managedFields"] if entry.get("subresource")]
    assert written == [{"f:status": {}}]
    assert task["status"] == STATUS


async def test_unknown_fields_are_pruned_or_refused_as_the_writer_asks(kube: Kube, namespace: str) -> None:
    task = {
        "apiVersion": names.API_VERSION,
        "kind": names.TASK_KIND,
        "metadata": {"name": "by-hand"},
        "spec": {"tool": {"name": "build", "version": "1"}, "arguments": "{}", "argument": "{}"},
    }
    with pytest.raises(RejectedError, match=r'unknown field "spec\.argument", unknown field "spec\.tool\.version"'):
        await kube.create(TASKS, namespace, task, fieldValidation="Strict")
    created = await kube.create(TASKS, namespace, task)
    assert "argument" not in created["spec"]
    assert created["spec"]["tool"] == {"name": "build"}


async def test_the_status_is_written_through_its_subresource_alone(
    kube: Kube, namespace: str, make_task: MakeTask
) -> None:
    name = await make_task(status=STATUS)
    both = {"spec": {"detached": True}, "status": {"message": "other"}}
    by_object = await kube.patch(TASKS, namespace, name, both)
    assert (by_object["spec"]["detached"], by_object["status"]["message"]) == (True, "compiling")
    both["spec"] = {"cancelRequested": True}
    by_status = await kube.patch(TASKS, namespace, name, both, subresource="status")
    assert (by_status["spec"]["cancelRequested"], by_status["status"]["message"]) == (False, "other")
    assert by_status["metadata"]["generation"] == 2


async def test_a_status_may_be_written_leaf_by_leaf(kube: Kube, namespace: str, make_task: MakeTask) -> None:
    name = await make_task()
    for leaf in (
        {"report": {"progress": {"progress": 0.5}}},
        {"attempts": 1},
        {"report": {"result": "{}"}},
        {"phase": "Running"},
    ):
        await kube.patch(TASKS, namespace, name, {"status": leaf}, subresource="status")
    task = McpTask.model_validate(await kube.get(TASKS, namespace, name))
    assert task.status.report is not None
    assert (task.status.report.result, task.status.attempts) == ("{}", 1)


async def test_kubectl_shows_tasks_in_columns(
    kubectl: str, kubeconfig: Path, namespace: str, make_task: MakeTask
) -> None:
    name = await make_task(status=STATUS)
    head, row = table(kubectl, kubeconfig, "mcptasks", "-n", namespace)
    assert head == ["NAME", "TOOL", "STATUS", "PROGRESS", "MESSAGE", "CALLER", "AGE"]
    assert row[:-1] == [name, "build", "Running", "3/10", "compiling", "alice"]
    head, row = table(kubectl, kubeconfig, "mct", "-n", namespace, "-o", "wide")
    assert head[-3:] == ["AGE", "JOB", "EXPIRES"]
    assert row[-2:] == ["the-job", "2026-12-01T00:00:00Z"]


async def test_kubectl_shows_tools_in_columns(kubectl: str, kubeconfig: Path, kube: Kube, namespace: str) -> None:
    await kube.create(TOOLS, namespace, TOOL)
    condition = {
        "type": "Ready",
        "status": "False",
        "reason": "ImageInvalid",
        "message": "no",
        "lastTransitionTime": "2026-12-01T00:00:00Z",
    }
    status = {"status": {"observedGeneration": 1, "conditions": [condition]}}
    await kube.patch(TOOLS, namespace, "build", status, subresource="status")
    head, row = table(kubectl, kubeconfig, "mctool", "-n", namespace, "-o", "wide")
    assert head == ["NAME", "TITLE", "READY", "AGE", "REASON", "MESSAGE"]
    assert [*row[:3], *row[4:]] == ["build", "Build it", "False", "ImageInvalid", "no"]


async def test_tasks_are_selected_by_tool_caller_and_phase(kube: Kube, namespace: str, make_task: MakeTask) -> None:
    running = await make_task(status=STATUS)
    await make_task({"tool": {"name": "deploy"}})
    await make_task({"caller": "bob"})

    async def selected(selector: str) -> list[str]:
        found = await kube.list(TASKS, namespace, fieldSelector=selector)
        return [item["metadata"]["name"] for item in found["items"]]

    assert await selected("status.phase=Running") == [running]
    assert await selected("spec.tool.name=build,spec.caller=alice") == [running]
    assert len(await selected("status.phase!=Running")) == 2


@pytest.mark.parametrize("keep", [True, False])
def test_helm_renders_the_very_definitions(keep: bool, tmp_path: Path) -> None:
    folder = tmp_path / "chart" / "templates"
    folder.mkdir(parents=True)
    (tmp_path / "chart" / "Chart.yaml").write_text("apiVersion: v2\nname: crds\nversion: 0.1.0\n")
    for name, text in templates().items():
        (folder / name).write_text(text)
    values = ["--set", f"crds.install=true,crds.keep={json.dumps(keep)}"]
    command = [bundled("helm"), "template", "x", str(tmp_path / "chart"), *values]
    rendered = list(yaml.safe_load_all(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    expected = [json.loads(json.dumps(definition)) for definition in custom_resource_definitions()]
    for definition in expected:
        if keep:
            definition["metadata"]["annotations"] = {"helm.sh/resource-policy": "keep"}
    assert sorted(rendered, key=str) == sorted(expected, key=str)
