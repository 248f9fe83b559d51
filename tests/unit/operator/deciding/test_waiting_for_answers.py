"""Questions before the start as a table: what is asked and answered, and where the task stands then."""

from datetime import timedelta
from typing import Any

import pytest

from mcptasks_crds.phases import Phase
from mcptasks_crds.questions import QuestionTime, TaskQuestion
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import Answer, Stopping
from mcptasks_crds.tool import McpTool
from mcptasks_operator.decide import decide
from mcptasks_operator.decision import ConfirmJob, ConfirmPods, CreateJob, DeleteJob, Need, RecordEvent, ReleaseJob
from mcptasks_operator.observation import Absent, Observation, Refusal
from mcptasks_operator.samples import JOB_UID, NOW, TASK, ago, job, observation, pod, running, status, task, tool

FORM = '{"type":"object","properties":{"sure":{"type":"boolean"}},"required":["sure"]}'
YES = Answer(response='{"action":"accept","content":{"sure": true}}', by="alice")
NO = Answer(response='{"action":"decline"}', by="bob")
DISMISSED = Answer(response='{"action":"cancel"}')
BROKEN = Answer(response='{"action":"accept","content":{"sure":"yes"}}', by="carol")
CANCELLING = Stopping(reason=Reason.CANCELLED, at=ago(3))


def question(when: str = "beforeStart", *, expiry_seconds: int = 600) -> TaskQuestion:
    return TaskQuestion(message="Sure?", requested_schema=FORM, when=QuestionTime(when), expiry_seconds=expiry_seconds)


SURE = {"sure": question()}
BOTH = {"sure": question(), "who": question(expiry_seconds=90)}
WHO = {"who": question("beforeTask")}


def first_sight(*, questions: Any = SURE, answers: Any = None, **fields: Any) -> Observation:
    asked = task(questions=questions, answers=answers or {}, **fields.pop("spec", {}))
    return observation(**{"task": asked, "job": Absent.UNKNOWN, "pods": (), **fields})


def held(*, questions: Any = SURE, answers: Any = None, **fields: Any) -> Observation:
    """A task whose Job is held back."""
    seen = fields.pop("status", status(Phase.INPUT_REQUIRED, pod=False))
    asked = task(seen, questions=questions, answers=answers or {}, **fields.pop("spec", {}))
    return observation(**{"task": asked, "job": job(is_held_back=True), "pods": (), **fields})


def asking(*keys: str) -> McpTool:
    """A tool that asks that."""
    asks = {"message": "Sure?", "requestedSchema": {"type": "object"}, "when": "beforeStart"}
    document: Any = tool().model_dump(by_alias=True)
    document["spec"]["questions"] = [asks | {"key": key} for key in keys]
    return McpTool.model_validate(document)


def edited() -> McpTool:
    """The same tool with another generation, which was looked at."""
    document: Any = asking("sure").model_dump(by_alias=True)
    document["metadata"]["generation"] = document["status"]["observedGeneration"] = 2
    return McpTool.model_validate(document)


def row(sentence: str, *values: object) -> Any:
    return pytest.param(*values, id=sentence)


RELEASE = ReleaseJob(name=TASK, uid=JOB_UID, answers='{"sure":' + YES.response + "}", at=NOW)
NEEDS = [
    row("a task that asks gets its Job at first sight", first_sight(), CreateJob()),
    row("a task that was answered before anybody looked gets its Job", first_sight(answers={"sure": YES}), CreateJob()),
    row("a task whose tool asks what the task asks gets its Job", first_sight(tool=asking("sure")), CreateJob()),
    row("a task that was declined at first sight may have a Job", first_sight(answers={"sure": NO}), ConfirmJob()),
    row("a task that expired at first sight may have a Job", first_sight(spec={"created": ago(600)}), ConfirmJob()),
    row("a task that passed by a question may have a Job", first_sight(tool=asking("more")), ConfirmJob()),
    row(
        "a task of the tool as it still is gets its Job",
        first_sight(tool=asking("sure"), spec={"tool_generation": 1}),
        CreateJob(),
    ),
    row("an answer lets the Job start", held(answers={"sure": YES}), RELEASE),
    row("an answer that came late, but came, lets it start", held(answers={"sure": YES}, now=NOW), RELEASE),
    row("what was not asked is not given to the pod", held(answers={"sure": YES, "other": YES}), RELEASE),
    row(
        "the answers from before the task are given too",
        held(questions=WHO | SURE, answers={"who": YES, "sure": YES}),
        ReleaseJob(name=TASK, uid=JOB_UID, answers=f'{{"sure":{YES.response},"who":{YES.response}}}', at=NOW),
    ),
    row(
        "a cancelled task whose Job is gone needs to know that",
        held(status=status(Phase.STOPPING, pod=False, stopping=CANCELLING), job=Absent.UNKNOWN),
        ConfirmJob(),
    ),
    row(
        "a cancelled task whose Job is gone needs to know of its pods",
        held(status=status(Phase.STOPPING, pod=False, stopping=CANCELLING), job=Absent.CONFIRMED),
        ConfirmPods(),
    ),
]


