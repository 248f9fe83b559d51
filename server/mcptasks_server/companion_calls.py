"""What the companion tools do: a task for a client that knows none. Every failure is a result that a model can read."""

import json
from collections.abc import Mapping
from typing import Any, Final

import orjson

from mcptasks_crds import jsontext, names
from mcptasks_crds.asking import open_for_caller
from mcptasks_crds.task import McpTask

from .answering import InvalidAnswerError, answer_what_conforms
from .dispatch import Services
from .ending import TaskCancelledError, TaskFailedError, outcome_of
from .exchange import TASK_CLAIM, Exchange, Result
from .following import follow
from .handles import WAIT_SECONDS, handle_result
from .jsonrpc import quoted
from .pages import PastTheEndError, page_of
from .projection import STATUS_OF, detailed_task, is_over, status_message
from .questions import a_model_is_asked
from .tasks import TaskNotFoundError

LISTED: Final = 50
"""Tasks that `task_list` shows."""


async def task_get(services: Services, exchange: Exchange, arguments: Mapping[str, Any]) -> Result:
    """The result of a task's call, waited for; or how it stands."""
    task_id, offset = arguments["taskId"], int(arguments.get("offset", 0))
    if exchange.claims.get(TASK_CLAIM) == task_id:
        await answer_what_conforms(services.tasks, task_id, exchange.response_sources, caller=exchange.caller)

    def is_enough(task: McpTask) -> bool:
        return is_over(task) or (not exchange.abilities.elicitation and a_model_is_asked(task))

    seconds = float(arguments.get("waitSeconds", WAIT_SECONDS))
    task = await follow(services, exchange, task_id, seconds=seconds, is_enough=is_enough)
    if not is_over(task):
        return _members(handle_result(task))
    try:
        result = outcome_of(task)
    except (TaskFailedError, TaskCancelledError) as error:
        reason = (error.data or {}).get("reason")
        log = names.task_uri(task_id, names.TaskPart.LOG)
        because = f" ({reason})" if reason else ""
        return failed(f"Task {task_id} has no result: {error.message}{because}. What is left of its log is {log}")
    try:
        return page_of(result, offset=offset, next_call={"taskId": task_id})
    except PastTheEndError as error:
        return failed(f"There is no such page: {error}")


async def task_answer(services: Services, exchange: Exchange, arguments: Mapping[str, Any]) -> Result:
    """Answer a question that a model may answer."""
    task_id, key = arguments["taskId"], arguments["key"]
    asked = open_for_caller(await services.tasks.get(task_id, caller=exchange.caller))
    if key not in asked:
        others = ", ".join(f"`{each}`" for each in asked) or "nothing"
        return failed(f"Task {task_id} does not ask {quoted(key)}, or not any more. It asks {others}.")
    if not asked[key].model_may_answer:
        return failed(
            f"Refused: the question `{key}` is for a person, not for a model. Tell the user that the task waits for "
            "an answer, and do not answer in the user's name."
        )
    content = jsontext.members(exchange.sources["arguments"])["answer"]  # as the model wrote it
    try:
        response = f'{{"action":"accept","content":{content}}}'
        await services.tasks.answer(task_id, {key: response}, caller=exchange.caller, by_model=True)
    except InvalidAnswerError as error:
        return failed(f"{error.message}. The form is {asked[key].requested_schema}")
    return said(f"Task {task_id} has the answer. Call `task_get` with its taskId for the result.")


async def task_cancel(services: Services, exchange: Exchange, arguments: Mapping[str, Any]) -> Result:
    """Ask for a task's end."""
    task_id = arguments["taskId"]
    task = await services.tasks.get(task_id, caller=exchange.caller)
    if is_over(task):
        return said(f"Task {task_id} is over already ({detailed_task(task).status}); it stays as it is.")
    await services.tasks.cancel(task_id, caller=exchange.caller)
    return said(f"Task {task_id} is being cancelled. It is not needed to wait for that; `task_get` tells how it ends.")


async def task_list(services: Services, exchange: Exchange, _arguments: Mapping[str, Any]) -> Result:
    """The caller's own tasks, newest first."""
    tasks = await services.tasks.list(caller=exchange.caller)
    rows = [_row(task) for task in tasks[:LISTED]]
    lines = [" ".join(str(value) for value in row.values()) for row in rows] or ["There are none."]
    if len(tasks) > LISTED:
        lines.append(f"({len(tasks) - LISTED} older ones are not shown.)")
    return {"content": [{"type": "text", "text": "\n".join(lines)}], "structuredContent": {"tasks": rows}}


def said(text: str) -> Result:
    """A result that is one text."""
    return {"content": [{"type": "text", "text": text}]}


def failed(text: str) -> Result:
    """A result that says what went wrong."""
    return {**said(text), "isError": True}


def not_found(task_id: str) -> Result:
    """For an id that names no task of this caller."""
    return failed(f"{TaskNotFoundError().message}. {json.dumps(task_id)} is no task of yours, or its time is over.")


def _members(result: str) -> Result:
    return {name: orjson.Fragment(text) for name, text in jsontext.members(result).items()}


def _row(task: McpTask) -> dict[str, Any]:
    shown = detailed_task(task)
    # A list may leave large results out, so what it shows of an end is the phase's word alone.
    status = STATUS_OF[task.status.phase] if is_over(task) else shown.status
    row = {"taskId": shown.task_id, "tool": task.spec.tool.name, "status": status, "createdAt": shown.created_at}
    message = status_message(task)
    return row if message is None else {**row, "statusMessage": message}
