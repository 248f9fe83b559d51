"""A task in a small world of its own, where everything happens in any order.

The world holds what the API server, the Job controller, the kubelet, people with kubectl, the client and the pod do.
The operator sees it through caches, one a kind, that fall behind each other, skip states and jump ahead; it crashes
between any two of its steps and comes back. Whatever happens, the task reaches exactly one end, the end fits what
really happened, it stays, and there is never a second Job.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, assert_never

import pytest
from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mcptasks_crds.asking import open_questions
from mcptasks_crds.logtails import LogSeen
from mcptasks_crds.phases import Phase, may_follow
from mcptasks_crds.questions import QuestionTime, TaskQuestion
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import Answer, ArgumentsSource, McpTask, Report, TaskStatus
from mcptasks_crds.tool import McpTool
from mcptasks_operator.causes import MENDING
from mcptasks_operator.decide import decide
from mcptasks_operator.decision import (
    Action,
    ConfirmArguments,
    ConfirmJob,
    ConfirmPods,
    CreateJob,
    Decision,
    DeleteJob,
    DeleteTask,
    ExtendJob,
    Need,
    ReadLog,
    ReadPolicy,
    RecordAnswer,
    RecordEvent,
    ReleaseJob,
    RetireJob,
    StopJob,
)
from mcptasks_operator.lostarguments import PATIENCE
from mcptasks_operator.observation import (
    Absent,
    ArgumentsSeen,
    ContainerSeen,
    JobView,
    Observation,
    PodSeen,
    PolicySeen,
    Presence,
    Refusal,
)
from mcptasks_operator.podcontract import answer_of
from mcptasks_operator.samples import NOW, ended, execution, job, pod, running, task, tool, waiting

pytestmark = pytest.mark.timeout(300)  # much work, and the machine may have other work

START_DEADLINE: Final = 30
TIMEOUT: Final = 60
GRACE: Final = 5
RETENTION: Final = 200
BACKSTOP: Final = 120
EXPIRY: Final = 100
QUEUE: Final = 45
FORM: Final = '{"type":"object","required":["sure"]}'
ANSWERS: Final = {
    "accepted": '{"action":"accept","content":{"sure":true}}',
    "declined": '{"action":"decline"}',
    "broken": '{"action":"accept","content":{}}',
}
REPORTED: Final = '{"content":[{"type":"text","text":"reported"}]}'


SELDOM: Final = st.sampled_from([False, False, False, False, True])
"""Without it, most tasks would be cancelled or deleted before they have seen anything."""


class CrashError(Exception):
    """The operator is killed here."""


@dataclass
class Pod:
    """A pod as it really is."""

    view: PodSeen
    exists: bool = True
    doomed_since: datetime | None = None
    own_exit: int | None = None
    """Its tool's exit code, if the tool ended before anybody began to end it."""
    never_ran: bool = False
    evicted: bool = False
    made_room: bool = False
    """Its Job was suspended: the Job controller counts that as no failure."""

    @property
    def container(self) -> ContainerSeen | None:
        return self.view.container

    @property
    def runs(self) -> bool:
        return self.may_run and self.container is not None and self.container.running_since is not None

    @property
    def is_over(self) -> bool:
        """As the Job controller sees it: by its phase."""
        return not self.exists or self.view.phase in ("Succeeded", "Failed")

    @property
    def may_run(self) -> bool:
        over = self.view.phase in ("Succeeded", "Failed") or (self.container and self.container.termination)
        return self.exists and not over


@dataclass
class Cache:
    """What the operator has of one kind: an index into all the states that there were."""

    states: list[Any]
    at: int = 0

    @property
    def value(self) -> Any:
        return self.states[self.at]

    def record(self, state: Any) -> None:
        if state != self.states[-1]:
            self.states.append(state)

    def advance(self, steps: int) -> None:
        self.at = min(len(self.states) - 1, self.at + steps)

    def catch_up(self) -> None:
        self.at = len(self.states) - 1


@dataclass
class Facts:
    """What the operator learned by asking, in one pass."""

    job_missing: bool = False
    job_confirmed: bool = False
    pods_confirmed: bool = False
    log: LogSeen | None = None
    refusal: Refusal | None = None
    policy: PolicySeen | None = None
    arguments: ArgumentsSeen | None = None


