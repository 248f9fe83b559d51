"""Questions of the running pod as a table: what is asked and answered, and what the time that it waits does."""

from datetime import timedelta
from typing import Any

import pytest

from mcptasks_crds import limits
from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import Answer, AnswerRoad, AnswerSeen, Question, Report, Stopping, TaskResult
from mcptasks_operator.decide import decide
from mcptasks_operator.decision import Action, ExtendJob, ReadLog, RetireJob, StopJob
from mcptasks_operator.executions import backstop_seconds
from mcptasks_operator.observation import Observation
from mcptasks_operator.samples import (
    JOB_UID,
    NOW,
    TASK,
    TIMEOUT_SECONDS,
    ago,
    ended,
    execution,
    job,
    log,
    observation,
    pod,
    running,
    status,
    task,
    waiting,
)

YES = Answer(response='{"action":"accept","content":{}}', by="alice")
BACKSTOP = backstop_seconds(execution())


def question(*, asked: float, expiry: int = 600) -> Question:
    """A question, asked so many seconds ago."""
    return Question(message="Sure?", requested_schema='{"type":"object"}', asked_at=ago(asked), expiry_seconds=expiry)


def seen(
    *, since: float = 50, answers: Any = None, closed: Any = None, spec: Any = None, **asked: Question
) -> Observation:
    """A task whose pod runs since so many seconds, and asks that."""
    report = Report(questions=asked)
    living = status(report=report, answers=closed or {}, started_at=ago(since))
    return observation(
        task=task(living, answers=answers or {}, **(spec or {})), pods=(pod(running(ago(since))),), job=job()
    )


def of(kind: type[Action], observed: Observation) -> list[Action]:
    """What of that kind is done."""
    return [action for action in decide(observed).after if isinstance(action, kind)]


def test_an_open_question_makes_the_task_wait_for_input() -> None:
    decision = decide(seen(deploy=question(asked=5)))

    assert decision.status.phase is Phase.INPUT_REQUIRED
    assert decision.status.message == "waiting for an answer: deploy"
    assert decision.look_again_at == ago(5) + timedelta(seconds=600)


def test_an_answer_lets_the_task_go_on_and_is_dated() -> None:
    decision = decide(seen(deploy=question(asked=5), answers={"deploy": YES}))

    assert decision.status.phase is Phase.RUNNING
    (closed,) = decision.status.answers.values()
    assert (closed.at, closed.road) == (NOW, AnswerRoad.CALLER)


def test_a_question_whose_time_is_over_is_closed_for_good() -> None:
    late = decide(seen(deploy=question(asked=20, expiry=10)))
    expired = AnswerSeen(at=ago(10), road=AnswerRoad.EXPIRED)
    after = decide(seen(deploy=question(asked=20, expiry=10), closed={"deploy": expired}, answers={"deploy": YES}))

    assert late.status.phase is Phase.RUNNING
    assert late.status.answers == after.status.answers == {"deploy": expired}


def test_while_a_question_is_open_the_run_limit_does_not_count() -> None:
    decision = decide(seen(since=TIMEOUT_SECONDS + 100, deploy=question(asked=200)))

    assert decision.status.phase is Phase.INPUT_REQUIRED


@pytest.mark.parametrize(("since", "is_over"), [(TIMEOUT_SECONDS + 99, False), (TIMEOUT_SECONDS + 101, True)])
def test_the_time_that_a_pod_has_waited_is_added_to_its_run_limit(since: float, is_over: bool) -> None:
    closed = {"deploy": AnswerSeen(at=ago(100), road=AnswerRoad.CALLER)}
    observed = seen(since=since, deploy=question(asked=200), closed=closed, answers={"deploy": YES})

    assert (decide(observed).need is not None) == is_over
    if not is_over:
        assert decide(observed).look_again_at == ago(since) + timedelta(seconds=TIMEOUT_SECONDS + 100)


