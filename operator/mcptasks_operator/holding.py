"""Rungs about a task that waits before its start: its Job is there, suspended, until each of its questions is answered.

An answer never changes (the API server sees to it), so what one of them says holds for ever: a task that was declined
was never let start, and one that was let start was never declined.
"""

from datetime import datetime, timedelta

from mcptasks_crds.forms import action_of, violation_of_answer
from mcptasks_crds.phases import Phase
from mcptasks_crds.questions import QuestionTime, TaskQuestion
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import Answer, McpTask
from mcptasks_crds.tool import McpTool

from .decision import ReleaseJob
from .podcontract import answers_text
from .results import never_ran
from .situation import Situation
from .verdicts import Ask, End, GoOn, Verdict, failed


def is_held_back(situation: Situation) -> Verdict | None:
    """The Job was made suspended and waits for an answer; its start deadline has not begun."""
    job = situation.job
    if job is None or not job.is_held_back:
        return None
    refusal = situation.seen.refusal
    if refusal is not None:
        return failed(refusal.reason, refusal.message)
    return (
        ended_by_an_answer(situation)
        or _waits(situation)
        or Ask(
            need=ReleaseJob(name=job.name, uid=job.uid, answers=answers_text(situation.task), at=situation.now),
        )
    )


def ended_by_an_answer(situation: Situation) -> End | None:
    """The end that an answer is, or that there is none in time: the tool never runs."""
    task = situation.task
    answered = [
        (key, question, task.spec.answers[key])
        for key, question in sorted(task.spec.questions.items())
        if key in task.spec.answers
    ]
    return (
        next(filter(None, (_declined(key, answer) for key, _, answer in answered)), None)
        or next(filter(None, (_broken(*each) for each in answered)), None)
        or _is_asked_too_late(task)
        or _expired(situation)
    )


def unknown_questions(tool: McpTool, task: McpTask) -> tuple[str, ...]:
    """The keys of a tool's questions that a task does not have: it was made when the tool did not ask them yet."""
    return tuple(question.key for question in tool.spec.questions if question.key not in task.spec.questions)


def _declined(key: str, answer: Answer) -> End | None:
    if action_of(answer.response) not in ("decline", "cancel"):
        return None
    return never_ran(Reason.DECLINED, f"declined by {answer.by or 'somebody'} ({key})")


def _broken(key: str, question: TaskQuestion, answer: Answer) -> End | None:
    violation = violation_of_answer(question.requested_schema, answer.response)
    if violation is None:
        return None
    return never_ran(Reason.ANSWER_INVALID, f"the answer to {key} is not what was asked for: {violation}")


def _is_asked_too_late(task: McpTask) -> End | None:
    """A question that is asked before there is a task has no answer: the task was written by hand."""
    for key, question in sorted(task.spec.questions.items()):
        if question.when is QuestionTime.BEFORE_TASK and key not in task.spec.answers:
            message = f"{key} is asked before there is a task, and this one was made without an answer"
            return never_ran(Reason.ANSWER_INVALID, message)
    return None


def _expired(situation: Situation) -> End | None:
    for key, question in _open(situation.task):
        if situation.now >= _expires_at(situation, question):
            return never_ran(Reason.QUESTION_EXPIRED, f"nobody answered {key} within {question.expiry_seconds} s")
    return None


def _waits(situation: Situation) -> GoOn | None:
    waiting = _open(situation.task)
    if not waiting:
        return None
    return GoOn(
        phase=Phase.INPUT_REQUIRED,
        message=f"waiting for an answer: {', '.join(key for key, _ in waiting)}",
        until=min(_expires_at(situation, question) for _, question in waiting),
    )


def _open(task: McpTask) -> list[tuple[str, TaskQuestion]]:
    return [(key, question) for key, question in sorted(task.spec.questions.items()) if key not in task.spec.answers]


def _expires_at(situation: Situation, question: TaskQuestion) -> datetime:
    accepted_at = situation.task.metadata.creation_timestamp or situation.now
    return accepted_at + timedelta(seconds=question.expiry_seconds)
