"""Runs a tool's function: arguments in, its value or its exception out. The outermost boundary of a tool."""

import asyncio
import inspect
import json
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from .arguments import arguments_for
from .errors import JobError, RefusedError, TaskCancelled, TooLargeError, ToolError
from .results import TWIN_TOO_LARGE, result_from, result_of
from .termination import EXIT_CODE

if TYPE_CHECKING:
    from .tasks import Task

SHOWN_CHARACTERS: Final = 1000
"""Of each end of a result that was too large."""


def run_tool(task: "Task", main: Callable[..., Any]) -> int:
    """Run it, and give its result; the process' exit code."""
    task.is_run = True
    task.termination.listen()
    try:
        result = _result_of(task, main)
        if result is None:
            return 0
        return _give(task, result)
    except (TaskCancelled, BaseExceptionGroup) as error:
        if not _is_cancel(error):
            raise
        if task.is_completed:
            return 0
        _say("cancelled")
        return EXIT_CODE
    except JobError as error:
        _say(str(error))
        return 1
    finally:
        task.settle()


def _result_of(task: "Task", main: Callable[..., Any]) -> Mapping[str, Any] | None:
    """What to give; None where the function gave it itself."""
    try:
        value = _call(task, main)
        return None if task.is_completed else result_from(value)
    except (JobError, ToolError) as error:
        return _failed(task, _words(error))
    except SystemExit as error:
        return _exited(task, error)
    except Exception as error:  # noqa: BLE001  # the boundary to foreign code: whoever called the tool gets its words
        for place in _places(error):
            _say(place)
        return _failed(task, _words(error))


def _call(task: "Task", main: Callable[..., Any]) -> Any:
    given = arguments_for(main, task.arguments) if inspect.signature(main).parameters else {}
    if inspect.iscoroutinefunction(main):
        try:
            return asyncio.run(_call_async(task, main, given))
        finally:
            task.termination.listen()  # the loop has taken its own handler with it
    return main(**given)


async def _call_async(task: "Task", main: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """An async function is cancelled by SIGTERM as any coroutine is: an exception would fall into the loop itself."""
    calling = asyncio.current_task()

    def came() -> None:
        task.termination.is_wanted = True
        if calling is not None and not task.termination.is_held_back:
            calling.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, came)
    try:
        return await main(**given)
    except asyncio.CancelledError:
        if task.termination.is_wanted:
            raise TaskCancelled("SIGTERM") from None
        raise


def _give(task: "Task", result: Mapping[str, Any]) -> int:
    try:
        task.give(result)
    except RefusedError as error:
        if error.status == 409:
            raise
        task.give(result_of(_why_refused(error, result), is_error=True))
        return 1
    return 1 if result["isError"] else 0


def _failed(task: "Task", words: str) -> Mapping[str, Any] | None:
    if task.is_completed:  # too late for a result, but not for the log
        _say(words)
        return None
    return result_of(words, is_error=True)


def _is_cancel(error: BaseException) -> bool:
    """Also one that a group of async tasks was told by one of them."""
    return isinstance(error, TaskCancelled) or (
        isinstance(error, BaseExceptionGroup) and error.subgroup(TaskCancelled) is not None
    )


def _words(error: BaseException) -> str:
    """An exception for people; of a group, what is in it."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(map(_words, error.exceptions))
    kind, words = type(error).__name__, str(error)
    if isinstance(error, JobError | ToolError):
        return words or kind
    return f"{kind}: {words}" if words else kind


def _exited(task: "Task", error: SystemExit) -> Mapping[str, Any] | None:
    if error.code in (None, 0):
        return None if task.is_completed else result_of()
    if isinstance(error.code, int):
        raise error  # the exit code says it, as of any program
    return _failed(task, str(error.code))


def _why_refused(error: RefusedError, result: Mapping[str, Any]) -> str:
    words = f"the result was refused: {error}"
    if not isinstance(error, TooLargeError):
        return words
    text = "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
    if TWIN_TOO_LARGE in text:
        text = json.dumps(result["structuredContent"], ensure_ascii=False)
    if len(text) <= 2 * SHOWN_CHARACTERS:
        return f"{words}\n{text}"
    return f"{words}\n{text[:SHOWN_CHARACTERS]}\n...\n{text[-SHOWN_CHARACTERS:]}"


def _places(error: Exception) -> list[str]:
    """Where in the program it was: no values, and no words of other exceptions, which might hold secrets."""
    frames = traceback.extract_tb(error.__traceback__)
    return [type(error).__name__, *(f"  {frame.filename}:{frame.lineno} in {frame.name}" for frame in frames)]


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
