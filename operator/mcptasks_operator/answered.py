"""How a task's questions were answered: what counts, what does not, and what is asked again under another key. Pure.

An answer stands in `spec.answers` as soon as it is given. `status.answers` is the record of it: who gave it, when it
was seen, by which road, and whether that is certain; or that the time for it was over.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from mcptasks_crds import limits
from mcptasks_crds.answers import next_key, refusal_of, road_of
from mcptasks_crds.asking import current_key, pod_questions
from mcptasks_crds.questions import QuestionTime, TaskQuestion
from mcptasks_crds.task import Answer, AnswerRoad, AnswerSeen, McpTask, Question

from .decision import RecordAnswer
from .retrying import asker_is_gone
from .situation import Situation

Asked = TaskQuestion | Question

SETTLING: Final = timedelta(seconds=5)
"""How long after the admission policy was made every API server goes by it."""


def asked(task: McpTask) -> dict[str, Asked]:
    """All that the task's tool and its pods have ever asked, by the question's own key."""
    return {**task.spec.questions, **pod_questions(task)}


def has_news(situation: Situation) -> bool:
    """Whether there is an answer that is not on record yet."""
    seen = situation.status.answers
    keys = (current_key(key, seen) for key in asked(situation.task))
    return any(key in situation.task.spec.answers and key not in seen for key in keys)


def closed(situation: Situation) -> dict[str, AnswerSeen]:
    """The whole record: of each key that was answered, or whose time was over."""
    found = dict(situation.status.answers)
    for key, question in asked(situation.task).items():
        while (now_asked := current_key(key, found)) not in found:
            seen = _seen(situation, key, question, now_asked, found)
            if seen is None:
                break
            found[now_asked] = seen
    return found


def answer_that_counts(situation: Situation, key: str) -> tuple[str, Answer] | None:
    """The answer to a question that is what was asked for, and the key under which it was given; None: not yet."""
    found = closed(situation)
    last = current_key(key, found)
    seen, answer = found.get(last), situation.task.spec.answers.get(last)
    counts = seen is not None and seen.rejected is None and seen.road is not AnswerRoad.EXPIRED
    return (last, answer) if answer is not None and counts else None


def rejected_for_good(situation: Situation, key: str) -> str | None:
    """Why the last answer to a question does not count, where it is not asked again; else None."""
    found = closed(situation)
    last = current_key(key, found)
    if last not in found or found[last].rejected is None:
        return None
    return _refusal_words(situation.task, key, last)


def records(situation: Situation) -> tuple[RecordAnswer, ...]:
    """What people are told of the answers that are not on record yet."""
    before, task = situation.status.answers, situation.task
    found = closed(situation)
    return tuple(
        _record(task, own, key, found[key])
        for own in asked(task)
        for key in _keys(own, found)
        if key not in before and key in found and found[key].road is not AnswerRoad.EXPIRED
    )


def _seen(
    situation: Situation, own: str, question: Asked, key: str, found: Mapping[str, AnswerSeen]
) -> AnswerSeen | None:
    answer = situation.task.spec.answers.get(key)
    if answer is None:
        if isinstance(question, Question) and situation.now >= question.expires_at:
            return AnswerSeen(at=question.expires_at, road=AnswerRoad.EXPIRED)
        if isinstance(question, Question) and asker_is_gone(situation, question):
            return AnswerSeen(at=situation.now, road=AnswerRoad.EXPIRED)
        return None
    refusal = refusal_of(question, answer)
    again = None
    if refusal is not None and not (isinstance(question, TaskQuestion) and question.when is QuestionTime.BEFORE_TASK):
        given = {each.asked_again_as for each in found.values() if each.asked_again_as is not None}
        again = next_key(own, taken={*asked(situation.task), *situation.task.spec.answers, *found, *given})
    return AnswerSeen(
        at=situation.now,
        road=road_of(question, answer),
        by=None if answer.by is None else limits.clip(answer.by, limits.ANSWERER_SEEN_STORED_BYTES),
        verified=_is_verified(situation),
        rejected=None if refusal is None else refusal.rejection,
        asked_again_as=again,
    )


def _is_verified(situation: Situation) -> bool:
    """Whether the policy judged every answer to this task: it was in force before there was the task.

    A policy that was taken away and put back is another one, and counts from then on.
    """
    policy, created = situation.seen.policy, situation.task.metadata.creation_timestamp
    if policy is None or policy.in_force_since is None or created is None:
        return False
    return created >= policy.in_force_since + SETTLING


def _keys(own: str, found: Mapping[str, AnswerSeen]) -> list[str]:
    """The keys under which a question was asked, its own first."""
    keys = [own]
    while (seen := found.get(keys[-1])) is not None and seen.asked_again_as not in (None, *keys):
        assert seen.asked_again_as is not None
        keys.append(seen.asked_again_as)
    return keys


def _record(task: McpTask, own: str, key: str, seen: AnswerSeen) -> RecordAnswer:
    who = f"{seen.by or 'somebody'} ({seen.road}, {'verified' if seen.verified else 'unverified'})"
    if seen.rejected is None:
        return RecordAnswer(key=key, is_rejected=False, message=f"{key} was answered by {who}")
    words = f"the answer of {who} to {key} does not count: {_refusal_words(task, own, key)}"
    again = f"; it is asked again as {seen.asked_again_as}" if seen.asked_again_as else ""
    return RecordAnswer(key=key, is_rejected=True, message=limits.clip(words, 600) + again)


def _refusal_words(task: McpTask, own: str, key: str) -> str:
    refusal = refusal_of(asked(task)[own], task.spec.answers[key])
    return "it is not what was asked for" if refusal is None else refusal.words
