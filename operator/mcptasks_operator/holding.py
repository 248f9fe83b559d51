"""Rungs about a task that waits before its start: its Job is there, suspended, until its questions are answered.

An answer never changes (the API server sees to it), so what one of them says holds for ever: a task that was declined
was never let start, and one that was let start was never declined.
"""

from datetime import datetime, timedelta

from mcptasks_crds.asking import current_key
from mcptasks_crds.forms import action_of
from mcptasks_crds.phases import Phase
from mcptasks_crds.questions import QuestionTime, TaskQuestion
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import McpTask
from mcptasks_crds.tool import McpTool

from .answered import answer_that_counts, closed, rejected_for_good
from .decision import ReleaseJob
from .podcontract import answers_text
from .queueing import waits_in_line
from .results import never_ran
from .situation import Situation
from .verdicts import Ask, End, GoOn, Verdict, failed


def is_held_back(situation: Situation) -> Verdict | None:
    """The Job was made suspended and waits for an answer, then for its turn; its start deadline has not begun."""
    job = situation.job
    if job is None or not job.is_held_back:
        return None
    refusal = situation.seen.refusal
    if refusal is not None:
        return failed(refusal.reason, refusal.message)
    return (
        ended_by_an_answer(situation)
        or _waits(situation)
        or waits_in_line(situation)
        or Ask(
            need=ReleaseJob(
                name=job.name,
                uid=job.uid,
                answers=answers_text(_recorded(situation)),
                queue_name=situation.execution.queue_name,
                at=situation.now,
            ),
        )
    )


def ended_by_an_answer(situation: Situation) -> End | None:
    """The end that an answer is, or that there is none in time: the tool never runs."""
    task = situation.task
    keys = sorted(task.spec.questions)
    return (
        next(filter(None, (_declined(situation, key) for key in keys)), None)
        or next(filter(None, (_broken(situation, key) for key in keys)), None)
        or _is_asked_too_late(task)
        or _expired(situation)
    )


def _recorded(situation: Situation) -> McpTask:
    """The task with the record of its answers as it is to be."""
    status = situation.status.model_copy(update={"answers": closed(situation)})
    return situation.task.model_copy(update={"status": status})


def unknown_questions(tool: McpTool, task: McpTask) -> tuple[str, ...]:
    """The keys of a tool's questions that a task does not have: it was made when the tool did not ask them yet."""
    return tuple(question.key for question in tool.spec.questions if question.key not in task.spec.questions)


def _declined(situation: Situation, key: str) -> End | None:
    found = answer_that_counts(situation, key)
    if found is None or action_of(found[1].response) not in ("decline", "cancel"):
        return None
    _, answer = found
    why = f": {answer.reason}" if answer.reason else ""
    return never_ran(Reason.DECLINED, f"declined by {answer.by or 'somebody'}{why} ({key})")


def _broken(situation: Situation, key: str) -> End | None:
    """An answer that does not count, to a question that is not asked again."""
    words = rejected_for_good(situation, key)
    return None if words is None else never_ran(Reason.ANSWER_INVALID, f"the answer to {key} does not count: {words}")


def _is_asked_too_late(task: McpTask) -> End | None:
    """A question that is asked before there is a task has no answer: the task was written by hand."""
    for key, question in sorted(task.spec.questions.items()):
        if question.when is QuestionTime.BEFORE_TASK and key not in task.spec.answers:
            message = f"{key} is asked before there is a task, and this one was made without an answer"
            return never_ran(Reason.ANSWER_INVALID, message)
    return None


def _expired(situation: Situation) -> End | None:
    for key, question in _open(situation):
        if situation.now >= _expires_at(situation, question):
            return never_ran(Reason.QUESTION_EXPIRED, f"nobody answered {key} within {question.expiry_seconds} s")
    return None


def _waits(situation: Situation) -> GoOn | None:
    waiting = _open(situation)
    if not waiting:
        return None
    return GoOn(
        phase=Phase.INPUT_REQUIRED,
        message=_words(waiting),
        until=min(_expires_at(situation, question) for _, question in waiting),
    )


def _words(waiting: list[tuple[str, TaskQuestion]]) -> str:
    who = sorted({str(question.approvers) for _, question in waiting if question.approvers is not None})
    words = f"waiting for an answer: {', '.join(key for key, _ in waiting)}"
    return f"{words} (approvers: {'; '.join(who)})" if who else words


def _open(situation: Situation) -> list[tuple[str, TaskQuestion]]:
    """The tool's questions that wait for an answer, by the keys under which they are asked by now."""
    found = closed(situation)
    asked = {current_key(key, found): question for key, question in situation.task.spec.questions.items()}
    return [(key, question) for key, question in sorted(asked.items()) if key not in found]


def _expires_at(situation: Situation, question: TaskQuestion) -> datetime:
    accepted_at = situation.task.metadata.creation_timestamp or situation.now
    return accepted_at + timedelta(seconds=question.expiry_seconds)
