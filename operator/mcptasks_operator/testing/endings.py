"""How tasks are brought to each end of docs/endings.md on a real node: tools, and what somebody does to their tasks."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.reasons import Reason

SEAT: Final = "example.com/seat"
"""Something of which the node has one: who has it can be preempted."""


BESIDE_A_SIDECAR: Final = "beside-a-sidecar-that-ignores-sigterm"
"""The variant of those ends whose pod goes on for as long as its grace lasts."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ending:
    """One task that ends so, and the words by which that is told."""

    reason: Reason
    words: str
    """What the client is told at the end."""
    waits: str = ""
    """What the message said before, where the task waits for something."""
    variant: str = ""
    """Which one, where several ways lead to one reason."""
    script: str = "true"
    spec: Json = field(default_factory=dict)
    """More of the tool's spec."""
    pod: Json = field(default_factory=dict)
    """More of the pod's spec."""
    container: Json = field(default_factory=dict)
    """More of the container."""

    @property
    def name(self) -> str:
        """The tool's name."""
        return f"{self.reason.lower()}{self.variant and '-'}{self.variant}"

    def tool(self, image: str, **words: str) -> Json:
        """The tool that ends so. `words` are put into the pod where it has `{word}`."""
        base = {
            "name": "tool",
            "image": image,
            "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c", self.script],
            "resources": _SMALL,
        }
        pod = {"containers": [base | self.container], **self.pod}
        text = json.dumps(pod)
        for word, value in {"image": image, **words}.items():
            text = text.replace(f"{{{word}}}", value)
        pod = json.loads(text)
        pod["containers"] += pod.pop("others", [])
        return {
            "apiVersion": names.API_VERSION,
            "kind": names.TOOL_KIND,
            "metadata": {"name": self.name},
            "spec": {"description": "Ends.", **self.spec, "job": {"template": {"spec": pod}}},
        }


_SMALL: Final = {"requests": {"cpu": "1m", "memory": "8Mi"}, "limits": {"memory": "256Mi"}}
"""Some forty pods are there at the same time."""
_ANY_OBJECT: Final = {"type": "object"}
_SLEEP: Final = "trap 'exit 1' TERM; echo began; sleep 300 & wait"
_LARGE: Final = """python3 -c 'print("{" + chr(34) + "x" + chr(34) + ":" + chr(34) + "<" * 60000 + chr(34) + "}")'"""
_FILL: Final = "dd if=/dev/zero of=/scratch/file bs=1M count=20 2>/dev/null; sleep 300"
_HUNGRY: Final = "python3 -c 'x = bytearray(200_000_000)'"
_LITTLE: Final = {"resources": {"requests": {"cpu": "1m"}, "limits": {"memory": "64Mi"}}}
_FOREIGN: Final = (
    'python3 -c \'import struct; open("/work/foreign", "wb").write('
    'b"\\x7fELF" + bytes([2, 2, 1]) + bytes(9) + struct.pack(">HHIQQQI6H", 2, 22, 1, 0, 64, 0, 0, 64, 56, 0, 0, 0, 0)'
    ")'; chmod 755 /work/foreign"
)
"""A program for a mainframe."""


def _volume(name: str, path: str, **source: object) -> tuple[Json, Json]:
    """A pod's volume, and a container's mount of it."""
    return {"volumes": [{"name": name, **source}]}, {"volumeMounts": [{"name": name, "mountPath": path}]}


def _init(script: str, **more: object) -> Json:
    return {"name": "first", "image": "{image}", "command": ["sh", "-c", script], "resources": _SMALL, **more}


_SCRATCH, _SCRATCH_MOUNT = _volume("scratch", "/scratch", emptyDir={"sizeLimit": "1Mi"})
_WORK, _WORK_MOUNT = _volume("work", "/work", emptyDir={})
_LOGS, _LOGS_MOUNT = _volume("logs", "/logs", hostPath={"path": "/var/log/pods"})
_CONFIG, _CONFIG_MOUNT = _volume("config", "/config", configMap={"name": "absent"})
_CLAIM, _CLAIM_MOUNT = _volume("data", "/data", persistentVolumeClaim={"claimName": "absent"})
_HOST, _HOST_MOUNT = _volume("host", "/host", hostPath={"path": "/absent", "type": "Directory"})
_ROOT: Final = {"securityContext": {"runAsUser": 0, "runAsNonRoot": False}}
_SIDECAR: Final = {
    "restartPolicy": "Always",
    "startupProbe": {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 300},
}
_STUBBORN: Final = {
    "initContainers": [_init("trap '' TERM; while :; do sleep 1; done", restartPolicy="Always")],
    "terminationGracePeriodSeconds": 60,
}
"""A sidecar that is told to end and does not."""
_SOON: Final = {"startDeadlineSeconds": 40}
"""Longer than some forty pods take to start side by side on a small machine."""

