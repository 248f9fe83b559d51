"""The record of answers: who gave them, by which road, whether that is certain, and what comes of those that break."""

from datetime import timedelta
from typing import Any

import pytest

from mcptasks_crds.phases import Phase
from mcptasks_crds.questions import AnsweredBy, Approvers, QuestionTime, TaskQuestion
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import Answer, AnswerRoad, AnswerSeen, Rejection
from mcptasks_operator.answered import SETTLING
from mcptasks_operator.decide import decide
from mcptasks_operator.decision import ReadPolicy, RecordAnswer, ReleaseJob
from mcptasks_operator.observation import Observation, PolicySeen
from mcptasks_operator.samples import NOW, ago, job, observation, status, task

ACCEPT = '{"action":"accept","content":{}}'
SOMETIME = AnswerSeen(at=ago(5), road=AnswerRoad.APPROVER)


def question(answered_by: AnsweredBy = AnsweredBy.APPROVERS, **approvers: Any) -> TaskQuestion:
    named = Approvers(**approvers) if approvers else Approvers(groups=("deployers",))
    return TaskQuestion(
        message="Deploy?",
        requested_schema='{"type":"object","properties":{}}',
        when=QuestionTime.BEFORE_START,
        answered_by=answered_by,
        approvers=None if answered_by is AnsweredBy.CALLER else named,
        expiry_seconds=600,
    )


def seen(
    asked: TaskQuestion, answers: dict[str, Answer], *, closed: Any = None, policy: PolicySeen | None = None
) -> Observation:
    fields = status(Phase.INPUT_REQUIRED, pod=False).model_copy(update={"answers": closed or {}})
    waiting = task(fields, questions={"go": asked}, answers=answers)
    return observation(task=waiting, job=job(is_held_back=True), pods=(), policy=policy or PolicySeen())


def given(by: str | None = "alice", *, road: Any = None, response: str = ACCEPT, reason: str | None = None) -> Answer:
    return Answer(response=response, by=by, road=road, reason=reason)


def record(observed: Observation) -> AnswerSeen:
    """What is on record of `go` once a suspended Job is let start."""
    decision = decide(observed)
    assert isinstance(decision.need, ReleaseJob)
    released = decide(observation(task=observed.task, job=job(released_at=NOW), pods=(), policy=observed.policy))
    return released.status.answers["go"]


def test_an_answer_is_not_put_on_record_before_the_policy_was_looked_for() -> None:
    unread = observation(
        task=task(status(Phase.INPUT_REQUIRED, pod=False), questions={"go": question()}, answers={"go": given()}),
        job=job(is_held_back=True),
        pods=(),
        policy=None,
    )

    assert decide(unread).need == ReadPolicy()


def test_an_approvers_answer_lets_the_task_start_and_is_on_record() -> None:
    assert record(seen(question(), {"go": given()})) == AnswerSeen(at=NOW, road=AnswerRoad.APPROVER, by="alice")


def test_a_callers_answer_says_so() -> None:
    answer = given(road=AnswerRoad.CALLER)

    assert record(seen(question(AnsweredBy.EITHER), {"go": answer})).road is AnswerRoad.CALLER


@pytest.mark.parametrize(
    ("age", "is_verified"), [(None, False), (timedelta(0), False), (SETTLING, True), (timedelta(days=9), True)]
)
def test_who_answered_is_certain_where_the_policy_was_there_before_the_task(
    age: timedelta | None, is_verified: bool
) -> None:
    observed = seen(question(), {"go": given()})
    created = observed.task.metadata.creation_timestamp
    assert created is not None
    policy = PolicySeen(in_force_since=None if age is None else created - age)

    assert record(seen(question(), {"go": given()}, policy=policy)).verified is is_verified


@pytest.mark.parametrize(
    ("asked", "answer", "rejection"),
    [
        pytest.param(question(), given(road=AnswerRoad.CALLER), Rejection.NOT_ASKED, id="the caller"),
        pytest.param(question(), given(None), Rejection.NOT_ASKED, id="nobody"),
        pytest.param(question(users=("bob",)), given(), Rejection.NOT_ASKED, id="another user"),
        pytest.param(
            question(AnsweredBy.CALLER), given(road=AnswerRoad.APPROVER), Rejection.NOT_ASKED, id="no approver asked"
        ),
        pytest.param(question(), given(response="yes"), Rejection.INVALID, id="no form"),
    ],
)
def test_an_answer_that_does_not_count_is_rejected_and_its_question_asked_again(
    asked: TaskQuestion, answer: Answer, rejection: Rejection
) -> None:
    decision = decide(seen(asked, {"go": answer}))

    assert decision.status.phase is Phase.INPUT_REQUIRED
    assert decision.status.answers["go"].rejected is rejection
    assert decision.status.answers["go"].asked_again_as == "go-2"
    (told,) = (each for each in decision.after if isinstance(each, RecordAnswer))
    assert (told.key, told.is_rejected) == ("go", True)
    assert told.message.endswith("asked again as go-2")


def test_a_key_that_somebody_has_answered_before_it_was_asked_is_not_taken() -> None:
    decision = decide(seen(question(), {"go": given(response="yes"), "go-2": given()}))

    assert decision.status.answers["go"].asked_again_as == "go-3"


def test_the_answer_under_the_new_key_lets_the_task_start_under_the_questions_own() -> None:
    rejected = SOMETIME.model_copy(update={"rejected": Rejection.INVALID, "asked_again_as": "go-2"})
    answers = {"go": given(response="yes"), "go-2": given("carol")}

    decision = decide(seen(question(), answers, closed={"go": rejected}))

    assert isinstance(decision.need, ReleaseJob)
    assert decision.need.answers == f'{{"go":{ACCEPT}}}'


def test_who_declines_may_say_why() -> None:
    decision = decide(seen(question(), {"go": given(response='{"action":"decline"}', reason="not on a Friday")}))

    assert (decision.status.reason, decision.status.message) == (
        Reason.DECLINED,
        "declined by alice: not on a Friday (go)",
    )


def test_each_answer_is_told_once() -> None:
    first = decide(seen(question(), {"go": given(response='{"action":"decline"}')}))
    again = decide(seen(question(), {"go": given(response='{"action":"decline"}')}, closed={"go": SOMETIME}))

    assert [each.message for each in first.after if isinstance(each, RecordAnswer)] == [
        "go was answered by alice (approver, unverified)"
    ]
    assert not [each for each in again.after if isinstance(each, RecordAnswer)]


def test_people_are_told_whose_approval_is_waited_for() -> None:
    assert decide(seen(question(), {})).status.message == "waiting for an answer: go (approvers: deployers)"
