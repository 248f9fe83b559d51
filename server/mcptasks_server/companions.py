"""The companion tools: by these a client that knows no tasks goes on with one whose handle it was given.

Their names are reserved (`names.COMPANION_TOOLS`). Most models that meet them have never seen this server before: what
they must know stands in the descriptions, in each handle's text and in `INSTRUCTIONS`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import orjson

from mcptasks_crds.schemas import Schema

from . import companion_calls as calls
from .dispatch import Services
from .exchange import Exchange, Result
from .handles import WAIT_SECONDS
from .tasks import TaskNotFoundError
from .tools import InlineTool

INSTRUCTIONS: Final = (
    "Tools of this server may run for minutes or hours. A call that takes long is answered by a handle in place of its "
    "result: a text that names a task (taskId). The work goes on; do NOT call the tool again, that would start it a "
    f"second time. Call task_get with the taskId and waitSeconds {WAIT_SECONDS}, again and again, until it gives the "
    "result. task_cancel ends a task that is not wanted any more. If a task asks a question, task_answer answers those "
    "that a model may answer; an approval is for a person: tell the user that it is waited for."
)
"""What a server tells a model of itself, in both eras."""

_TASK_ID: Final = {"type": "string", "description": "The task's id, as its handle names it: mt-..."}
_READS: Final = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
_ACTS: Final = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False}

Run = Callable[[Services, Exchange, Mapping[str, Any]], Awaitable[Result]]


def with_companions(services: Services, *, knows_callers: bool) -> Services:
    """The services with the companion tools among them.

    `knows_callers`: whether callers are told apart; where they are not, tasks are not listed: everybody would see all.
    """
    tools = [
        _tool(
            services,
            "task_get",
            calls.task_get,
            title="Get a task's result",
            description=(
                "Waits for a task of an earlier call and gives that call's result, or says how far it is. Call it "
                "again until it gives the result, rather than calling the tool itself again. A long result comes in "
                "pages: each says which offset the next one begins at."
            ),
            annotations=_READS,
            required=("taskId",),
            taskId=_TASK_ID,
            waitSeconds={
                "type": "number",
                "minimum": 0,
                "maximum": WAIT_SECONDS,
                "default": WAIT_SECONDS,
                "description": "How long to wait for the end, in seconds.",
            },
            offset={
                "type": "integer",
                "minimum": 0,
                "maximum": 2**53 - 1,
                "default": 0,
                "description": "Where the page begins, in characters: 0, or what the page before says.",
            },
        ),
        _tool(
            services,
            "task_answer",
            calls.task_answer,
            title="Answer a task's question",
            description=(
                "Answers a question by which a task waits, if a model may answer it: most are for a person and are "
                "refused here. `task_get` tells the question, its key and its form."
            ),
            annotations=_ACTS,
            required=("taskId", "key", "answer"),
            taskId=_TASK_ID,
            key={"type": "string", "description": "The question's key."},
            answer={"type": "object", "description": "The form's fields, as the question's schema says."},
        ),
        _tool(
            services,
            "task_cancel",
            calls.task_cancel,
            title="Cancel a task",
            description="Ends a task whose result is not wanted any more. What it has done so far is not undone.",
            annotations=_ACTS,
            required=("taskId",),
            taskId=_TASK_ID,
        ),
    ]
    if knows_callers:
        listing = _tool(
            services,
            "task_list",
            calls.task_list,
            title="List tasks",
            description="Lists your tasks, the newest first: for a taskId that was lost.",
            annotations=_READS,
        )
        tools.append(listing)
    return replace(services, companions=tuple(tools))


def _tool(
    services: Services,
    name: str,
    run: Run,
    *,
    title: str,
    description: str,
    annotations: Mapping[str, bool],
    required: tuple[str, ...] = (),
    **properties: Mapping[str, Any],
) -> InlineTool:
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }

    async def run_here(exchange: Exchange, arguments: Mapping[str, Any]) -> Result:
        try:
            return await run(services, exchange, arguments)
        except TaskNotFoundError:
            return calls.not_found(arguments["taskId"])

    listed = {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": schema,
        "annotations": annotations,
    }
    return InlineTool(
        name=name,
        input_schema=schema,
        arguments=Schema(schema),
        mirrored=(),
        listed=orjson.dumps(listed),
        run=run_here,
    )