@pytest.mark.parametrize(("seen", "need"), NEEDS)
def test_needs(seen: Observation, need: Need) -> None:
    decision = decide(seen)

    assert decision.need == need
    assert decision.status == seen.task.status


STANDINGS = [
    row("a task that asks waits", held(), Phase.INPUT_REQUIRED, None, "waiting for an answer: sure"),
    row(
        "a task that asks waits from its first status on",
        held(status=status(None, pod=False)),
        Phase.INPUT_REQUIRED,
        None,
        "waiting for an answer: sure",
    ),
    row(
        "all open questions are named",
        held(questions=BOTH),
        Phase.INPUT_REQUIRED,
        None,
        "waiting for an answer: sure, who",
    ),
    row(
        "one answer of two is not enough",
        held(questions=BOTH, answers={"sure": YES}),
        Phase.INPUT_REQUIRED,
        None,
        "waiting for an answer: who",
    ),
    row(
        "an edited, broken or deleted tool changes nothing",
        held(tool=None),
        Phase.INPUT_REQUIRED,
        None,
        "waiting for an answer: sure",
    ),
    row(
        "a decline ends the task",
        held(answers={"sure": NO}),
        Phase.COMPLETED,
        Reason.DECLINED,
        "declined by bob (sure)",
    ),
    row(
        "one decline is enough",
        held(questions=BOTH, answers={"who": DISMISSED}),
        Phase.COMPLETED,
        Reason.DECLINED,
        "declined by somebody (who)",
    ),
    row(
        "a decline of what was asked before the task counts",
        first_sight(questions=WHO, answers={"who": NO}, job=Absent.CONFIRMED),
        Phase.COMPLETED,
        Reason.DECLINED,
        "declined by bob (who)",
    ),
    row(
        "a decline at first sight needs no Job",
        first_sight(answers={"sure": NO}, job=Absent.CONFIRMED),
        Phase.COMPLETED,
        Reason.DECLINED,
        "declined by bob (sure)",
    ),
    row(
        "a question whose answer breaks the form is asked again",
        held(answers={"sure": BROKEN}),
        Phase.INPUT_REQUIRED,
        None,
        "waiting for an answer: sure-2",
    ),
    row(
        "a question whose answer is no JSON is asked again",
        held(answers={"sure": Answer(response="yes")}),
        Phase.INPUT_REQUIRED,
        None,
        "waiting for an answer: sure-2",
    ),
    row(
        "a question is not asked again for ever",
        held(answers=dict.fromkeys(("sure", *(f"sure-{n}" for n in range(2, 9))), BROKEN)),
        Phase.COMPLETED,
        Reason.ANSWER_INVALID,
        'the answer to sure does not count: /content/sure: "yes" is not of type "boolean"',
    ),
    row(
        "an answer from before the task that breaks the form is told",
        held(questions=WHO, answers={"who": BROKEN}),
        Phase.COMPLETED,
        Reason.ANSWER_INVALID,
        'the answer to who does not count: /content/sure: "yes" is not of type "boolean"',
    ),
    row(
        "a decline counts before an answer that is broken",
        held(questions=BOTH, answers={"sure": BROKEN, "who": NO}),
        Phase.COMPLETED,
        Reason.DECLINED,
        "declined by bob (who)",
    ),
    row(
        "a question that nobody answers expires",
        held(spec={"created": ago(600)}),
        Phase.COMPLETED,
        Reason.QUESTION_EXPIRED,
        "nobody answered sure within 600 s",
    ),
    row(
        "each question expires by itself",
        held(questions=BOTH, answers={"sure": YES}, spec={"created": ago(90)}),
        Phase.COMPLETED,
        Reason.QUESTION_EXPIRED,
        "nobody answered who within 90 s",
    ),
    row(
        "an answer before the task that is missing is told",
        first_sight(questions=WHO, job=Absent.CONFIRMED),
        Phase.COMPLETED,
        Reason.ANSWER_INVALID,
        "who is asked before there is a task",
    ),
    row(
        "a tool that asks more than the task has does not run",
        first_sight(tool=asking("sure", "more"), job=Absent.CONFIRMED),
        Phase.FAILED,
        Reason.TOOL_INVALID,
        "the tool asks more before it starts",
    ),
    row(
        "a tool that was edited after it had asked does not run, be it answered or not",
        first_sight(tool=edited(), spec={"tool_generation": 1}, answers={"sure": YES}, job=Absent.CONFIRMED),
        Phase.FAILED,
        Reason.TOOL_INVALID,
        "the tool was edited after it had asked sure",
    ),
    row(
        "a start that is refused fails",
        held(answers={"sure": YES}, refusal=Refusal(reason=Reason.JOB_REJECTED, message="exceeded quota")),
        Phase.FAILED,
        Reason.JOB_REJECTED,
        "exceeded quota",
    ),
    row(
        "a cancel begins with the word",
        held(spec={"cancel_requested": True}),
        Phase.STOPPING,
        Reason.CANCELLED,
        "cancelling",
    ),
    row(
        "a cancel comes before an answer that nobody acted on",
        held(answers={"sure": YES}, spec={"cancel_requested": True}),
        Phase.STOPPING,
        Reason.CANCELLED,
        "cancelling",
    ),
    row(
        "a cancel is done once there is no Job and no pod",
        held(status=status(Phase.STOPPING, pod=False, stopping=CANCELLING), job=Absent.CONFIRMED, pods_confirmed=True),
        Phase.CANCELLED,
        Reason.CANCELLED,
        "cancelled",
    ),
    row(
        "a Job that was deleted while it waited is missed",
        held(job=Absent.CONFIRMED),
        Phase.FAILED,
        Reason.JOB_DELETED,
        "was deleted from outside",
    ),
    row(
        "a Job that was let start is starting",
        held(answers={"sure": YES}, job=job(created_at=ago(90_000), released_at=ago(1))),
        Phase.PENDING,
        None,
        "starting",
    ),
    row(
        "the start deadline begins when the Job is let start",
        held(answers={"sure": YES}, job=job(created_at=ago(90_000), released_at=ago(299))),
        Phase.PENDING,
        None,
        "waiting for its pod",
    ),
    row(
        "a start that takes too long after that fails",
        held(answers={"sure": YES}, job=job(created_at=ago(90_000), released_at=ago(300)), pods_confirmed=True),
        Phase.FAILED,
        Reason.START_DEADLINE,
        "not started within 300 s",
    ),
    row(
        "a Job that somebody else let start runs",
        held(job=job(), pods=(pod(running()),)),
        Phase.RUNNING,
        None,
        "running",
    ),
]


