"""What a task's running pod asks: how its questions were closed, and for how long it has waited. Pure.

An answer stands in `spec.answers` as soon as it is given; `status.answers` says when it was seen, or that the time for
it was over. So the time that a pod has waited, which does not count towards its run limit, can be told from the object
alone, after any restart.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from mcptasks_crds.asking import current_key, pod_questions
from mcptasks_crds.phases import Phase
from mcptasks_crds.task import Question

from .answered import closed
from .situation import Situation
from .verdicts import GoOn, Verdict


def asks(situation: Situation) -> Verdict | None:
    """The pod waits for an answer: its run limit stands still, until the time for the answer is over."""
    waiting = _open(situation)
    if not waiting or situation.container is None or situation.container.running_since is None:
        return None
    done = closed(situation)
    message = f"waiting for an answer: {', '.join(sorted(current_key(key, done) for key in waiting))}"
    return GoOn(phase=Phase.INPUT_REQUIRED, message=message, until=next_expiry(situation))


def next_expiry(situation: Situation) -> datetime | None:
    """When the time for the next of the open questions is over."""
    return min((question.expires_at for question in _open(situation).values()), default=None)


def waited(situation: Situation) -> timedelta:
    """For how long the pod that runs has waited for answers by now; several at once count once."""
    ends = _ends(situation)
    return _together(situation, {key: ends.get(key, situation.now) for key in pod_questions(situation.task)})


def will_have_waited(situation: Situation) -> timedelta | None:
    """The most that it will have waited once no question is open any more; None where none is open."""
    waiting = _open(situation)
    if not waiting:
        return None
    return _together(situation, _ends(situation) | {key: question.expires_at for key, question in waiting.items()})


def _ends(situation: Situation) -> dict[str, datetime]:
    """When each of the pod's questions was closed that is not open any more, by its own key."""
    done = closed(situation)
    last = {key: current_key(key, done) for key in pod_questions(situation.task)}
    return {key: done[now_asked].at for key, now_asked in last.items() if now_asked in done}


def _open(situation: Situation) -> dict[str, Question]:
    done = _ends(situation)
    return {key: question for key, question in pod_questions(situation.task).items() if key not in done}


def _together(situation: Situation, ends: Mapping[str, datetime]) -> timedelta:
    since = situation.started_at if situation.container is None else situation.container.running_since
    asked = pod_questions(situation.task)
    spans = ((asked[key].asked_at, end) for key, end in ends.items() if key in asked)
    return _covered((start if since is None else max(start, since), end) for start, end in spans)


def _covered(spans: Iterable[tuple[datetime, datetime]]) -> timedelta:
    """How much time lies in at least one of the spans."""
    total, reached = timedelta(), None
    for start, end in sorted(spans):
        begin = start if reached is None else max(start, reached)
        if end > begin:
            total += end - begin
            reached = end
    return total
