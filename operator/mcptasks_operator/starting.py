"""Rungs for a task that has no Job yet and is not known to have had one."""

from datetime import datetime, timedelta
from typing import Final

from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.tool import READY, McpTool

from .causes import words_of_refusal
from .decision import CreateJob
from .holding import ended_by_an_answer, unknown_questions
from .observation import JobView
from .queueing import line_is_full
from .situation import Situation
from .verdicts import Ask, End, GoOn, Verdict, failed, once_there_is_no_job

PATIENCE: Final = timedelta(seconds=3)
"""How late the view of a tool may be: a task and its tool may come from one `kubectl apply`."""
_LOOK_AGAIN: Final = timedelta(seconds=1)
_MOST_PAUSE: Final = timedelta(seconds=30)


def name_is_taken(situation: Situation) -> Verdict | None:
    """A Job of that name is not ours, and never becomes so."""
    if situation.recorded is not None or situation.job is not None or not isinstance(situation.seen.job, JobView):
        return None
    return failed(Reason.JOB_NAME_TAKEN, f"a Job named {situation.seen.job.name} exists and is not this task's")


def has_no_job(situation: Situation) -> Verdict | None:
    """No Job yet: it is to be made, unless something stands against it."""
    if situation.recorded is not None or situation.job is not None:
        return None
    for rung in (
        _is_cancelled,
        _is_refused,
        _is_answered_against,
        _tool_is_missing,
        _tool_is_unchecked,
        _tool_is_invalid,
        _tool_asks_more,
        _tool_was_edited_since_it_asked,
        line_is_full,
    ):
        verdict = rung(situation)
        if verdict is not None:
            return verdict
    return Ask(need=CreateJob())


def _is_cancelled(situation: Situation) -> Verdict | None:
    if situation.stopping is None and not situation.task.spec.cancel_requested:
        return None
    return once_there_is_no_job(
        situation, End(phase=Phase.CANCELLED, reason=Reason.CANCELLED, message="cancelled before it started")
    )


def _is_refused(situation: Situation) -> Verdict | None:
    refusal = situation.seen.refusal
    if refusal is None:
        return None
    if refusal.reason is Reason.QUOTA_EXCEEDED:
        return _waits_for_quota(situation, words_of_refusal(refusal.message))
    return failed(refusal.reason, refusal.message)


def _waits_for_quota(situation: Situation, message: str) -> Verdict:
    """The namespace has room for no more Jobs: other tasks' ends may make some. Each try is a request."""
    accepted_at, tool = _accepted_at(situation), situation.seen.tool
    seconds = 0 if tool is None else tool.spec.start_deadline_seconds
    deadline = accepted_at + timedelta(seconds=seconds)
    if situation.now >= deadline:
        words = f"not started within {seconds} s: waiting for quota: {message}"
        return failed(Reason.QUOTA_EXCEEDED, words)
    pause = max(_LOOK_AGAIN, min((situation.now - accepted_at) / 4, _MOST_PAUSE))
    return GoOn(
        phase=Phase.PENDING,
        message=f"waiting for quota: {message}",
        cause=Reason.QUOTA_EXCEEDED,
        until=min(deadline, situation.now + pause),
    )


def _is_answered_against(situation: Situation) -> Verdict | None:
    end = ended_by_an_answer(situation)
    return None if end is None else once_there_is_no_job(situation, end)


def _tool_is_missing(situation: Situation) -> Verdict | None:
    called, tool = situation.task.spec.tool, situation.seen.tool
    if tool is not None and called.uid not in (None, tool.metadata.uid):
        message = f"the tool {called.name} that was called is gone: another one has its name now"
    elif tool is None:
        message = f"there is no tool named {called.name}"
    else:
        return None
    return _wait(situation, message, until=_accepted_at(situation) + PATIENCE) or once_there_is_no_job(
        situation, failed(Reason.TOOL_NOT_FOUND, message)
    )


def _tool_is_unchecked(situation: Situation) -> Verdict | None:
    """The tool was edited and nobody has looked at it yet, or our view of it is older than the call."""
    tool = situation.seen.tool
    assert tool is not None
    called = situation.task.spec.tool.generation
    is_late = called is not None and tool.metadata.generation < called
    if tool.status.observed_generation == tool.metadata.generation and not is_late:
        return None
    seconds = tool.spec.start_deadline_seconds
    deadline = _accepted_at(situation) + timedelta(seconds=seconds)
    return _wait(situation, "waiting for the tool's definition to be checked", until=deadline) or (
        once_there_is_no_job(
            situation, failed(Reason.TOOL_INVALID, f"the tool's definition was not checked within {seconds} s")
        )
    )


def _tool_is_invalid(situation: Situation) -> Verdict | None:
    tool = situation.seen.tool
    if tool is None or tool.is_ready:
        return None
    return once_there_is_no_job(situation, failed(Reason.TOOL_INVALID, f"the tool is not ready: {_why(tool)}"))


def _tool_asks_more(situation: Situation) -> Verdict | None:
    """The tool has a question that the task was made without: nobody may pass by an approval in that way."""
    tool = situation.seen.tool
    unknown = () if tool is None else unknown_questions(tool, situation.task)
    if not unknown:
        return None
    message = f"the tool asks {', '.join(unknown)} before it starts, and the task was made without that: call it again"
    return once_there_is_no_job(situation, failed(Reason.TOOL_INVALID, message))


def _tool_was_edited_since_it_asked(situation: Situation) -> Verdict | None:
    """People are asked about the tool as it was when it was called: nobody approves one thing and gets another."""
    spec, tool = situation.task.spec, situation.seen.tool
    if not spec.questions or tool is None or spec.tool.generation in (None, tool.metadata.generation):
        return None
    asked = ", ".join(sorted(spec.questions))
    message = f"the tool was edited after it had asked {asked}, and before the task was taken up: call it again"
    return once_there_is_no_job(situation, failed(Reason.TOOL_INVALID, message))


def _why(tool: McpTool) -> str:
    words = (f"{each.reason}: {each.message}" for each in tool.status.conditions if each.type == READY)
    return next(words, "nothing says that it is")


def _wait(situation: Situation, message: str, *, until: datetime) -> GoOn | None:
    if situation.now >= until:
        return None
    return GoOn(phase=Phase.PENDING, message=message, until=min(until, situation.now + _LOOK_AGAIN))


def _accepted_at(situation: Situation) -> datetime:
    return situation.task.metadata.creation_timestamp or situation.now - PATIENCE
