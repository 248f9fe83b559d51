"""What is filled into a pod never contradicts what its author wrote: a real API server accepts the Job, strictly."""

from typing import Any

import pytest

from mcptasks_crds.kube import JOBS, Kube, RejectedError
from mcptasks_crds.tool import McpTool
from mcptasks_operator.tool_checks import tool_problems, trial_job

pytestmark = pytest.mark.apiserver


def tool_of(namespace: str, pod: dict[str, Any]) -> McpTool:
    return McpTool.model_validate(
        {
            "metadata": {"name": "tool", "namespace": namespace, "uid": "u"},
            "spec": {
                "description": "x",
                "inputSchema": {"type": "object", "properties": {"a": {"default": "$(B)\n\u2028"}}},
                "job": {"template": {"spec": pod}},
            },
        }
    )


async def accepted(kube: Kube, namespace: str, pod: dict[str, Any], *, assign_uid: bool = True) -> dict[str, Any]:
    tool = tool_of(namespace, pod)
    assert tool_problems(tool) == ()
    return await kube.create(
        JOBS, namespace, trial_job(tool, assign_uid=assign_uid), dryRun="All", fieldValidation="Strict"
    )


@pytest.mark.parametrize("assign_uid", [True, False])
@pytest.mark.parametrize(
    "container",
    [
        pytest.param({}, id="nothing at all"),
        pytest.param({"resources": {"requests": {"memory": "4Gi", "cpu": "3"}}}, id="requests above our limits"),
        pytest.param({"resources": {"limits": {"memory": "16Mi", "cpu": "10m"}}}, id="limits below our requests"),
        pytest.param({"resources": {"limits": {"example.com/gpu": "1"}}}, id="a device"),
        pytest.param({"securityContext": {"privileged": True}}, id="privileged"),
        pytest.param({"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}, id="nearly root"),
        pytest.param({"securityContext": {"capabilities": {"add": ["CAP_SYS_ADMIN"]}}}, id="nearly root, long name"),
        pytest.param({"securityContext": {"runAsUser": 0, "readOnlyRootFilesystem": False}}, id="root"),
        pytest.param({"volumeMounts": [{"name": "v", "mountPath": "/tmp"}]}, id="a /tmp of its own"),
        pytest.param({"volumeMounts": [{"name": "v", "mountPath": "/tmp/cache"}]}, id="a volume below /tmp"),
        pytest.param({"env": [{"name": "HOME", "value": "/"}, {"name": "A", "value": "$(ARG_A)"}]}, id="variables"),
        pytest.param({"args": ["$(ARG_A)"]}, id="an argument in its command"),
    ],
)
async def test_a_job_of_any_container_is_accepted(
    container: dict[str, Any], assign_uid: bool, kube: Kube, namespace: str
) -> None:
    pod = {"containers": [{"name": "c", "image": "i", **container}], "volumes": [{"name": "v", "emptyDir": {}}]}

    job = await accepted(kube, namespace, pod, assign_uid=assign_uid)

    assert job["spec"]["template"]["spec"]["automountServiceAccountToken"] is False


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param({"resources": {"limits": {"memory": "64Mi"}}}, id="resources of the pod"),
        pytest.param({"tolerations": [{"operator": "Exists"}]}, id="all taints"),
        pytest.param({"securityContext": {"runAsUser": 0}}, id="root"),
        pytest.param({"hostNetwork": True, "hostPID": True}, id="the host's own network"),
        pytest.param(
            {
                "initContainers": [
                    {"name": "proxy", "image": "i", "restartPolicy": "Always"},
                    {"name": "first", "image": "i"},
                ]
            },
            id="a sidecar and a container before",
        ),
    ],
)
async def test_a_job_of_any_pod_is_accepted(pod: dict[str, Any], kube: Kube, namespace: str) -> None:
    job = await accepted(kube, namespace, {"containers": [{"name": "c", "image": "i"}], **pod})

    assert job["spec"]["backoffLimit"] == 0


async def test_what_kubernetes_does_not_know_is_rejected_by_name(kube: Kube, namespace: str) -> None:
    with pytest.raises(RejectedError, match="unheardOf"):
        await accepted(kube, namespace, {"containers": [{"name": "c", "image": "i"}], "unheardOf": 1})
