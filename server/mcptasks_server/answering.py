"""Which answers a task takes: of open questions, and each as its question's form asks.

Every door's answers come through here (`TaskStore.answer`), so that what is stored is what was asked for.
"""

from collections.abc import Mapping

from mcptasks_crds.asking import open_for_caller
from mcptasks_crds.forms import violation_of_answer
from mcptasks_crds.limits import ANSWER_STORED_BYTES, KIB, stored_bytes
from mcptasks_crds.task import McpTask

from .caller import Caller
from .errors import InvalidParamsError
from .jsonrpc import quoted
from .tasks import TaskStore


class InvalidAnswerError(InvalidParamsError):
    """An answer is not what its question asks for."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(f"Invalid params: the answer to {quoted(key)} {why}")
        self.key = key


def new_answers(task: McpTask, answers: Mapping[str, str]) -> dict[str, str]:
    """Those of the answers (each as JSON text) that are to be stored: of what its client is asked, and not answered.

    What only approvers may answer is not asked of the client, so an answer to it is passed over.

    Raises:
        InvalidAnswerError: one of them is not what its question asks for; none is to be stored then.
    """
    asked = open_for_caller(task)
    new = {key: text for key, text in answers.items() if key in asked}
    for key, text in new.items():
        check_answer(key, text, requested_schema=asked[key].requested_schema)
    return new


def check_answer(key: str, text: str, *, requested_schema: str) -> None:
    """That an answer is an ElicitResult which its question's form takes; both are JSON text.

    Raises:
        InvalidAnswerError: it is not.
    """
    if stored_bytes(text) > ANSWER_STORED_BYTES:
        raise InvalidAnswerError(key, f"is larger than {ANSWER_STORED_BYTES // KIB} KiB")
    violation = violation_of_answer(requested_schema, text)
    if violation is not None:
        raise InvalidAnswerError(key, f"is not what was asked for: {violation}")


async def answer_what_conforms(tasks: TaskStore, task_id: str, answers: Mapping[str, str], *, caller: Caller) -> None:
    """Give a task those of the answers that are what was asked for; for the others it goes on asking."""
    left = dict(answers)
    while left:
        try:
            await tasks.answer(task_id, left, caller=caller)
            return
        except InvalidAnswerError as error:
            del left[error.key]
