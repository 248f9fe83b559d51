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
CONTAINER: Final = "tool"
QUESTION: Final = "sure"
NOT_DONE: Final = "then not"
NOTHING_FOUND: Final = "no such table"

_SCRIPT: Final = f"""
trap 'exit 143' TERM
note() {{ echo "$1 $ARG_NUMBER $MCPTASK_ID $HOSTNAME" >> {DIARY}; }}
note started
sleep "$ARG_SECONDS" & wait
"""
_WORKS: Final = _SCRIPT + 'echo "number $ARG_NUMBER" > "$MCPTASK_RESULT"\nnote ended\n'
_REFUSES: Final = _SCRIPT + f'echo "{NOTHING_FOUND}" > "$MCPTASK_RESULT"\nnote ended\nexit 3\n'
_TALKS: Final = f"""
import os, sys, time
from mcptasks.job import task

def main(number: int, seconds: float) -> str:
    def note(word: str) -> None:
        with open("{DIARY}", "a") as diary:
            diary.write(f"{{word}} {{number}} {{task.id}} {{os.environ['HOSTNAME']}}\\n")

    note("started")
    task.progress(1, 2, "begun")
    if sys.argv[1:] == ["ask"] and not task.confirm("Sure?", key="{QUESTION}"):
        note("ended")
        return "{NOT_DONE}"
    task.add(f"part {{number}}")
    time.sleep(seconds)
    note("ended")
    return f"number {{number}}"

task.run(main)
"""
_SCHEMA: Final = {
    "type": "object",
    "properties": {"number": {"type": "integer"}, "seconds": {"type": "number"}},
    "required": ["number", "seconds"],
}
_FORM: Final = {"type": "object", "required": ["sure"], "properties": {"sure": {"type": "boolean"}}}


def manifests(*, image: str, diary: str) -> list[Json]:
    """The McpTools. `diary`: a directory of the node, on which each program writes when it starts and ends."""
    confirming = {"questions": [{"key": QUESTION, "message": "Sure?", "requestedSchema": _FORM, "when": "beforeStart"}]}
    works = _shell(_WORKS)
    return [
        _manifest(Tool.WORK, works, image, diary),
        _manifest(Tool.BRIEF, works, image, diary, {"retentionSeconds": BRIEFLY_SECONDS}),
        _manifest(Tool.REFUSE, _shell(_REFUSES), image, diary),
        _manifest(Tool.CONFIRM, works, image, diary, confirming),
        _manifest(Tool.TALK, ["python3", "-c", _TALKS], image, diary),
        _manifest(Tool.ASK, ["python3", "-c", _TALKS, "ask"], image, diary),
    ]


def _shell(script: str) -> list[str]:
    return ["sh", "-uc", script]


def _manifest(tool: Tool, command: list[str], image: str, diary: str, more: Json | None = None) -> Json:
    container = {
        "name": CONTAINER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": command,
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
        "spec": spec | (more or {}),
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
    Tool.TALK: (Phase.COMPLETED, Reason.SUCCEEDED),
    Tool.ASK: (Phase.COMPLETED, Reason.SUCCEEDED),
}
_INSTEAD: Final[dict[Fate, frozenset[Ending]]] = {
    Fate.CANCEL: frozenset({(Phase.CANCELLED, Reason.CANCELLED)}),
    Fate.DELETE_JOB: frozenset({(Phase.FAILED, Reason.JOB_DELETED)}),
    Fate.DELETE_POD: frozenset({(Phase.FAILED, Reason.POD_DELETED)}),
}


def right_endings(call: Call) -> frozenset[Ending]:
    """How the call's task may end. Who cancels or deletes runs a race with the program's own end."""
    if (call.tool, call.fate) == (Tool.CONFIRM, Fate.DECLINE):
        return frozenset({(Phase.COMPLETED, Reason.DECLINED)})
    return frozenset({_RIGHT[call.tool]}) | _INSTEAD.get(call.fate, frozenset())


def right_texts(call: Call, reason: Reason) -> list[str] | None:
    """The texts of the result where the task ended for that reason; None where there is no result of its program."""
    match reason:
        case Reason.SUCCEEDED if call.fate is Fate.DECLINE:
            return [NOT_DONE]
        case Reason.SUCCEEDED if call.tool in {Tool.TALK, Tool.ASK}:
            return [f"part {call.number}", f"number {call.number}"]
        case Reason.SUCCEEDED:
            return [f"number {call.number}"]
        case Reason.EXIT_CODE:
            return [f"{NOTHING_FOUND}\n\nexit code 3"]
        case _:
            return None