@dataclass
class History:
    """What nobody's status tells: what really happened."""

    posts: int = 0
    start_began_at: datetime | None = None
    """When the Job was made, or let start (again) where it was held back or suspended."""
    queued_since: datetime | None = None
    """When the Job was left to Kueue's queue."""
    passed_by_hand: bool = False
    """Somebody let the Job start that was held back."""
    ends: list[Phase] = field(default_factory=list)
    events: int = 0
    job_was_deleted: bool = False
    a_pod_was_doomed: bool = False
    job_failed: bool = False
    tool_was_missing: bool = False
    tool_was_broken: bool = False


def is_reported(status: TaskStatus) -> bool:
    return status.result is not None and status.result.source == "report"


class World(RuleBasedStateMachine):
    """The machine that hypothesis drives."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.task: McpTask | None = task(created=NOW, retention_seconds=RETENTION)
        self.job: JobView | None = None
        self.complete = False
        self.finished_at: datetime | None = None
        self.pods: list[Pod] = []
        self.tool: McpTool | None = tool()
        self.history = History()
        self.is_in_secret = self.secret_is_there = False
        self.caches = {"task": Cache([self.task]), "job": Cache([None]), "pods": Cache([()])}
        self.retries = 0
        self.queue_name: str | None = None
        self.clock_is_off = self.clock_was_off = timedelta(0)

    @initialize(
        keys=st.sampled_from([(), (), ("sure",), ("sure", "who")]),
        in_secret=st.booleans(),
        retries=st.sampled_from([0, 0, 1, 2]),
        queue_name=st.sampled_from([None, None, "gpus"]),
    )
    def the_tool_asks(self, keys: tuple[str, ...], in_secret: bool, retries: int, queue_name: str | None) -> None:
        self.is_in_secret, self.retries, self.queue_name = in_secret, retries, queue_name
        source = ArgumentsSource(secret_name="mt-a-arguments") if in_secret else None
        question = TaskQuestion(
            message="Sure?", requested_schema=FORM, when=QuestionTime.BEFORE_START, expiry_seconds=EXPIRY
        )
        self.task = task(
            created=NOW, retention_seconds=RETENTION, questions=dict.fromkeys(keys, question), arguments_from=source
        )
        self.caches["task"] = Cache([self.task])

    # --- what the API server does -------------------------------------------------------------------------------

    def changed(self) -> None:
        self.history.job_failed |= self.job is not None and bool(self.job.failure_reason)
        self.caches["task"].record(self.task)
        self.caches["job"].record(self.job)
        self.caches["pods"].record(tuple(each.view for each in self.pods if each.exists))

    def write_task(self, document: dict[str, Any]) -> None:
        assert self.task is not None
        document["metadata"]["resourceVersion"] = str(int(self.task.metadata.resource_version) + 1)
        self.task = McpTask.model_validate(document)
        self.changed()

    def write_status(self, decision: Decision) -> None:
        """The rules that the API server has for a status."""
        assert self.task is not None
        before, after = self.task.status, decision.status
        assert after.phase is not None
        assert may_follow(before.phase, after.phase)
        assert not (before.phase and before.phase.is_terminal), "a terminal status is not written again"
        assert before.job is None or (after.job is not None and after.job.uid == before.job.uid)
        assert after.report == before.report
        assert before.expires_at is None or (after.expires_at is not None and after.expires_at >= before.expires_at)
        if after.phase.is_terminal:
            self.history.ends.append(after.phase)
            self.check_that_the_end_fits(decision)
        document: dict[str, Any] = self.task.manifest()
        document["status"] = after.manifest()
        self.write_task(document)

    def post_job(self, seen: McpTask) -> None:
        if self.job is not None:
            return
        self.history.posts += 1
        self.history.start_began_at = self.history.queued_since = self.now
        is_held_back = any(answer_of(seen, key) is None for key in seen.spec.questions)  # as `jobs` renders it
        self.job = job(
            uid=f"job-{self.history.posts}",
            created_at=self.now,
            active_deadline_seconds=BACKSTOP * (1 + 3 * self.retries),
            is_held_back=is_held_back,
            is_suspended=is_held_back or self.queue_name is not None,
            active_since=None,
            execution=execution(
                start_deadline_seconds=START_DEADLINE,
                timeout_seconds=TIMEOUT,
                grace_seconds=GRACE,
                retries=self.retries,
                queue_name=self.queue_name,
                queue_seconds=QUEUE,
            ),
        )
        self.changed()

    @precondition(lambda self: self.is_in_secret)
    @rule()
    def the_server_makes_the_secret(self) -> None:
        self.secret_is_there = True

    @precondition(lambda self: self.secret_is_there)
    @rule(really=SELDOM)
    def somebody_deletes_the_secret(self, really: bool) -> None:
        self.secret_is_there = not really

    def can_start(self) -> bool:
        return self.secret_is_there or not self.is_in_secret

    # --- what the Job controller does ---------------------------------------------------------------------------

    @precondition(lambda self: self.job is not None and not self.job.finished)
    @rule()
    def the_job_controller_looks(self) -> None:
        assert self.job is not None
        if self.job.is_suspended:
            self.keep_it_suspended()
            return
        self.take_it_up()
        assert self.job.active_deadline_seconds is not None
        assert self.job.active_since is not None
        overdue = self.now >= self.job.active_since + timedelta(seconds=self.job.active_deadline_seconds)
        if any(each.view.phase == "Succeeded" and each.doomed_since is None for each in self.pods):
            self.finish_job("")
        elif self.job.failure_reason:
            if all(each.is_over for each in self.pods):
                self.finish_job(self.job.failure_reason)
        elif overdue:
            self.job = replace(self.job, failure_reason="DeadlineExceeded", failure_message="was active longer")
            for each in self.pods:
                self.doom(each)
        elif not self.pods:
            self.pods.append(Pod(pod(None, phase="Pending", node=None, created_at=self.now, scheduled_at=None)))
        elif all(each.is_over for each in self.pods):
            self.count_a_failure()
        self.changed()

    def keep_it_suspended(self) -> None:
        assert self.job is not None
        for each in self.pods:
            if each.may_run:
                each.made_room = True
                self.doom(each)
        self.job = replace(self.job, suspended_at=self.job.suspended_at or self.now, active_since=None)
        self.changed()

    def take_it_up(self) -> None:
        assert self.job is not None
        if self.job.active_since is not None:
            return
        if self.job.suspended_at is not None and (self.queue_name is not None or self.history.passed_by_hand):
            self.history.start_began_at = self.now
        released_at = self.now if self.history.passed_by_hand else self.job.released_at
        self.job = replace(self.job, suspended_at=None, active_since=self.now, released_at=released_at)

    def count_a_failure(self) -> None:
        """The last pod is over: another one is made, unless there were enough."""
        assert self.job is not None
        last = self.pods[-1]
        is_disrupted = last.made_room or (self.retries > 0 and (last.doomed_since is not None or last.evicted))
        failed = self.job.failed + (not is_disrupted)
        self.job = replace(self.job, failed=failed)
        if failed > self.retries:
            self.job = replace(self.job, failure_reason="BackoffLimitExceeded", failure_message="too often")
            return
        event("another attempt is made")
        number = len(self.pods) + 1
        again = pod(None, name=f"pod-{number}", uid=f"pod-{number}", phase="Pending", node=None, created_at=self.now)
        self.pods.append(Pod(replace(again, scheduled_at=None)))

    def finish_job(self, failure: str) -> None:
        assert self.job is not None
        self.finished_at = self.now
        self.job = replace(self.job, finished=True, failure_reason=failure)

    @precondition(lambda self: self.job is not None and self.finished_at is not None)
    @rule()
    def the_ttl_controller_looks(self) -> None:
        assert self.job is not None
        assert self.finished_at is not None
        ttl = self.job.ttl_seconds_after_finished
        if ttl is not None and self.now >= self.finished_at + timedelta(seconds=ttl):
            self.remove_job()

    def remove_job(self) -> None:
        self.job = None
        self.finished_at = None
        for each in self.pods:
            self.doom(each)
        self.changed()

    def doom(self, each: Pod) -> None:
        if each.doomed_since is None and each.exists:
            self.history.a_pod_was_doomed = True
            each.doomed_since = self.now
            each.view = replace(each.view, deleting=True)

    # --- what Kueue does -----------------------------------------------------------------------------------------

    def may_be_admitted(self) -> bool:
        job = self.job
        return self.queue_name is not None and job is not None and job.is_suspended and not job.is_held_back

    @precondition(lambda self: self.may_be_admitted())
    @rule(at_once=st.booleans())
    def kueue_lets_the_job_start(self, at_once: bool) -> None:
        """`at_once`: the operator notices before the Job controller does, as mostly it will."""
        assert self.job is not None
        event("Kueue lets a Job start")
        self.history.start_began_at = self.now
        self.job = replace(self.job, is_suspended=False)
        self.changed()
        if at_once:
            self.the_operator_notices()

    def may_make_room(self) -> bool:
        job = self.job
        return self.queue_name is not None and job is not None and not (job.rests or job.finished)

    @precondition(lambda self: self.may_make_room())
    @rule(really=SELDOM)
    def kueue_stops_the_job_to_make_room(self, really: bool) -> None:
        assert self.job is not None
        if really and not self.job.failure_reason:
            event("Kueue stops a Job")
            if self.job.active_since is not None:  # else nobody but Kueue knows that it was let start
                self.history.queued_since = self.now
            self.job = replace(self.job, is_suspended=True)
            self.changed()
            self.the_operator_notices()

    # --- what the kubelet does ----------------------------------------------------------------------------------

    def live_pod(self) -> Pod | None:
        return next((each for each in self.pods if each.may_run), None)

    @precondition(lambda self: self.live_pod() is not None)
    @rule(
        reason=st.sampled_from(["ContainerCreating", "ErrImagePull", "CreateContainerConfigError"]),
        message=st.sampled_from(["somehow", 'secret "x" not found']),
    )
    def a_pod_waits(self, reason: str, message: str) -> None:
        each = self.live_pod()
        assert each is not None
        if not each.runs:
            self.set_pod(each, container=waiting(reason, message), node="node-1")

    @precondition(lambda self: self.live_pod() is not None)
    @rule()
    def a_container_runs(self) -> None:
        each = self.live_pod()
        assert each is not None
        if not each.runs and each.doomed_since is None and self.can_start():
            self.set_pod(each, container=running(self.now), node="node-1", phase="Running")

    @precondition(lambda self: self.live_pod() is not None)
    @rule(code=st.sampled_from([0, 0, 1, 137]), message=st.sampled_from(["", "said"]), phase_too=st.booleans())
    def a_container_ends(self, code: int, message: str, phase_too: bool) -> None:
        each = self.live_pod()
        assert each is not None
        if not each.runs and not self.can_start():
            return
        started = each.container.running_since if each.container else None
        stopping = self.task is not None and self.task.status.stopping is not None
        if each.doomed_since is None and not stopping:
            each.own_exit = code
        phase = ("Succeeded" if code == 0 else "Failed") if phase_too else each.view.phase
        self.set_pod(each, container=ended(code, message, started_at=started or self.now), phase=phase)

    @precondition(lambda self: self.live_pod() is not None)
    @rule()
    def a_command_is_not_there(self) -> None:
        each = self.live_pod()
        assert each is not None
        if not each.runs and each.doomed_since is None and self.can_start():
            each.never_ran = True
            self.set_pod(each, container=ended(128, "no such file", reason="StartError"), phase="Failed")

    @rule()
    def the_kubelet_tells_the_phase(self) -> None:
        for each in self.pods:
            end = each.container.termination if each.container else None
            if end is not None and each.view.phase not in ("Succeeded", "Failed"):
                self.set_pod(each, phase="Succeeded" if end.exit_code == 0 else "Failed")

    @rule()
    def the_kubelet_removes_what_is_doomed(self) -> None:
        for each in self.pods:
            doomed = each.doomed_since
            if doomed is not None and (self.now >= doomed + timedelta(seconds=GRACE) or not each.runs):
                each.exists = False
        self.changed()

    def set_pod(self, each: Pod, **fields: Any) -> None:
        each.view = replace(each.view, **fields)
        self.changed()

    # --- what people, the client and the pod do -------------------------------------------------------------------

    @precondition(lambda self: any(each.exists for each in self.pods))
    @rule(really=SELDOM, why=st.sampled_from(["", "PreemptionByScheduler", "EvictionByEvictionAPI"]))
    def somebody_deletes_the_pod(self, really: bool, why: str) -> None:
        if not really:
            return
        doomed = self.pods[-1]
        if doomed.doomed_since is None:
            doomed.view = replace(doomed.view, disruption=why)
        self.doom(doomed)
        self.changed()

    @precondition(lambda self: any(each.runs and each.doomed_since is None for each in self.pods))
    @rule(really=SELDOM)
    def a_drained_tool_ends_politely(self, really: bool) -> None:
        if really:
            self.somebody_deletes_the_pod(really=True, why="")
            self.a_container_ends(code=0, message="half done", phase_too=True)

    def is_stopping(self) -> bool:
        return self.task is not None and self.task.status.phase is Phase.STOPPING

    @precondition(lambda self: self.is_stopping() and any(each.runs for each in self.pods))
    @rule()
    def a_stopped_tool_ends_politely(self) -> None:
        event("a stopped tool ends politely")
        self.a_container_ends(code=0, message="half done", phase_too=True)

    @precondition(lambda self: self.live_pod() is not None)
    @rule(really=SELDOM)
    def the_node_evicts_the_pod(self, really: bool) -> None:
        if not really:
            return
        each = self.live_pod()
        assert each is not None
        each.evicted = True
        self.set_pod(each, phase="Failed", reason="Evicted", message="low on memory")

    @precondition(lambda self: self.job is not None and self.task is not None and self.task.status.job is not None)
    @rule(really=SELDOM)
    def somebody_deletes_the_job(self, really: bool) -> None:
        """Only a Job that is on record: one made and deleted in the instant before that leaves no trace for anybody."""
        if not really:
            return
        self.history.job_was_deleted = True
        self.remove_job()

    @precondition(lambda self: self.job is not None and self.job.is_held_back and self.queue_name is None)
    @rule(really=SELDOM)
    def somebody_lets_the_job_start_by_hand(self, really: bool) -> None:
        if not really:
            return
        assert self.job is not None
        self.history.passed_by_hand, self.history.start_began_at = True, self.now
        self.job = replace(self.job, is_held_back=False, is_suspended=False, passed_by_hand=True)
        self.changed()
        self.the_operator_notices()

    @precondition(lambda self: self.task is not None and not self.task.spec.cancel_requested)
    @rule(really=SELDOM)
    def the_client_cancels(self, really: bool) -> None:
        if not really:
            return
        assert self.task is not None
        document: dict[str, Any] = self.task.manifest()
        document["spec"] |= {"cancelRequested": True}
        self.write_task(document)

    @precondition(lambda self: self.task is not None and open_questions(self.task) != {})
    @rule(kind=st.sampled_from(["accepted", "accepted", "accepted", "declined", "broken"]))
    def somebody_answers(self, kind: str) -> None:
        assert self.task is not None
        event(f"an answer is {kind}")
        document: dict[str, Any] = self.task.manifest()
        answer = Answer(response=ANSWERS[kind], by="alice").manifest()
        document["spec"].setdefault("answers", {})[next(iter(open_questions(self.task)))] = answer
        self.write_task(document)

    def unanswered(self) -> list[str]:
        """The questions without an answer that counts: a broken one does not."""
        questions = {} if self.task is None else self.task.spec.questions
        return [key for key in questions if not self.answers(key) - {"broken"}]

    def answers(self, *keys: str) -> set[str]:
        """What the answers to these questions are."""
        assert self.task is not None
        given = self.task.spec.answers
        kinds = {response: kind for kind, response in ANSWERS.items()}
        asked_again = {key: tuple(again for again in given if again.startswith(f"{key}-")) for key in keys}
        return {kinds[given[each].response] for key in keys for each in (key, *asked_again[key]) if each in given}

    @precondition(lambda self: self.task is not None and self.task.status.report is None)
    @rule(really=SELDOM)
    def the_pod_reports_its_result(self, really: bool) -> None:
        if not really:
            return
        assert self.task is not None
        phase = self.task.status.phase
        if any(each.runs for each in self.pods) and not (phase and phase.is_terminal):
            document: dict[str, Any] = self.task.manifest()
            document["status"] |= {"report": Report(result=REPORTED).manifest()}
            self.write_task(document)

    @rule(state=st.sampled_from(["ready", "ready", "missing", "broken"]))
    def somebody_edits_the_tool(self, state: str) -> None:
        self.tool = {"ready": tool(), "missing": None, "broken": tool(ready="False")}[state]
        self.history.tool_was_missing |= state == "missing"
        self.history.tool_was_broken |= state == "broken"

    @rule()
    def an_ordinary_second_passes(self) -> None:
        if self.job is not None and not self.job.finished:
            self.the_job_controller_looks()
        for each in self.pods:
            if each.may_run and not each.runs and each.doomed_since is None and self.can_start():
                self.set_pod(each, container=running(self.now), node="node-1", phase="Running")
        self.now += timedelta(seconds=1)

    @rule()
    def everybody_keeps_up_for_a_second(self) -> None:
        self.an_ordinary_second_passes()
        self.the_operator_notices()

    def the_operator_notices(self) -> None:
        self.the_operator_starts_anew()
        self.the_operator_reconciles(crash_after=99, log_is_there=True)

    @rule(seconds=st.sampled_from([0.001, 1, 1, 4, 4, 20, 61, 300]))
    def time_passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(really=SELDOM, seconds=st.sampled_from([-300, -20, 20, 300, 0]))
    def the_operators_clock_jumps(self, really: bool, seconds: int) -> None:
        """That of its machine; Kubernetes' own times, which it is compared with, go on as they did."""
        if really:
            self.clock_is_off = timedelta(seconds=seconds)
            self.clock_was_off = max(self.clock_was_off, self.clock_is_off)

    @property
    def latest(self) -> datetime:
        """The latest that the operator may ever have believed it to be."""
        return self.now + self.clock_was_off

    # --- what the operator does -----------------------------------------------------------------------------------

    @rule(kind=st.sampled_from(["task", "job", "pods"]), steps=st.integers(1, 3))
    def a_watch_brings_news(self, kind: str, steps: int) -> None:
        self.caches[kind].advance(steps)

    @rule()
    def the_operator_starts_anew(self) -> None:
        for cache in self.caches.values():
            cache.catch_up()

    @rule(crash_after=st.sampled_from([99, 99, 99, 0, 1, 2, 3]), log_is_there=st.booleans())
    def the_operator_reconciles(self, crash_after: int, log_is_there: bool) -> None:
        self.steps_left = crash_after
        self.log_is_there = log_is_there
        try:
            self.reconcile()
        except CrashError:
            self.the_operator_starts_anew()

    def step(self) -> None:
        self.steps_left -= 1
        if self.steps_left < 0:
            raise CrashError

    def reconcile(self) -> None:
        facts = Facts()
        for _ in range(5):
            seen: McpTask | None = self.caches["task"].value
            if seen is None:
                return
            decision = self.decide(seen, facts)
            if decision.status != seen.status:
                self.step()
                if self.task is None:
                    self.caches["task"].catch_up()
                    return
                if self.task.metadata.resource_version != seen.metadata.resource_version:
                    self.caches["task"].catch_up()
                    facts = Facts(log=facts.log)
                    continue
                self.write_status(decision)
                self.caches["task"].catch_up()
            for action in decision.after:
                self.step()
                self.perform(action)
            return

    def decide(self, seen: McpTask, facts: Facts) -> Decision:
        for _ in range(8):
            view: JobView | None = self.caches["job"].value
            observation = Observation(
                now=self.now + self.clock_is_off,
                task=seen,
                tool=self.tool,
                job=view or (Absent.CONFIRMED if facts.job_missing else Absent.UNKNOWN),
                pods=self.caches["pods"].value,
                job_confirmed=facts.job_confirmed,
                pods_confirmed=facts.pods_confirmed,
                log=facts.log,
                refusal=facts.refusal,
                policy=facts.policy,
                arguments=facts.arguments,
            )
            decision = decide(observation)
            if decision.need is None:
                return decision
            self.step()
            self.meet(decision.need, seen, facts)
        raise AssertionError("the decision goes on asking")

    def meet(self, need: Need, seen: McpTask, facts: Facts) -> None:
        match need:
            case ConfirmJob():
                self.caches["job"].catch_up()
                facts.job_missing = facts.job_confirmed = True
            case ConfirmPods():
                self.caches["pods"].catch_up()
                facts.pods_confirmed = True
            case CreateJob():
                self.post_job(seen)
                self.caches["job"].catch_up()
            case ReleaseJob():
                self.release(need)
                facts.job_missing = self.job is None
                self.caches["job"].catch_up()
            case ReadPolicy():
                facts.policy = PolicySeen()
            case ConfirmArguments():
                presence = Presence.THERE if self.secret_is_there else Presence.MISSING
                facts.arguments = ArgumentsSeen(presence=presence, at=self.now + self.clock_is_off)
            case ReadLog():
                there = self.log_is_there and any(each.exists and each.view.name == need.pod for each in self.pods)
                facts.log = LogSeen(text="printed" if there else "", is_whole=True, unreadable="" if there else "gone")
            case unknown:
                assert_never(unknown)

    def release(self, need: ReleaseJob) -> None:
        if self.job is None or self.job.uid != need.uid:
            return
        event("a Job is let start")
        assert need.queue_name == self.queue_name
        self.history.start_began_at = self.history.queued_since = self.now
        is_suspended = self.queue_name is not None
        self.job = replace(self.job, is_held_back=False, is_suspended=is_suspended, released_at=need.at)
        self.changed()

    def perform(self, action: Action) -> None:  # noqa: C901  # one for each action
        match action:
            case StopJob() | RetireJob():
                if self.job is None or self.job.uid != action.uid:
                    return
                if isinstance(action, StopJob) or action.stop:
                    self.job = replace(self.job, active_deadline_seconds=1)
                if isinstance(action, RetireJob):
                    self.job = replace(self.job, ttl_seconds_after_finished=action.ttl_seconds)
                self.changed()
                self.caches["job"].catch_up()
            case DeleteJob():
                if self.job is not None and self.job.uid == action.uid:
                    event("a Job that never started is deleted")
                    somebody_else_may = self.queue_name is not None or self.history.passed_by_hand
                    assert self.job.rests or somebody_else_may  # let it start, a moment ago
                    self.remove_job()
                    self.caches["job"].catch_up()
            case DeleteTask():
                assert self.task is not None
                assert self.task.status.phase is not None
                assert self.task.status.phase.is_terminal
                assert self.task.status.finished_at is not None
                assert self.latest >= self.task.status.finished_at + timedelta(seconds=RETENTION)
                job = self.job
                stopped = job is None or job.finished or job.failure_reason or job.active_deadline_seconds == 1
                assert stopped or self.nothing_may_run(), "a pod would run on for nobody"
                self.task = None
                self.remove_job()
                self.caches["task"].catch_up()
            case ExtendJob():
                if self.job is not None and self.job.uid == action.uid:
                    self.job = replace(self.job, active_deadline_seconds=action.active_deadline_seconds)
                    self.changed()
            case RecordEvent():
                self.history.events += 1
            case RecordAnswer():
                event(f"an answer is on record, rejected: {action.is_rejected}")
            case unknown:
                assert_never(unknown)

    # --- what must be true ----------------------------------------------------------------------------------------

    def check_that_the_end_fits(self, decision: Decision) -> None:
        status, history = decision.status, self.history
        assert self.task is not None
        assert status.reason is not None
        exits = {each.own_exit for each in self.pods}
        fits = {
            Reason.SUCCEEDED: self.has_report() if is_reported(status) else 0 in exits,
            Reason.EXIT_CODE: 1 in exits and self.failed_for_good(),
            Reason.SIGNALLED: 137 in exits and self.failed_for_good(),
            Reason.CONTAINER_CANNOT_RUN: any(each.never_ran for each in self.pods) or self.is_late(),
            Reason.UNSCHEDULABLE: self.is_late() and not any(each.runs for each in self.pods),
            Reason.IMAGE_PULL: self.is_late() and not any(each.runs for each in self.pods),
            Reason.CONFIG_MISSING: self.is_late(MENDING) and not any(each.runs for each in self.pods),
            Reason.PREEMPTED: history.a_pod_was_doomed,
            Reason.DRAINED: history.a_pod_was_doomed,
            Reason.CANCELLED: self.task.spec.cancel_requested and (self.nothing_may_run() or self.is_overdue()),
            Reason.RUN_LIMIT: self.ran_too_long(status),
            Reason.JOB_DELETED: history.job_was_deleted,
            Reason.POD_DELETED: history.a_pod_was_doomed,
            Reason.EVICTED: any(each.evicted for each in self.pods),
            Reason.JOB_FAILED: history.job_failed,
            Reason.QUEUE_TIME_OVER: self.waited_too_long(),
            Reason.START_DEADLINE: self.is_late() and not any(each.runs for each in self.pods),
            Reason.RESULT_LOST: 0 in exits,
            Reason.ARGUMENTS_LOST: not self.can_start() and self.latest >= NOW + PATIENCE,
            Reason.DECLINED: "declined" in self.answers(*self.task.spec.questions) and not self.pods,
            Reason.ANSWER_INVALID: "broken" in self.answers(*self.task.spec.questions) and not self.pods,
            Reason.QUESTION_EXPIRED: self.unanswered() != [] and self.nobody_answers_any_more() and not self.pods,
            Reason.TOOL_NOT_FOUND: history.tool_was_missing and history.posts == 0,
            Reason.TOOL_INVALID: history.tool_was_broken and history.posts == 0,
        }
        event(f"ends as {status.reason}")
        assert is_reported(status) == self.has_report(), "a result that was accepted first wins"
        assert fits[status.reason], f"{status.reason}: {status.message}"

    def nobody_answers_any_more(self) -> bool:
        return self.latest >= NOW + timedelta(seconds=EXPIRY)

    def has_report(self) -> bool:
        return self.task is not None and self.task.status.report is not None

    def nothing_may_run(self) -> bool:
        return not any(each.may_run for each in self.pods)

    def is_overdue(self) -> bool:
        stopping = None if self.task is None else self.task.status.stopping
        return stopping is not None and self.latest >= stopping.at + timedelta(seconds=GRACE + 60)

    def is_late(self, after: timedelta = timedelta(seconds=START_DEADLINE)) -> bool:
        """Whether the start has had its time: since the Job was let start, and of a further attempt since its pod."""
        began, last = self.history.start_began_at, self.pods[-1] if self.retries > 0 and len(self.pods) > 1 else None
        if began is None:
            return False
        began = began if last is None else max(began, last.view.created_at)
        return self.latest >= began + min(after, timedelta(seconds=START_DEADLINE))

    def waited_too_long(self) -> bool:
        since = self.history.queued_since
        return self.queue_name is not None and since is not None and self.latest >= since + timedelta(seconds=QUEUE)

    def failed_for_good(self) -> bool:
        """Whether Kubernetes makes no further pod."""
        return self.retries == 0 or self.job is None or bool(self.job.finished or self.job.failure_reason)

    def ran_too_long(self, status: TaskStatus) -> bool:
        return status.started_at is not None and self.latest >= status.started_at + timedelta(seconds=TIMEOUT)

    @invariant()
    def there_is_never_a_second_job(self) -> None:
        assert self.history.posts <= 1

    @invariant()
    def nothing_runs_before_every_answer_is_there(self) -> None:
        if self.task is not None and self.pods and not self.history.passed_by_hand:
            assert self.unanswered() == []
            assert self.answers(*self.task.spec.questions) <= {"accepted", "broken"}

    @invariant()
    def no_more_attempts_are_told_than_there_were_pods(self) -> None:
        if self.task is not None:
            assert self.task.status.attempts <= len(self.pods)

    @invariant()
    def a_task_ends_at_most_once(self) -> None:
        assert len(self.history.ends) <= 1
        assert self.history.events <= 1

    def teardown(self) -> None:
        """From wherever the world is, everybody does their work, and the task ends and is removed with all it had."""
        self.clock_is_off = timedelta(0)
        for _ in range(60):
            if self.task is None:
                break
            self.settle()
            self.now += timedelta(seconds=20)
        assert self.task is None
        assert len(self.history.ends) == 1
        assert not any(each.may_run and each.doomed_since is None for each in self.pods)

    def settle(self) -> None:
        for _ in range(4):
            self.the_kubelet_tells_the_phase()
            self.the_kubelet_removes_what_is_doomed()
            self.everybody_keeps_up_for_a_second()


World.TestCase.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestATaskInAHostileWorld = World.TestCase
