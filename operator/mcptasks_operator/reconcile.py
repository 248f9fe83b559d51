"""One pass over a task: observe, decide, meet the decision's needs, write the status, do what comes after."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, assert_never

import structlog

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, TASKS, ConflictError, KubeError, NotFoundError
from mcptasks_crds.logtails import LogSeen
from mcptasks_crds.podlogs import LogReader
from mcptasks_crds.task import McpTask, TaskStatus

from .admission import AnswerPolicy
from .apply import Applier
from .catalogue import Catalogue
from .decide import decide
from .decision import (
    ConfirmArguments,
    ConfirmJob,
    ConfirmPods,
    CreateJob,
    Decision,
    Need,
    ReadLog,
    ReadPolicy,
    ReleaseJob,
)
from .errors import UnsettledError
from .eventbook import EventBook
from .lines import Lines
from .metrics import Metrics
from .observation import Absent, ArgumentsSeen, JobView, Observation, PodSeen, PolicySeen, Refusal
from .observe import job_view, pod_seen, pods_seen
from .secretprobe import SecretProbe
from .store import Store

MOST_NEEDS: Final = 8
"""Needs met in one pass. Each is asked once for one state of the cluster: a decision that goes on asking is wrong."""
MOST_ROUNDS: Final = 5
"""Passes in a row because others wrote to the task meanwhile."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What was learned beside the store since the pass began."""

    job: Json | Absent | None = None
    """The Job as the API server gave it, or that there is none; None: not asked."""
    job_confirmed: bool = False
    pods_confirmed: bool = False
    log: LogSeen | None = None
    refusal: Refusal | None = None
    policy: PolicySeen | None = None
    arguments: ArgumentsSeen | None = None


