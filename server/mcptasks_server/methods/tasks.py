"""`tasks/get`, `tasks/update`, `tasks/cancel`. Source: the tasks extension, "Task Polling" to "Task Cancellation"."""

from types import MappingProxyType
from typing import Final

from mcptasks_crds import jsontext
from mcptasks_server.dispatch import Services, parsed
from mcptasks_server.exchange import Exchange, Result
from mcptasks_server.views import TaskViews
from mcptasks_server.wire.ext_tasks import TaskParams, UpdateTaskParams

ACKNOWLEDGED: Final[Result] = MappingProxyType({"resultType": "complete"})


_VIEWS: Final = TaskViews()


async def get_task(services: Services, exchange: Exchange) -> Result:
    """The task as it is now, with its result, error or questions."""
    params = parsed(TaskParams, exchange.params)
    task = await services.tasks.get(params.task_id, caller=exchange.caller)
    return _VIEWS.members_of(task, elicitation=exchange.abilities.elicitation)


async def update_task(services: Services, exchange: Exchange) -> Result:
    """Take answers. Keys that are not asked (any more) are passed over."""
    params = parsed(UpdateTaskParams, exchange.params)
    answers = jsontext.members(exchange.sources["inputResponses"])
    await services.tasks.answer(params.task_id, answers, caller=exchange.caller)
    return ACKNOWLEDGED


async def cancel_task(services: Services, exchange: Exchange) -> Result:
    """Ask for the task's end. It may end otherwise first."""
    params = parsed(TaskParams, exchange.params)
    await services.tasks.cancel(params.task_id, caller=exchange.caller)
    return ACKNOWLEDGED
