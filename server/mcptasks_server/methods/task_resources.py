"""A task's log and result as MCP resources, for its caller alone. Source: both eras' "Resources".

Whatever is wrong with a URI of this scheme, the answer is one: no such resource. So nobody learns of a task that is not
theirs, not even that it is there.
"""

from typing import Any, Final

from mcp_types import ResourceTemplate, TextResourceContents

from mcptasks_crds import names
from mcptasks_crds.names import TaskPart
from mcptasks_crds.task import McpTask
from mcptasks_server.dispatch import Services
from mcptasks_server.ending import TaskCancelledError, TaskFailedError, outcome_of
from mcptasks_server.errors import ResourceNotFoundError
from mcptasks_server.exchange import Exchange, Result
from mcptasks_server.projection import is_over, status_message
from mcptasks_server.tasklogs import LOG_META
from mcptasks_server.tasks import TaskNotFoundError

_TEXT: Final = "text/plain"
_JSON: Final = "application/json"


def _template(part: TaskPart, *, title: str, description: str, mime_type: str) -> Result:
    template = ResourceTemplate(
        uri_template=names.task_uri("{taskId}", part),
        name=f"task-{part}",
        title=title,
        description=description,
        mime_type=mime_type,
    )
    return template.model_dump(mode="json", by_alias=True, exclude_none=True)


TEMPLATES: Final[tuple[Result, ...]] = (
    _template(
        TaskPart.LOG,
        title="A task's log",
        description=(
            "The end (at most 64 KiB) of what the task's program has printed: so far while it runs, and as far as it "
            "is kept afterwards."
        ),
        mime_type=_TEXT,
    ),
    _template(
        TaskPart.RESULT,
        title="A task's result",
        description="The result of the tool call (a CallToolResult), once the task is over and has one.",
        mime_type=_JSON,
    ),
)
"""How they are listed."""


async def read(services: Services, exchange: Exchange, uri: str) -> Result:
    """What a URI of the scheme names.

    Raises:
        ResourceNotFoundError: it names nothing of this caller's, or a result that is not there.
    """
    named = names.parse_task_uri(uri)
    if named is None:
        raise ResourceNotFoundError(uri)
    task_id, part = named
    try:
        task = await services.tasks.get(task_id, caller=exchange.caller)
        contents = await _log(services, task, uri) if part is TaskPart.LOG else _result(task, uri)
    except TaskNotFoundError as error:
        raise ResourceNotFoundError(uri) from error
    return {"contents": [contents.model_dump(mode="json", by_alias=True, exclude_none=True)]}


async def _log(services: Services, task: McpTask, uri: str) -> TextResourceContents:
    log = await services.logs.read(task)
    meta: dict[str, Any] = {"source": log.source, "isWhole": log.is_whole}
    text = log.text
    if log.note:
        meta["note"], text = log.note, f"{log.note}\n{log.text}"
    return TextResourceContents(uri=uri, mime_type=_TEXT, text=text, _meta={LOG_META: meta})


def _result(task: McpTask, uri: str) -> TextResourceContents:
    if not is_over(task):
        message = status_message(task)
        standing = f" ({message})" if message else ""
        raise ResourceNotFoundError(
            uri, message=f"There is no result yet: the task goes on{standing}. Read it again when it is over"
        )
    try:
        text = outcome_of(task)
    except (TaskFailedError, TaskCancelledError) as error:
        why = f"The task has no result: {error.message}"
        raise ResourceNotFoundError(uri, message=why, **(error.data or {})) from error
    return TextResourceContents(uri=uri, mime_type=_JSON, text=text)