@dataclass(frozen=True, kw_only=True)
class TaskReconciler:
    """Brings tasks forward."""

    store: Store
    lines: Lines
    catalogue: Catalogue
    applier: Applier
    logs: LogReader
    metrics: Metrics
    policy: AnswerPolicy
    secrets: SecretProbe
    clock: Callable[[], datetime]
    events: EventBook = field(default_factory=EventBook)

    async def reconcile(self, name: str) -> float | None:
        """Bring a task as far as it goes now. Returns in how many seconds time alone will change that.

        Raises:
            KubeError: the API server did not do what was needed.
            UnsettledError: others keep writing to the task, or the decision keeps asking.
            NotLeadingError: only the leader may go on.
        """
        facts = Facts()
        for _ in range(MOST_ROUNDS):
            document = self.store.get(TASKS, name)
            if document is None:
                await self.applier.sweep(name)
                return None
            task = McpTask.model_validate(document)
            decision, facts = await self._decide(task, facts)
            written: Json | None = None
            try:
                written = await self.applier.write_status(task, decision.status)
            except ConflictError:
                await self.applier.is_overtaken(task)
                facts = Facts(log=facts.log)  # a container's log stays what it was; the rest may not
                continue
            except NotFoundError:
                self.store.remove(TASKS, name, version=task.metadata.resource_version)
                return None
            if written is not None:
                self._tell(task, decision.status)
            await self._after(task if written is None else McpTask.model_validate(written), decision)
            return self._seconds_until(decision.look_again_at)
        raise UnsettledError(f"others wrote to the task {MOST_ROUNDS} times while its status was being written")

    async def _decide(self, task: McpTask, facts: Facts) -> tuple[Decision, Facts]:
        for _ in range(MOST_NEEDS):
            observation = self._observe(task, facts)
            decision = decide(observation)
            if decision.need is None:
                return decision, facts
            facts = await self._meet(decision.need, observation, facts)
        raise UnsettledError(f"the decision still asks for more after {MOST_NEEDS} answers")

    def _observe(self, task: McpTask, facts: Facts) -> Observation:
        job = self._job(task, facts)
        pods = self._pods(task, job)
        about = job.uid if isinstance(job, JobView) else None
        return Observation(
            now=self.clock(),
            task=task,
            tool=self.catalogue.holder(task.spec.tool.name),
            job=job,
            job_confirmed=facts.job_confirmed,
            pods=pods,
            gone_pod=self._gone_pod(task, pods),
            pods_confirmed=facts.pods_confirmed,
            log=facts.log,
            refusal=facts.refusal,
            line=self.lines.seen(task.metadata.name),
            events=self.events.about(about, *(pod.uid for pod in pods)),
            policy=facts.policy,
            arguments=facts.arguments,
        )

    def _pods(self, task: McpTask, job: JobView | Absent) -> tuple[PodSeen, ...]:
        documents = self.store.pods_of(task.metadata.name)
        if isinstance(job, JobView):
            return pods_seen(documents, job_uid=job.uid, execution=job.execution)
        # A Job that is gone may have left a pod behind, which still runs for its grace.
        recorded = task.status.job
        return pods_seen(documents, job_uid=None if recorded is None else recorded.uid, execution=None)

    def _gone_pod(self, task: McpTask, pods: tuple[PodSeen, ...]) -> PodSeen | None:
        recorded = task.status.job
        if recorded is None or recorded.pod_name is None or any(pod.uid == recorded.pod_uid for pod in pods):
            return None
        document = self.store.gone_pod(recorded.pod_name)
        if document is None or document["metadata"]["uid"] != recorded.pod_uid:
            return None
        return pod_seen(document, None)

    def _job(self, task: McpTask, facts: Facts) -> JobView | Absent:
        # The store first: what the watch brought meanwhile is newer than the answer to a question of this pass.
        seen = self.store.get(JOBS, names.job_name(task.metadata.name)) or facts.job
        match seen:
            case None:
                return Absent.UNKNOWN
            case Absent():
                return seen
            case _:
                return job_view(seen, task_uid=task.metadata.uid)

    async def _meet(  # noqa: PLR0911  # one for each need
        self, need: Need, observation: Observation, facts: Facts
    ) -> Facts:
        match need:
            case ConfirmJob():
                found = await self.applier.find_job(observation.task)
                return replace(facts, job=Absent.CONFIRMED if found is None else found, job_confirmed=True)
            case ConfirmPods():
                await self.applier.find_pods(observation.task)
                return replace(facts, pods_confirmed=True)
            case ConfirmArguments():
                return replace(facts, arguments=await self._look_for_arguments(observation.task, need))
            case CreateJob():
                return _with_job(facts, await self.applier.create_job(observation.task, observation.tool))
            case ReleaseJob():
                self.lines.take(observation.task.metadata.name)  # nothing was awaited since it was seen to be free
                return _with_job(facts, await self.applier.release_job(need))
            case ReadPolicy():
                return replace(facts, policy=await self.policy.look())
            case ReadLog():
                return replace(facts, log=await self.logs.read(need.pod, need.container))
            case _:
                assert_never(need)

    async def _look_for_arguments(self, task: McpTask, need: ConfirmArguments) -> ArgumentsSeen:
        assert task.spec.arguments_from is not None
        return await self.secrets.look(task.spec.arguments_from.secret_name, since=need.since)

    async def _after(self, task: McpTask, decision: Decision) -> None:
        """Do all that comes after, so that one thing's failure is not another's; then say what failed first."""
        failed: KubeError | None = None
        for action in decision.after:
            try:
                await self.applier.perform(action, task, now=self.clock())
            except KubeError as error:
                failed = failed or error
        if failed is not None:
            raise failed

    def _tell(self, task: McpTask, status: TaskStatus) -> None:
        before, phase = task.status.phase, status.phase
        if phase is None or phase == before:
            return
        _log.info(
            "task_ended" if phase.is_terminal else "task_changed",
            task=task.metadata.name,
            tool=task.spec.tool.name,
            phase=str(phase),
            reason=None if status.reason is None else str(status.reason),
        )
        if phase.is_terminal:
            self.metrics.ended(phase, status.reason)

    def _seconds_until(self, moment: datetime | None) -> float | None:
        return None if moment is None else max(0.0, (moment - self.clock()).total_seconds())


def _with_job(facts: Facts, made: Json | Absent | Refusal) -> Facts:
    """What is known once a Job was asked for."""
    return replace(facts, refusal=made) if isinstance(made, Refusal) else replace(facts, job=made)
