"""The tools that a run calls, and what each call is to give. The programs are shell scripts: a start costs little."""

import json
from typing import Final

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason

from .plan import DELETIONS, Call, Fate, Tool

KEPT_SECONDS: Final = 1200
"""Longer than any run."""
BRIEFLY_SECONDS: Final = 3
DIARY: Final = "/diary/lines"
QUESTION: Final = "sure"
NOTHING_FOUND: Final = "no such table"

_SCRIPT: Final = f"""
trap 'exit 143' TERM
note() {{ echo "$1 $ARG_NUMBER $MCPTASK_ID $HOSTNAME" >> {DIARY}; }}
note started
sleep "$ARG_SECONDS" & wait
"""
_WORKS: Final = _SCRIPT + 'echo "number $ARG_NUMBER" > "$MCPTASK_RESULT"\nnote ended\n'
_REFUSES: Final = _SCRIPT + f'echo "{NOTHING_FOUND}" > "$MCPTASK_RESULT"\nnote ended\nexit 3\n'
_SCHEMA: Final = {
    "type": "object",
    "properties": {"number": {"type": "integer"}, "seconds": {"type": "number"}},
    "required": ["number", "seconds"],
}
_FORM: Final = {"type": "object", "required": ["sure"], "properties": {"sure": {"type": "boolean"}}}


def manifests(*, image: str, diary: str) -> list[Json]:
    """The McpTools. `diary`: a directory of the node, on which each program writes when it starts and ends."""
    confirming = {"questions": [{"key": QUESTION, "message": "Sure?", "requestedSchema": _FORM, "when": "beforeStart"}]}
    return [
        _manifest(Tool.WORK, _WORKS, image, diary, {}),
        _manifest(Tool.BRIEF, _WORKS, image, diary, {"retentionSeconds": BRIEFLY_SECONDS}),
        _manifest(Tool.REFUSE, _REFUSES, image, diary, {}),
        _manifest(Tool.CONFIRM, _WORKS, image, diary, confirming),
    ]


def _manifest(tool: Tool, script: str, image: str, diary: str, more: Json) -> Json:
    container = {
        "name": "tool",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-uc", script],
        "resources": {"requests": {"cpu": "5m", "memory": "8Mi"}},
        "volumeMounts": [{"name": "diary", "mountPath": "/diary"}],
    }
    volume = {"name": "diary", "hostPath": {"path": diary, "type": "Directory"}}
    spec = {
        "description": "Works for a while.",
        "inputSchema": _SCHEMA,
        "retentionSeconds": KEPT_SECONDS,
        "job": {"template": {"spec": {"containers": [container], "volumes": [volume]}}},
    }
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.TOOL_KIND,
        "metadata": {"name": str(tool)},
        "spec": spec | more,
    }


def arguments(call: Call) -> Json:
    """The arguments of a call."""
    return {"number": call.number, "seconds": call.tenths / 10}


def number_of(task: Json) -> int:
    """The number of the call that a McpTask is of."""
    return int(json.loads(task["spec"]["arguments"])["number"])


def is_kept(call: Call) -> bool:
    """Whether the call's task is still there when all is over."""
    return call.tool is not Tool.BRIEF and call.fate not in DELETIONS


Ending = tuple[Phase, Reason]

_RIGHT: Final[dict[Tool, Ending]] = {
    Tool.WORK: (Phase.COMPLETED, Reason.SUCCEEDED),
    Tool.BRIEF: (Phase.COMPLETED, Reason.SUCCEEDED),
    Tool.CONFIRM: (Phase.COMPLETED, Reason.SUCCEEDED),
    Tool.REFUSE: (Phase.COMPLETED, Reason.EXIT_CODE),
}
_INSTEAD: Final[dict[Fate, frozenset[Ending]]] = {
    Fate.CANCEL: frozenset({(Phase.CANCELLED, Reason.CANCELLED)}),
    # Kubernetes removes the Job's pod too, and one watch may be ahead of the other.
    Fate.DELETE_JOB: frozenset({(Phase.FAILED, Reason.JOB_DELETED), (Phase.FAILED, Reason.POD_DELETED)}),
    Fate.DELETE_POD: frozenset({(Phase.FAILED, Reason.POD_DELETED)}),
}


def right_endings(call: Call) -> frozenset[Ending]:
    """How the call's task may end. Who cancels or deletes runs a race with the program's own end."""
    if call.fate is Fate.DECLINE:
        return frozenset({(Phase.COMPLETED, Reason.DECLINED)})
    return frozenset({_RIGHT[call.tool]}) | _INSTEAD.get(call.fate, frozenset())


NODE_TROUBLE: Final = (Phase.FAILED, Reason.CONTAINER_CANNOT_RUN)
"""What a node whose kubelet or containerd is killed may make of a container that it was about to start."""


def right_text(call: Call, reason: Reason) -> str | None:
    """What the result's text holds where the task ended for that reason; None where there is no result."""
    match reason:
        case Reason.SUCCEEDED:
            return f"number {call.number}"
        case Reason.EXIT_CODE:
            return NOTHING_FOUND
        case _:
            return None
