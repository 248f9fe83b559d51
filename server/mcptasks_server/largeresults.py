"""Results that are too large for their task's object: where they are kept, and how they come back into the task.

Whoever shows a result finds it in the task (`projection.result_text`), wherever it was kept: a `TaskStore` gives none
without having put it back (`whole`).
"""

import asyncio
from typing import Final, Protocol

from mcptasks_crds import names, outcomes
from mcptasks_crds.task import McpTask, Report

READS_AT_ONCE: Final = 8
"""Of one task's parts."""


class ResultLostError(Exception):
    """What was kept is not there any more, is not what was kept, or may not be read."""


class LargeResults(Protocol):
    """Keeps texts for tasks, under names that `names` makes. Secrets do it; a store of objects may do it one day.

    Both methods may raise `UnavailableError` (within ten seconds), and `RefusedError` where the store does not take it.
    """

    async def keep(self, name: str, text: str, *, task: McpTask) -> str:
        """Keep a text for as long as its task is kept. What is there already under the name stays, and is given.

        Raises:
            ResultLostError: what is there is not this task's.
        """
        ...

    async def read(self, name: str, *, task: McpTask) -> str:
        """The text that is kept under a name for that task.

        Raises:
            ResultLostError: there is none.
        """
        ...


async def whole(task: McpTask, kept: LargeResults) -> McpTask:
    """The same task with its whole result in it, and with none where that is lost: it is shown as `ResultLost` then.

    Raises:
        UnavailableError: it cannot be read now.
    """
    report = task.status.report
    if report is None or not outcomes.is_kept_apart(task.status):
        return task
    try:
        result = await _result(task, report, kept)
        parts = await _parts(task, report, kept)
    except ResultLostError:
        return task.model_copy(update={"status": outcomes.without_result(task.status)})
    status = outcomes.with_what_was_kept_apart(task.status, result=result, parts=parts)
    return task.model_copy(update={"status": status})


def with_stand_in(task: McpTask) -> McpTask:
    """The same with a short result in place of one that is kept elsewhere: it says whether it is an error, no more."""
    report = task.status.report
    if report is None or report.result_from is None or not outcomes.is_kept_apart(task.status):
        return task
    short = f'{{"content":[],"isError":{"true" if report.result_from.is_error else "false"}}}'
    status = outcomes.with_what_was_kept_apart(task.status, result=short, parts=())
    return task.model_copy(update={"status": status})


async def _result(task: McpTask, report: Report, kept: LargeResults) -> str | None:
    source = report.result_from
    if source is None:
        return None
    if not names.is_result_secret(source.secret_name, task.metadata.name):
        # Whoever may write a status, and may not read Secrets, would else read them by us.
        raise ResultLostError("the name is not one of this task's result")
    text = await kept.read(source.secret_name, task=task)
    if names.result_secret_name(task.metadata.name, text) != source.secret_name:
        raise ResultLostError("it is not what the tool gave")
    return text


async def _parts(task: McpTask, report: Report, kept: LargeResults) -> list[str]:
    if report.content_from is None:
        return []
    places = asyncio.Semaphore(READS_AT_ONCE)

    async def read(key: str) -> str:
        async with places:
            return await kept.read(names.content_secret_name(task.metadata.name, key), task=task)

    keys = report.content_keys[-report.content_from.posts :]
    return list(await asyncio.gather(*(read(key) for key in keys)))
