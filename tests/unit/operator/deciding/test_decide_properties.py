"""What holds of every decision, whatever was seen: no matter how unlikely, stale or contradictory."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, assert_never

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mcptasks_crds import jsontext, limits
from mcptasks_crds.asking import current_key, open_questions
from mcptasks_crds.forms import violation_of_answer
from mcptasks_crds.logtails import LogSeen
from mcptasks_crds.phases import Phase, may_follow
from mcptasks_crds.questions import QuestionTime, TaskQuestion
from mcptasks_crds.reasons import Reason
from mcptasks_crds.schemas import digest as schema_digest
from mcptasks_crds.task import (
    Answer,
    AnswerRoad,
    AnswerSeen,
    ArgumentsSource,
    JobSeen,
    McpTask,
    Question,
    Report,
    ResultSource,
    Stopping,
    TaskError,
    TaskResult,
    TaskStatus,
    TooLarge,
)
from mcptasks_operator.decide import decide
from mcptasks_operator.decision import (
    ConfirmArguments,
    ConfirmJob,
    ConfirmPods,
    CreateJob,
    Decision,
    DeleteJob,
    DeleteTask,
    ExtendJob,
    ReadLog,
    ReadPolicy,
    RecordEvent,
    ReleaseJob,
    RetireJob,
    StopJob,
)
from mcptasks_operator.observation import (
    Absent,
    ArgumentsSeen,
    ContainerSeen,
    EventSeen,
    Execution,
    JobView,
    LineSeen,
    Observation,
    PodSeen,
    PolicySeen,
    Presence,
    Refusal,
    Termination,
)
from mcptasks_operator.podcontract import answer_of
from mcptasks_operator.retrying import asker_is_gone
from mcptasks_operator.samples import JOB_UID, NOW, TASK_UID, execution, job, log, task, tool
from mcptasks_operator.situation import Situation

SEEN = settings(max_examples=100, deadline=None)

moments = st.integers(-4_000_000, 4_000_000).map(lambda milliseconds: NOW + timedelta(milliseconds=milliseconds))
maybe_moments = st.none() | moments
words = st.sampled_from(["", "a word", "\x00<>&\u2028", "x" * 5000])
uids = st.sampled_from([JOB_UID, "another-uid"])

terminations = st.builds(
    Termination,
    exit_code=st.sampled_from([0, 1, 3, 127, 128, 137, 255]),
    signal=st.sampled_from([None, 9, 99]),
    reason=st.sampled_from(
        ["Completed", "Error", "OOMKilled", "StartError", "ContainerCannotRun", "ContainerStatusUnknown", "Unknown", ""]
    ),
    message=words | st.sampled_from(['{"n": 1.0}', "[]", "x" * 4096]),
    message_limit=st.sampled_from([4096, 2048]),
    started_at=maybe_moments,
    finished_at=maybe_moments,
)
containers = st.builds(
    ContainerSeen,
    running_since=maybe_moments,
    waiting_reason=st.sampled_from(
        [
            "",
            "ContainerCreating",
            "PodInitializing",
            "ImagePullBackOff",
            "InvalidImageName",
            "CreateContainerConfigError",
        ]
    ),
    waiting_message=words | st.just('secret "x" not found'),
    termination=st.none() | terminations,
)
pods = st.builds(
    PodSeen,
    name=st.sampled_from(["pod-1", "pod-2"]),
    uid=st.sampled_from(["pod-uid", "pod-uid-2"]),
    phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown", ""]),
    reason=st.sampled_from(["", "", "Evicted", "NodeLost"]),
    message=words,
    created_at=moments,
    deleting=st.booleans(),
    node=st.sampled_from([None, "node-1"]),
    unschedulable=st.sampled_from(["", "", "0/1 nodes are available", 'persistentvolumeclaim "x" not found']),
    scheduled_at=maybe_moments,
    disruption=st.sampled_from(["", "", "PreemptionByScheduler", "EvictionByEvictionAPI", "Whatever"]),
    disruption_message=words,
    failed_init=st.sampled_from(["", "", "init container x: exit code 3"]),
    container=st.none() | containers,
)
executions = st.builds(
    execution,
    start_deadline_seconds=st.integers(1, 4000),
    timeout_seconds=st.integers(1, 4000),
    grace_seconds=st.integers(0, 600),
    output_schema=st.sampled_from([None, "{}", '{"required": ["n"]}', "nonsense"]),
    running_limit=st.sampled_from([None, None, 1, 3]),
    queue_seconds=st.integers(1, 4000),
    retries=st.sampled_from([0, 0, 1, 3]),
    queue_name=st.sampled_from([None, None, "gpus"]),
)
lines = st.builds(
    LineSeen,
    older=st.integers(0, 9),
    ahead=st.integers(0, 3),
    ahead_may_start=st.booleans(),
    running=st.integers(0, 3),
    is_taken=st.booleans(),
)
jobs = st.builds(
    job,
    uid=uids,
    is_ours=st.sampled_from([True, True, True, False]),
    created_at=moments,
    deleting=st.sampled_from([False, False, True]),
    finished=st.booleans(),
    failure_reason=st.sampled_from(["", "", "BackoffLimitExceeded", "DeadlineExceeded"]),
    failure_message=words,
    active_deadline_seconds=st.sampled_from([None, 1, 4000]),
    ttl_seconds_after_finished=st.sampled_from([None, 600, 5]),
    is_held_back=st.booleans(),
    is_suspended=st.booleans(),
    suspended_at=maybe_moments,
    active_since=maybe_moments,
    released_at=maybe_moments,
    failed=st.integers(0, 3),
    execution=st.none() | executions,
)
questions = st.builds(
    TaskQuestion,
    message=words,
    requested_schema=st.sampled_from(['{"type":"object"}', '{"type":"object","required":["n"]}', "nonsense"]),
    when=st.sampled_from(QuestionTime),
    expiry_seconds=st.integers(1, 10_000),
)
answers = st.builds(
    Answer,
    response=st.sampled_from(
        ['{"action":"accept","content":{}}', '{"action":"accept"}', '{"action":"decline"}', "{}", "nonsense"]
    ),
    by=st.sampled_from([None, "alice"]),
)
pod_questions = st.builds(
    # By a function of ours: hypothesis would make up the fields that have an alias, under that name.
    lambda message, asked_at, seconds: Question(
        message=message, requested_schema='{"type":"object"}', asked_at=asked_at, expiry_seconds=seconds
    ),
    words,
    moments,
    st.integers(1, 10_000),
)
results_apart = st.builds(
    lambda is_error, digest, violation: ResultSource(
        secret_name="mt-a-result-0", bytes=700_000, is_error=is_error, schema_digest=digest, violation=violation
    ),
    st.booleans(),
    st.sampled_from([None, schema_digest({"type": "object"}), "0" * 16]),
    st.none() | words,
)
statuses = st.builds(
    TaskStatus,
    phase=st.none() | st.sampled_from(Phase),
    reason=st.none() | st.sampled_from(Reason),
    message=st.none() | words,
    last_updated_at=maybe_moments,
    started_at=maybe_moments,
    finished_at=maybe_moments,
    expires_at=maybe_moments,
    attempts=st.integers(0, 3),
    exit_code=st.none() | st.integers(0, 255),
    job=st.none()
    | st.builds(
        JobSeen, name=st.just("mt-a"), uid=uids, pod_name=st.none() | st.just("pod-1"), pod_uid=st.just("pod-uid")
    ),
    stopping=st.none() | st.builds(Stopping, reason=st.sampled_from([Reason.CANCELLED, Reason.RUN_LIMIT]), at=moments),
    result=st.none() | st.just(TaskResult(inline="{}")),
    error=st.none() | st.just(TaskError(code=-32603, message="x")),
    log_tail=st.none() | words,
    report=st.none()
    | st.builds(
        Report,
        result=st.sampled_from([None, None, '{"content":[]}', '{"content":[],"isError":true}', "nonsense"]),
        questions=st.dictionaries(st.sampled_from(["c", "d"]), pod_questions, max_size=2),
        content=st.sampled_from([None, "[1]", "nonsense"]),
        result_from=st.none() | results_apart,
        too_large=st.sampled_from([None, TooLarge(bytes=2_000_000, limit=1_048_576, head="<" * 85, tail="z")]),
    ),
    answers=st.dictionaries(
        st.sampled_from(["c", "d"]), st.builds(AnswerSeen, at=moments, road=st.sampled_from(AnswerRoad)), max_size=1
    ),
)
tasks = st.builds(
    task,
    statuses,
    created=moments,
    deleting=st.sampled_from([False] * 5 + [True]),
    tool_uid=st.sampled_from([None, "tool-uid", "another"]),
    tool_generation=st.sampled_from([None, 1, 2]),
    cancel_requested=st.booleans(),
    arguments_from=st.sampled_from([None, ArgumentsSource(secret_name="mt-a-arguments")]),
    questions=st.just({}) | st.dictionaries(st.sampled_from(["a", "b"]), questions, max_size=2),
    answers=st.dictionaries(st.sampled_from(["a", "b", "c"]), answers, max_size=3),
    retention_seconds=st.integers(1, 10_000),
)
tools = st.none() | st.builds(
    tool,
    ready=st.sampled_from(["True", "False", "Unknown"]),
    message=words,
    generation=st.integers(1, 2),
    seen=st.integers(0, 2),
)
events = st.builds(
    EventSeen,
    about=st.sampled_from([JOB_UID, "pod-uid", "pod-uid-2"]),
    reason=st.sampled_from(["FailedCreate", "FailedMount", "Pulling", "Unhealthy"]),
    message=words
    | st.sampled_from(["exceeded quota: x", "forbidden: no", 'secret "x" not found', 'Pulling image "y"', ""]),
    at=moments,
)
logs = st.builds(LogSeen, text=words, is_whole=st.booleans(), unreadable=st.sampled_from(["", "gone"]))
observations = st.builds(
    Observation,
    now=st.integers(-5_000_000_000, 5_000_000_000).map(lambda microseconds: NOW + timedelta(microseconds=microseconds)),
    task=tasks,
    tool=tools,
    job=st.sampled_from(Absent) | jobs,
    job_confirmed=st.booleans(),
    pods=st.lists(pods, max_size=3).map(tuple),
    gone_pod=st.none() | pods,
    pods_confirmed=st.booleans(),
    log=st.none() | logs,
    line=lines,
    refusal=st.none()
    | st.builds(Refusal, reason=st.sampled_from([Reason.JOB_REJECTED, Reason.QUOTA_EXCEEDED]), message=words),
    events=st.lists(events, max_size=3).map(tuple),
    arguments=st.none() | st.builds(ArgumentsSeen, presence=st.sampled_from(Presence), at=moments),
)


def answered(seen: Observation, decision: Decision) -> Observation:  # noqa: PLR0911  # one for each need
    """What is seen once the need is met."""
    match decision.need:
        case None:
            return seen
        case ConfirmJob():
            found = seen.job if isinstance(seen.job, JobView) else Absent.CONFIRMED
            return replace(seen, job=found, job_confirmed=True)
        case ConfirmPods():
            return replace(seen, pods_confirmed=True)
        case CreateJob():
            waits = any(answer_of(seen.task, key) is None for key in seen.task.spec.questions)
            return replace(seen, job=job(created_at=seen.now, is_held_back=waits))
        case ReleaseJob():
            assert isinstance(seen.job, JobView)
            return replace(seen, job=replace(seen.job, is_held_back=False, released_at=decision.need.at))
        case ReadPolicy():
            return replace(seen, policy=PolicySeen())
        case ConfirmArguments():
            return replace(seen, arguments=ArgumentsSeen(presence=Presence.MISSING, at=seen.now))
        case ReadLog():
            return replace(seen, log=log())
        case unknown:
            assert_never(unknown)


def settled(seen: Observation) -> tuple[Observation, Decision]:
    """The decision once all needs are met, each of which may be asked for once."""
    asked: list[type] = []
    while (decision := decide(seen)).need is not None:
        assert type(decision.need) not in asked
        asked.append(type(decision.need))
        seen = answered(seen, decision)
    return seen, decision


def applied(seen: Observation, decision: Decision) -> Observation:
    """What is seen once the decision is carried out: the status as the API server gives it back, the Job as patched."""
    document: dict[str, Any] = seen.task.manifest()
    document["status"] = decision.status.manifest()
    after = replace(seen, task=McpTask.model_validate(document))
    for action in decision.after:
        if isinstance(after.job, JobView) and isinstance(action, ExtendJob):
            after = replace(after, job=replace(after.job, active_deadline_seconds=action.active_deadline_seconds))
        if isinstance(after.job, JobView) and isinstance(action, StopJob | RetireJob):
            changed = (
                replace(after.job, active_deadline_seconds=1)
                if isinstance(action, StopJob) or action.stop
                else after.job
            )
            ttl = action.ttl_seconds if isinstance(action, RetireJob) else changed.ttl_seconds_after_finished
            after = replace(after, job=replace(changed, ttl_seconds_after_finished=ttl))
        if isinstance(action, DeleteJob):
            after = replace(after, job=Absent.CONFIRMED)
    return after


@SEEN
@given(seen=observations)
def test_every_observation_has_an_answer_after_at_most_one_of_each_need(seen: Observation) -> None:
    seen, decision = settled(seen)

    assert decision.need is None
    assert decision.status.phase is not None or seen.task.metadata.deletion_timestamp is not None


@SEEN
@given(seen=observations)
def test_a_need_is_all_that_its_decision_says(seen: Observation) -> None:
    decision = decide(seen)

    if decision.need is not None:
        assert (decision.status, decision.after) == (seen.task.status, ())


@SEEN
@given(seen=observations)
def test_only_legal_steps_are_taken(seen: Observation) -> None:
    seen, decision = settled(seen)

    phase = seen.task.status.phase
    assert decision.status.phase == phase or (decision.status.phase and may_follow(phase, decision.status.phase))


@SEEN
@given(seen=observations)
def test_a_task_that_is_over_stays_as_it_is(seen: Observation) -> None:
    phase = seen.task.status.phase
    if phase is not None and phase.is_terminal:
        decision = decide(seen)

        assert decision.need is None
        assert decision.status == seen.task.status
        assert not any(isinstance(action, RecordEvent | StopJob) for action in decision.after)


@SEEN
@given(seen=observations)
def test_the_pods_own_word_and_the_known_job_are_never_changed(seen: Observation) -> None:
    known = seen.task.status.job
    seen, decision = settled(seen)

    assert decision.status.report == seen.task.status.report
    if known is not None:
        assert decision.status.job is not None
        assert (decision.status.job.name, decision.status.job.uid) == (known.name, known.uid)


@pytest.mark.requirement("failures/f2-28")
@SEEN
@given(seen=observations)
def test_a_task_that_had_a_job_never_gets_another(seen: Observation) -> None:
    decision = decide(seen)

    if isinstance(decision.need, CreateJob):
        assert seen.task.status.job is None
        assert not isinstance(seen.job, JobView)
        assert not seen.task.spec.cancel_requested
        assert seen.tool is not None
        assert seen.tool.is_ready


@SEEN
@given(seen=observations)
def test_deciding_again_on_what_was_decided_changes_nothing(seen: Observation) -> None:
    seen, decision = settled(seen)
    assume(not any(isinstance(action, DeleteJob) for action in decision.after))  # that the Job is gone is news
    deleting = any(isinstance(action, DeleteTask) for action in decision.after)

    again, second = settled(applied(seen, decision))

    assert second.status == again.task.status
    assert [action for action in second.after if not (deleting and isinstance(action, DeleteTask))] == []


@SEEN
@given(seen=observations)
def test_the_next_look_lies_ahead_and_there_is_one_while_time_matters(seen: Observation) -> None:
    seen, decision = settled(seen)

    leaving = seen.task.metadata.deletion_timestamp is not None
    removed = any(isinstance(action, DeleteTask) for action in decision.after)
    assert (decision.look_again_at is None) == (leaving or removed)
    assert decision.look_again_at is None or decision.look_again_at > seen.now - timedelta(milliseconds=1)


@SEEN
@given(seen=observations)
def test_a_lease_is_never_lowered_and_ends_no_earlier_than_the_retention(seen: Observation) -> None:
    before = seen.task.status
    seen, decision = settled(seen)

    after = decision.status
    if before.phase is None or not before.phase.is_terminal:
        assert after.expires_at is None or before.expires_at is None or after.expires_at >= before.expires_at
        if after.finished_at is not None and after.phase is not None and after.phase.is_terminal:
            assert after.expires_at is not None
            assert after.expires_at >= after.finished_at + timedelta(seconds=seen.task.spec.retention_seconds)


@SEEN
@given(seen=observations)
def test_a_task_is_deleted_only_when_it_is_over_and_its_time_too(seen: Observation) -> None:
    seen, decision = settled(seen)

    for action in decision.after:
        if isinstance(action, DeleteTask):
            assert action.uid == TASK_UID
            assert decision.status.phase is not None
            assert decision.status.phase.is_terminal
            assert seen.now >= (decision.status.expires_at or datetime.min.replace(tzinfo=NOW.tzinfo))


@SEEN
@given(seen=observations)
def test_one_event_tells_of_each_end_and_of_nothing_else(seen: Observation) -> None:
    before = seen.task.status.phase
    seen, decision = settled(seen)

    ends = decision.status.phase is not None and decision.status.phase.is_terminal and decision.status.phase != before
    assert sum(isinstance(action, RecordEvent) for action in decision.after) == int(ends)


@SEEN
@given(seen=observations)
def test_nothing_is_done_to_a_job_that_is_not_ours(seen: Observation) -> None:
    known = seen.task.status.job
    seen, decision = settled(seen)

    for action in decision.after:
        if isinstance(action, StopJob | ExtendJob | RetireJob | DeleteJob):
            assert isinstance(seen.job, JobView)
            assert action.uid == seen.job.uid
            assert seen.job.is_ours or (known is not None and known.uid == seen.job.uid)


@SEEN
@given(seen=observations)
def test_a_job_is_let_start_only_when_every_question_has_an_answer_that_conforms(seen: Observation) -> None:
    settled(seen)
    decision = decide(seen)

    if isinstance(decision.need, ReleaseJob):
        spec = seen.task.spec
        assert not spec.cancel_requested
        assert open_questions(seen.task) == {}
        for key, question in spec.questions.items():
            assert '"accept"' in spec.answers[key].response
            assert violation_of_answer(question.requested_schema, spec.answers[key].response) is None
        assert list(jsontext.members(decision.need.answers)) == sorted(spec.questions)


@SEEN
@given(seen=observations)
def test_a_job_is_deleted_only_while_it_is_held_back(seen: Observation) -> None:
    seen, decision = settled(seen)

    for action in decision.after:
        if isinstance(action, DeleteJob):
            assert isinstance(seen.job, JobView)
            assert seen.job.rests
            assert action.uid == seen.job.uid
            assert decision.status.phase is Phase.STOPPING or (
                decision.status.phase and decision.status.phase.is_terminal
            )


@SEEN
@given(seen=observations)
def test_an_end_has_either_a_result_or_an_error_or_was_cancelled_and_fits_the_object(seen: Observation) -> None:
    before = seen.task.status.phase
    seen, decision = settled(seen)

    after = decision.status
    if after.phase is not None and after.phase.is_terminal and after.phase != before:
        assert (after.result is not None, after.error is not None) == {
            Phase.COMPLETED: (True, False),
            Phase.FAILED: (False, True),
            Phase.CANCELLED: (False, False),
        }[after.phase]
        assert after.reason is not None
        assert limits.stored_bytes(after.message or "") <= limits.MESSAGE_STORED_BYTES


@SEEN
@given(seen=observations, later=st.integers(0, 10_000))
def test_only_time_that_a_decision_named_changes_it(seen: Observation, later: int) -> None:
    seen, decision = settled(seen)
    assume(not any(isinstance(action, DeleteJob) for action in decision.after))  # that the Job is gone is news
    done = applied(seen, decision)
    if decision.look_again_at is None:
        return
    until = decision.look_again_at - seen.now
    moment = min(seen.now + timedelta(seconds=later), seen.now + until - timedelta(milliseconds=1))

    later_seen, second = settled(replace(done, now=max(seen.now, moment)))

    assert second.status == later_seen.task.status


@SEEN
@given(seen=observations)
def test_how_a_question_was_closed_stays_so_and_is_said_of_no_other(seen: Observation) -> None:
    before = seen.task.status
    seen, decision = settled(seen)

    after = decision.status.answers
    assert all(after.get(key) == closed for key, closed in before.answers.items())
    asked = {} if before.report is None else before.report.questions
    for key in set(after) - set(before.answers):
        expired = after[key].road is AnswerRoad.EXPIRED
        assert expired == (key not in seen.task.spec.answers)
        own = [each for each in asked if current_key(each, after) == key]  # it may have been asked again since
        over = any(seen.now >= asked[each].expires_at for each in own)
        assert not expired or over or all(asker_is_gone(Situation(seen=seen), asked[each]) for each in own)


@SEEN
@given(seen=observations)
def test_a_deadline_is_only_moved_back_and_only_for_a_question(seen: Observation) -> None:
    seen, decision = settled(seen)

    for action in decision.after:
        if isinstance(action, ExtendJob):
            assert isinstance(seen.job, JobView)
            assert seen.job.active_deadline_seconds is not None
            assert 1 < seen.job.active_deadline_seconds < action.active_deadline_seconds
            assert seen.task.status.report is not None
            assert set(seen.task.status.report.questions) - set(decision.status.answers)


def test_an_execution_is_what_the_samples_say() -> None:
    assert isinstance(execution(), Execution)
