"""`tasks/get`, `tasks/update`, `tasks/cancel`. Source: the tasks extension, "Task Polling" to "Task Cancellation"."""

from types import MappingProxyType
from typing import Any, Final

from mcp_types import ElicitResult
from pydantic import ValidationError

from mcptasks_crds import jsontext
from mcptasks_crds.limits import ANSWER_STORED_BYTES, KIB, stored_bytes
from mcptasks_server.dispatch import Request, Result, Services, parsed
from mcptasks_server.errors import InvalidParamsError
from mcptasks_server.jsonrpc import quoted
from mcptasks_server.projection import detailed_task, outstanding_questions
from mcptasks_server.wire.ext_tasks import TaskParams, UpdateTaskParams

ACKNOWLEDGED: Final[Result] = MappingProxyType({"resultType": "complete"})


async def get_task(services: Services, request: Request) -> Result:
    """The task as it is now, with its result, error or questions."""
    params = parsed(TaskParams, request.params)
    return detailed_task(await services.tasks.get(params.task_id, caller=request.caller)).members()


async def update_task(services: Services, request: Request) -> Result:
    """Take answers. Keys that are not asked (any more) are passed over."""
    params = parsed(UpdateTaskParams, request.params)
    answers = jsontext.members(request.sources["inputResponses"])
    wrong = {key: why for key, text in answers.items() if (why := _problem(params.input_responses[key], text))}
    if wrong:
        asked = outstanding_questions(await services.tasks.get(params.task_id, caller=request.caller))
        for key in wrong.keys() & asked.keys():
            raise InvalidParamsError(f"The answer to {quoted(key)} {wrong[key]}")
    answers = {key: text for key, text in answers.items() if key not in wrong}
    await services.tasks.answer(params.task_id, answers, caller=request.caller)
    return ACKNOWLEDGED


async def cancel_task(services: Services, request: Request) -> Result:
    """Ask for the task's end. It may end otherwise first."""
    params = parsed(TaskParams, request.params)
    await services.tasks.cancel(params.task_id, caller=request.caller)
    return ACKNOWLEDGED


def _problem(response: Any, text: str) -> str | None:
    """What is wrong with an answer. It only matters if its key is asked: of any other key nothing is expected."""
    if stored_bytes(text) > ANSWER_STORED_BYTES:
        return f"is larger than {ANSWER_STORED_BYTES // KIB} KiB"
    try:
        ElicitResult.model_validate(response)
    except ValidationError:
        return "is no elicitation result"
    return None
