"""A client's answer to a request of ours: to a question of a task, or to what an inline tool asked.

Source: specification 2025-11-25, "Transports", "Sending Messages to the Server", 4; "Elicitation".
"""

import asyncio
import json
from contextlib import suppress
from typing import Final

import structlog

from mcptasks_server.answering import InvalidAnswerError, check_answer
from mcptasks_server.caller import Caller
from mcptasks_server.dispatch import Services
from mcptasks_server.errors import RpcError
from mcptasks_server.jsonrpc import Response
from mcptasks_server.tasks import TaskNotFoundError

from .errors import WrongAnswerError
from .exchange import CANCELLED
from .replica import Replica
from .server_requests import InlineRequest, TaskQuestion
from .sessions import Session

KEPT_SECONDS: Final = 75.0
"""How long an answer waits for its task to be made: longer than any call is held while there is none."""
_KEPT: Final = ("action", "content")
"""What of an ElicitResult is the answer; the rest is the envelope's."""


async def take_response(
    response: Response, services: Services, *, session: Session, caller: Caller, replica: Replica
) -> None:
    """Hand an answer to whom it is for. One that nobody has asked for, or waits for any more, is passed over.

    Raises:
        WrongAnswerError: it is no answer to its question, which stays open and is put again.
    """
    log = structlog.get_logger()
    named = replica.server_requests.named_by(response.id, session=session.nonce, now=services.clock().timestamp())
    match named:
        case TaskQuestion():
            try:
                await _answer_question(named, _answer(response), services, caller=caller, replica=replica)
            except InvalidAnswerError as error:
                replica.server_requests.ask_again(str(response.id), named.key)
                raise WrongAnswerError(error.message) from error
        case InlineRequest():
            if not replica.server_requests.resolve(named, response):
                log.info("an answer for which nobody waits at this replica is passed over")
        case None:
            log.info("an answer to what this server has not asked is passed over")


async def _answer_question(
    named: TaskQuestion, answer: str, services: Services, *, caller: Caller, replica: Replica
) -> None:
    first = replica.server_requests.first_question(named)
    if first is not None:
        check_answer(named.key, answer, requested_schema=first.requested_schema)
        first.answer.set_result(answer)
        return
    try:
        await services.tasks.answer(named.task_id, {named.key: answer}, caller=caller)
    except TaskNotFoundError:
        if named.is_first:
            services.background.begin(_keep_for_task(named, answer, services, caller=caller))
        else:
            structlog.get_logger().info("an answer to a task that is not there is passed over", task=named.task_id)


async def _keep_for_task(named: TaskQuestion, answer: str, services: Services, *, caller: Caller) -> None:
    """The call that asked waits at another replica, which makes the task when it does not hear of the answer."""
    log = structlog.get_logger()
    try:
        async with asyncio.timeout(KEPT_SECONDS):
            with services.tasks.watch([named.task_id]) as changes:
                while True:
                    await changes.next()
                    with suppress(TaskNotFoundError):
                        return await services.tasks.answer(named.task_id, {named.key: answer}, caller=caller)
    except TimeoutError:
        log.info("an answer to a task that was never made is passed over", task=named.task_id)
    except RpcError as error:
        log.warning("an answer that was kept for its task is not taken", task=named.task_id, error=error.message)


def _answer(response: Response) -> str:
    """The answer as JSON text, as the client wrote it. A client that could not ask has cancelled."""
    if response.result is None:
        return json.dumps(CANCELLED)
    members = {name: text for name, text in response.sources.items() if name in _KEPT}
    return "{" + ",".join(f"{json.dumps(name)}:{text}" for name, text in members.items()) + "}"