@pytest.mark.parametrize(("seen", "phase", "reason", "says"), STANDINGS)
def test_standings(seen: Observation, phase: Phase, reason: Reason | None, says: str) -> None:
    decision = decide(seen)

    assert decision.need is None
    assert (decision.status.phase, decision.status.reason) == (phase, reason)
    assert says in (decision.status.message or "")


@pytest.mark.parametrize(
    "seen",
    [
        held(answers={"sure": NO}),
        held(questions=WHO, answers={"who": BROKEN}),
        held(spec={"created": ago(600)}),
    ],
)
def test_a_task_that_does_not_start_ends_as_a_tool_error_and_then_its_job_goes(seen: Observation) -> None:
    decision = decide(seen)

    assert decision.status.result is not None
    assert decision.status.result.inline is not None
    assert '"isError":true' in decision.status.result.inline
    assert decision.status.message is not None
    delete, *_, event = decision.after
    assert delete == DeleteJob(name=TASK, uid=JOB_UID)
    assert isinstance(event, RecordEvent)


def test_a_cancelled_job_that_never_started_is_deleted_and_not_stopped() -> None:
    decision = decide(held(spec={"cancel_requested": True}))

    assert decision.status.stopping is not None
    assert decision.after == (DeleteJob(name=TASK, uid=JOB_UID),)


def test_a_job_that_was_let_start_by_hand_begins_to_start_once_the_job_controller_has_looked() -> None:
    long_held = job(created_at=ago(100_000), active_since=None, passed_by_hand=True)
    decision = decide(
        observation(task=task(status(Phase.PENDING, pod=False)), job=long_held, pods=(), pods_confirmed=True)
    )

    assert decision.status.phase is Phase.PENDING
    assert decision.status.finished_at is None


def test_a_task_that_waits_is_looked_at_when_its_first_question_expires() -> None:
    decision = decide(held(questions=BOTH))

    assert decision.look_again_at == ago(60) + timedelta(seconds=90)


def test_a_task_that_is_over_leaves_no_job_that_could_start() -> None:
    seen = held(status=status(Phase.COMPLETED, pod=False, reason=Reason.DECLINED, finished_at=ago(5)))

    assert decide(seen).after == (DeleteJob(name=TASK, uid=JOB_UID),)