BY_THEMSELVES: Final = (
    # The tool ran.
    Ending(reason=Reason.SUCCEEDED, script="echo well > $MCPTASK_RESULT", words="well"),
    Ending(
        reason=Reason.SUCCEEDED,
        variant="beside-a-container-that-never-ends",
        script="echo well > $MCPTASK_RESULT",
        pod={"others": [_init("sleep 300")]},
        words="well",
    ),
    Ending(
        reason=Reason.SUCCEEDED,
        variant=BESIDE_A_SIDECAR,
        script="echo well > $MCPTASK_RESULT",
        pod=_STUBBORN,
        words="well",
    ),
    Ending(reason=Reason.EXIT_CODE, variant=BESIDE_A_SIDECAR, script="exit 3", pod=_STUBBORN, words="exit code 3"),
    Ending(
        reason=Reason.SUCCEEDED,
        variant="and-never-was-ready",
        script="sleep 2; echo well > $MCPTASK_RESULT",
        container={"readinessProbe": {"exec": {"command": ["false"]}, "periodSeconds": 1}},
        words="well",
    ),
    Ending(reason=Reason.EXIT_CODE, script="echo no such branch; exit 3", words="no such branch\n\nexit code 3"),
    Ending(reason=Reason.SIGNALLED, script="sh -c 'kill -KILL $$$$'; exit $?", words="exit code 137 (signal SIGKILL)"),
    Ending(
        reason=Reason.OUT_OF_MEMORY, script=f"exec {_HUNGRY}", container=_LITTLE, words="more memory than its limit"
    ),
    Ending(
        reason=Reason.OUT_OF_MEMORY,
        variant="of-a-child",
        script=f"{_HUNGRY}; echo half of it; exit 0",
        container=_LITTLE,
        words="more memory than its limit",
    ),
    Ending(
        reason=Reason.RUN_LIMIT, script=_SLEEP, spec={"timeoutSeconds": 2}, words="ran longer than its limit of 2 s"
    ),
    Ending(
        reason=Reason.OUTPUT_INVALID,
        script="echo [1]",
        spec={"outputSchema": _ANY_OBJECT},
        words="must be a JSON object",
    ),
    Ending(
        reason=Reason.OUTPUT_INVALID,
        variant="no-json",
        script="echo not JSON at all",
        spec={"outputSchema": _ANY_OBJECT},
        words="not JSON at all",
    ),
    Ending(reason=Reason.RESULT_TOO_LARGE, script=_LARGE, spec={"outputSchema": _ANY_OBJECT}, words="takes more room"),
    Ending(
        reason=Reason.RESULT_LOST,
        script="echo well; rm -r /logs/*_${HOSTNAME}_*",
        pod=_LOGS,
        container=_LOGS_MOUNT | _ROOT,
        words="its log could not be read",
    ),
    Ending(reason=Reason.EVICTED, script=_FILL, pod=_SCRATCH, container=_SCRATCH_MOUNT, words="Evicted"),
    # It was never to run.
    Ending(reason=Reason.IMAGE_INVALID, container={"image": "Not:An:Image"}, words="InvalidImageName"),
    Ending(
        reason=Reason.IMAGE_INVALID,
        variant="never-pulled",
        container={"image": "example.invalid/absent:1", "imagePullPolicy": "Never"},
        words="ErrImageNeverPull",
    ),
    Ending(
        reason=Reason.IMAGE_PULL,
        container={"image": "example.invalid/absent:1"},
        spec=_SOON,
        waits="the image cannot be pulled yet",
        words="example.invalid/absent:1",
    ),
    Ending(
        reason=Reason.IMAGE_ARCHITECTURE,
        pod={"initContainers": [_init(_FOREIGN, **_WORK_MOUNT)], **_WORK},
        container={"command": ["/work/foreign"], **_WORK_MOUNT},
        words="exec format error",
    ),
    Ending(
        reason=Reason.CONTAINER_CANNOT_RUN, container={"command": ["no-such-program"]}, words="could not be started"
    ),
    Ending(
        reason=Reason.CONTAINER_CANNOT_RUN,
        variant="as-root",
        container={"securityContext": {"runAsNonRoot": True, "runAsUser": 0}},
        words="non-root",
    ),
    Ending(
        reason=Reason.CONFIG_MISSING,
        variant="variable",
        container={"env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "absent", "key": "x"}}}]},
        waits='a Secret or ConfigMap is missing: CreateContainerConfigError: secret "absent" not found',
        words='secret "absent" not found',
    ),
    Ending(
        reason=Reason.CONFIG_MISSING,
        variant="volume",
        pod=_CONFIG,
        container=_CONFIG_MOUNT,
        waits="a Secret or ConfigMap is missing: ",
        words='configmap "absent" not found',
    ),
    Ending(
        reason=Reason.VOLUME_UNAVAILABLE,
        variant="claim",
        pod=_CLAIM,
        container=_CLAIM_MOUNT,
        waits="a volume is missing: ",
        words='persistentvolumeclaim "absent" not found',
    ),
    Ending(
        reason=Reason.VOLUME_UNAVAILABLE,
        variant="mount",
        pod=_HOST,
        container=_HOST_MOUNT,
        spec=_SOON,
        waits="a volume cannot be mounted yet: ",
        words="hostPath type check failed",
    ),
    Ending(
        reason=Reason.SERVICE_ACCOUNT_MISSING,
        pod={"serviceAccountName": "absent"},
        waits="its service account is missing: ",
        words='serviceaccount "absent" not found',
    ),
    Ending(
        reason=Reason.UNSCHEDULABLE,
        pod={"nodeSelector": {"no": "node"}},
        spec={"startDeadlineSeconds": 20},
        waits="waiting for a node: 0/1 nodes are available",
        words="0/1 nodes are available",
    ),
    Ending(
        reason=Reason.QUOTA_EXCEEDED,
        variant="pods",
        pod={"priorityClassName": "{poor}"},
        spec=_SOON,
        waits="waiting for quota: ",
        words="exceeded quota: no-pods",
    ),
    Ending(
        reason=Reason.POD_REJECTED,
        container={"resources": {"requests": {"cpu": "1m"}, "limits": {"memory": "2Gi"}}},
        waits="its pod is refused: ",
        words="maximum memory usage per Container is 1Gi",
    ),
    Ending(
        reason=Reason.POD_FAILED,
        pod={"nodeName": "{node}", "nodeSelector": {"no": "node"}},
        words="NodeAffinity",
    ),
    Ending(
        reason=Reason.INIT_FAILED,
        pod={"initContainers": [_init("echo no route >&2; exit 3")]},
        words="init container first: exit code 3",
    ),
    Ending(
        reason=Reason.START_DEADLINE,
        variant="init",
        pod={"initContainers": [_init("sleep 300")]},
        spec=_SOON,
        waits="init container first runs",
        words="init container first runs",
    ),
    Ending(
        reason=Reason.START_DEADLINE,
        variant="sidecar",
        pod={"initContainers": [_init("sleep 300", **_SIDECAR)]},
        spec=_SOON,
        waits="sidecar first runs and has not passed its startup probe",
        words="sidecar first runs",
    ),
)
"""Ends that come of the tool and its namespace alone."""

WHILE_IT_RUNS: Final = (
    Ending(reason=Reason.CANCELLED, script=_SLEEP, words="cancelled"),
    Ending(reason=Reason.JOB_DELETED, script=_SLEEP, words="was deleted from outside"),
    Ending(reason=Reason.JOB_FAILED, script=_SLEEP, words="Kubernetes ended the Job"),
    Ending(reason=Reason.POD_DELETED, script=_SLEEP, words="was deleted, and nothing says why"),
    Ending(reason=Reason.DRAINED, script=_SLEEP, words="Eviction API: evicting"),
    Ending(
        reason=Reason.PREEMPTED,
        script=_SLEEP,
        pod={"priorityClassName": "{poor}-but-there"},
        container={"resources": {"requests": {"cpu": "1m"}, "limits": {"memory": "64Mi", SEAT: "1"}}},
        words="preempting to accommodate a higher priority pod",
    ),
)
"""Ends for which somebody does something to a task that runs."""

BEFORE_THERE_IS_A_JOB: Final = (
    Ending(reason=Reason.JOB_REJECTED, words="no such Jobs today"),
    Ending(
        reason=Reason.QUOTA_EXCEEDED,
        variant="jobs",
        spec=_SOON,
        waits="waiting for quota: ",
        words="exceeded quota: no-jobs",
    ),
)
"""Ends of tasks that are called last, once the namespace takes no more Jobs of theirs."""

END_UNKNOWN: Final = Ending(
    reason=Reason.END_UNKNOWN,
    script="trap 'echo said; echo done > $MCPTASK_RESULT; exit 0' TERM; sleep 300 & wait",
    words="it may have done its work, in part or as a whole: Unknown: done",
)
"""One that ends well while its node's container runtime is away. Whatever else ends just then ends so, too."""

NODE_LOST: Final = Ending(
    reason=Reason.NODE_LOST,
    script=_SLEEP,
    pod={
        "tolerations": [
            {
                "key": "node.kubernetes.io/unreachable",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 1,
            }
        ]
    },
    words="its node does not answer",
)
"""The last one: nothing else goes on without the kubelet. Of the waits, only Kubernetes' own 50 s stay."""

ALL: Final = (*BY_THEMSELVES, *WHILE_IT_RUNS, *BEFORE_THERE_IS_A_JOB, END_UNKNOWN, NODE_LOST)

COMPLETED: Final[Mapping[Reason, bool]] = {
    Reason.SUCCEEDED: False,
    Reason.EXIT_CODE: True,
    Reason.SIGNALLED: True,
    Reason.OUT_OF_MEMORY: True,
    Reason.RUN_LIMIT: True,
    Reason.OUTPUT_INVALID: True,
}
"""Whether the result says `isError`."""