def test_questions_at_the_same_time_count_once_and_those_of_an_earlier_attempt_not_at_all() -> None:
    closed = {
        "a": AnswerSeen(at=ago(100), road=AnswerRoad.CALLER),
        "b": AnswerSeen(at=ago(50), road=AnswerRoad.EXPIRED),
        "early": AnswerSeen(at=ago(450), road=AnswerRoad.CALLER),
    }
    observed = seen(since=400, closed=closed, a=question(asked=200), b=question(asked=150), early=question(asked=500))

    assert decide(observed).look_again_at == ago(400) + timedelta(seconds=TIMEOUT_SECONDS + 150)


def test_kubernetes_own_deadline_leaves_the_answer_its_time() -> None:
    observed = seen(since=50, deploy=question(asked=5, expiry=1000))
    (extended,) = of(ExtendJob, observed)

    assert extended == ExtendJob(name=TASK, uid=JOB_UID, active_deadline_seconds=BACKSTOP + 1000)
    patched = job(active_deadline_seconds=BACKSTOP + 1000)
    assert of(ExtendJob, observation(task=observed.task, pods=observed.pods, job=patched)) == []


def test_a_task_that_is_being_stopped_waits_for_nobody() -> None:
    observed = seen(deploy=question(asked=5), spec={"cancel_requested": True})
    decision = decide(observed)

    assert decision.status.phase is Phase.STOPPING
    assert of(ExtendJob, observed) == []
    assert len(of(StopJob, observed)) == 1


def test_a_pod_that_does_not_run_yet_is_waited_for_as_ever() -> None:
    report = Report(questions={"deploy": question(asked=5, expiry=10)})
    observed = observation(task=task(status(Phase.PENDING, report=report)), pods=(pod(waiting("ContainerCreating")),))
    decision = decide(observed)

    assert decision.status.phase is Phase.PENDING
    assert decision.look_again_at == ago(5) + timedelta(seconds=10)


def test_a_result_ends_the_task_whatever_is_asked_and_leaves_its_pod_a_while() -> None:
    report = Report(questions={"deploy": question(asked=5)}, result='{"content":[]}')
    observed = observation(task=task(status(Phase.INPUT_REQUIRED, report=report)), pods=(pod(running()),))
    decision = decide(observed)

    assert (decision.status.phase, decision.status.reason) == (Phase.COMPLETED, Reason.SUCCEEDED)
    assert decision.status.result == TaskResult(source="report")
    assert list(of(RetireJob, observed)) == []
    assert decision.look_again_at == NOW + timedelta(seconds=10)


def test_a_result_that_was_taken_while_the_task_was_being_stopped_is_the_tasks() -> None:
    stopping = Stopping(reason=Reason.CANCELLED, at=ago(3))
    report = Report(result='{"content":[],"isError":true}')
    observed = observation(
        task=task(status(Phase.STOPPING, report=report, stopping=stopping), cancel_requested=True),
        pods=(pod(running()),),
        log=log(),
    )

    decision = decide(observed)

    assert (decision.status.phase, decision.status.reason) == (Phase.COMPLETED, Reason.TOOL_ERROR)


@pytest.mark.parametrize(("added", "phase"), [(1000, Phase.COMPLETED), (limits.RESULT_STORED_BYTES - 50, Phase.FAILED)])
def test_a_printed_result_and_the_parts_before_it_must_fit_together(added: int, phase: Phase) -> None:
    report = Report(content=f'[{{"type":"text","text":"{"x" * added}"}}]')
    observed = observation(task=task(status(report=report)), pods=(pod(ended()),), log=log("done\n"))
    decision = decide(observed)

    assert decision.status.phase is phase
    assert phase is Phase.COMPLETED or decision.status.reason is Reason.RESULT_TOO_LARGE
    assert phase is Phase.COMPLETED or str(limits.RESULT_STORED_BYTES) in (decision.status.message or "")


def test_what_a_pod_asks_does_not_keep_its_own_end_from_counting() -> None:
    report = Report(questions={"deploy": question(asked=5)})
    observed = observation(task=task(status(Phase.INPUT_REQUIRED, report=report)), pods=(pod(ended(1)),))

    assert isinstance(decide(observed).need, ReadLog)
