"""The ladder as a table: what is seen, and where the task stands then."""

from typing import Any

import pytest

from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import Report, Stopping, TaskResult
from mcptasks_operator.decide import decide
from mcptasks_operator.decision import ConfirmJob, ConfirmPods, CreateJob, Need, ReadLog
from mcptasks_operator.observation import Absent, Observation, Refusal
from mcptasks_operator.samples import (
    JOB_UID,
    ago,
    ahead,
    ended,
    execution,
    job,
    log,
    observation,
    pod,
    running,
    status,
    task,
    tool,
    waiting,
)

CANCELLING = Stopping(reason=Reason.CANCELLED, at=ago(3))
OVERDUE = Stopping(reason=Reason.CANCELLED, at=ago(66))
LIMITED = Stopping(reason=Reason.RUN_LIMIT, at=ago(3))
RESULT = '{"content":[],"isError":false}'
FAILED_TO_SCHEDULE = "0/1 nodes are available: 1 Insufficient memory."


def fresh(**fields: Any) -> Observation:
    """A task at first sight."""
    return observation(**{"task": task(), "job": Absent.UNKNOWN, "pods": (), **fields})


def starting(pod_fields: dict[str, Any] | None = None, **fields: Any) -> Observation:
    """A task whose Job was made ten seconds ago."""
    pods = () if pod_fields is None else (pod(**{"phase": "Pending", **pod_fields}),)
    return observation(
        **{
            "task": task(status(Phase.PENDING, pod=False)),
            "job": job(created_at=ago(10)),
            "pods": pods,
            **fields,
        }
    )


def stopping(stop: Stopping = CANCELLING, **fields: Any) -> Observation:
    return observation(**{"task": task(status(Phase.STOPPING, stopping=stop, reason=stop.reason)), **fields})


def gone(**fields: Any) -> Observation:
    """A task whose Job is not there."""
    return observation(**{"job": Absent.CONFIRMED, "pods": (), **fields})


def row(sentence: str, *values: object) -> Any:
    return pytest.param(*values, id=sentence)


NEEDS = [
    row("a new task needs its Job", fresh(), CreateJob()),
    row(
        "a new task is cancelled only once the API server says that there is no Job",
        fresh(task=task(cancel_requested=True)),
        ConfirmJob(),
    ),
    row("no tool is missed before the API server says that there is no Job", fresh(tool=None), ConfirmJob()),
    row("a known Job that is not in the cache is asked for", observation(job=Absent.UNKNOWN), ConfirmJob()),
    row("a known pod that is not in the cache is asked for", observation(pods=()), ConfirmPods()),
    row(
        "a pod that is being deleted may go with its Job, of which the cache does not know yet",
        observation(pods=(pod(running(), deleting=True),)),
        ConfirmJob(),
    ),
    row("so may a pod that is gone", observation(pods=(), pods_confirmed=True), ConfirmJob()),
    row(
        "a tool that gave no result needs its log",
        observation(pods=(pod(ended()),)),
        ReadLog(pod="pod-1", container="tool"),
    ),
    row(
        "a tool that failed needs its log even with a result",
        observation(pods=(pod(ended(3, "what it said")),)),
        ReadLog(pod="pod-1", container="tool"),
    ),
    row(
        "a tool over its run limit needs its log before it is stopped",
        observation(pods=(pod(running(ago(601))),), pods_confirmed=True),
        ReadLog(pod="pod-1", container="tool"),
    ),
    row(
        "a tool over its run limit may have ended already",
        observation(pods=(pod(running(ago(601))),)),
        ConfirmPods(),
    ),
    row(
        "a start over its deadline may have come in time",
        starting({"container": waiting("ErrImagePull")}, job=job(created_at=ago(301))),
        ConfirmPods(),
    ),
    row(
        "a finished Job that no pod explains needs a look at the pods",
        observation(job=job(finished=True, failure_reason="BackoffLimitExceeded")),
        ConfirmPods(),
    ),
    row(
        "a Job over its deadline needs a look at the pods",
        observation(job=job(failure_reason="DeadlineExceeded")),
        ConfirmPods(),
    ),
    row("a stopping task without Job needs to know that", stopping(job=Absent.UNKNOWN, pods=()), ConfirmJob()),
    row(
        "a stopping task without Job needs to know of its pods", stopping(job=Absent.CONFIRMED, pods=()), ConfirmPods()
    ),
    row("a stopping task whose pod vanished needs to know that", stopping(pods=()), ConfirmPods()),
]


@pytest.mark.parametrize(("seen", "need"), NEEDS)
def test_needs(seen: Observation, need: Need) -> None:
    decision = decide(seen)

    assert decision.need == need
    assert decision.status == seen.task.status


NEW = ago(1)
STANDINGS = [
    # before there is a Job
    row(
        "a task waits a moment for a tool that may be on its way",
        fresh(tool=None, task=task(created=NEW)),
        Phase.PENDING,
        None,
        "there is no tool named echo",
    ),
    row(
        "a tool that was edited is waited for until it is checked",
        fresh(tool=tool(generation=2)),
        Phase.PENDING,
        None,
        "definition to be checked",
    ),
    row(
        "a tool that is seen older than the call is waited for",
        fresh(task=task(tool_generation=2)),
        Phase.PENDING,
        None,
        "definition to be checked",
    ),
    row(
        "a tool that nobody checks in time is invalid",
        fresh(tool=tool(generation=2), task=task(created=ago(301)), job=Absent.CONFIRMED),
        Phase.FAILED,
        Reason.TOOL_INVALID,
        "not checked within 300 s",
    ),
    row(
        "a tool that is not there is not found",
        fresh(tool=None, job=Absent.CONFIRMED),
        Phase.FAILED,
        Reason.TOOL_NOT_FOUND,
        "there is no tool named echo",
    ),
    row(
        "another tool of that name is not the tool that was called",
        fresh(task=task(tool_uid="other"), job=Absent.CONFIRMED),
        Phase.FAILED,
        Reason.TOOL_NOT_FOUND,
        "another one has its name",
    ),
    row(
        "a broken tool's own condition is quoted",
        fresh(tool=tool(ready="False", reason="JobRejected", message="spec.x: unknown field"), job=Absent.CONFIRMED),
        Phase.FAILED,
        Reason.TOOL_INVALID,
        "JobRejected: spec.x: unknown field",
    ),
    row(
        "a refused Job fails with the refusal",
        fresh(refusal=Refusal(reason=Reason.JOB_REJECTED, message="exceeded quota")),
        Phase.FAILED,
        Reason.JOB_REJECTED,
        "exceeded quota",
    ),
    row(
        "a quota that has no room for the Job is waited for",
        fresh(refusal=Refusal(reason=Reason.QUOTA_EXCEEDED, message="exceeded quota: jobs")),
        Phase.PENDING,
        None,
        "waiting for quota: exceeded quota: jobs",
    ),
    row(
        "a quota is not waited for beyond the start deadline",
        fresh(
            refusal=Refusal(reason=Reason.QUOTA_EXCEEDED, message="exceeded quota: jobs"), task=task(created=ago(300))
        ),
        Phase.FAILED,
        Reason.QUOTA_EXCEEDED,
        "not started within 300 s: waiting for quota: exceeded quota: jobs",
    ),
    row(
        "a task cancelled before its Job is cancelled at once",
        fresh(task=task(cancel_requested=True), job=Absent.CONFIRMED),
        Phase.CANCELLED,
        Reason.CANCELLED,
        "before it started",
    ),
    row(
        "a Job of somebody else is left alone",
        fresh(job=job(is_ours=False)),
        Phase.FAILED,
        Reason.JOB_NAME_TAKEN,
        "is not this task's",
    ),
    # until the container runs
    row("a Job just made is starting", fresh(job=job(created_at=NEW)), Phase.PENDING, None, "starting"),
    row("a Job whose pod does not come is waited for", starting(), Phase.PENDING, None, "waiting for its pod"),
    row(
        "an unschedulable pod quotes the scheduler",
        starting({"node": None, "unschedulable": FAILED_TO_SCHEDULE}),
        Phase.PENDING,
        None,
        f"waiting for a node: {FAILED_TO_SCHEDULE}",
    ),
    row(
        "an unschedulable pod says so at once",
        starting({"node": None, "unschedulable": "none"}, job=job(created_at=NEW)),
        Phase.PENDING,
        None,
        "waiting for a node: none",
    ),
    row("a pod without a node waits for one", starting({"node": None}), Phase.PENDING, None, "waiting for a node"),
    row(
        "a slow start names its node",
        starting({"container": waiting("ContainerCreating")}),
        Phase.PENDING,
        None,
        "starting on node node-1: pulling the image",
    ),
    row(
        "an image that does not come is told",
        starting({"container": waiting("ImagePullBackOff", "not found")}),
        Phase.PENDING,
        None,
        "the image cannot be pulled yet: ImagePullBackOff: not found",
    ),
    row(
        "an image that does not come is told without what runtimes say around it",
        starting(
            {
                "container": waiting(
                    "ImagePullBackOff",
                    'Back-off pulling image "r.example/a:1": ErrImagePull: failed to pull and unpack'
                    ' image "r.example/a:1": failed to resolve reference "r.example/a:1": failed to do request: Head'
                    ' "https://r.example/v2/a/manifests/1": dial tcp: lookup r.example: no such host',
                )
            }
        ),
        Phase.PENDING,
        None,
        "the image cannot be pulled yet: ImagePullBackOff: r.example/a:1: dial tcp: lookup r.example: no such host",
    ),
    row(
        "a container that cannot be created yet is waited for",
        starting({"container": waiting("CreateContainerError", "name is reserved")}),
        Phase.PENDING,
        None,
        "cannot be created yet: CreateContainerError: name is reserved",
    ),
    row(
        "a state that nobody knows is quoted",
        starting({"container": waiting("Napping", "just a minute")}),
        Phase.PENDING,
        None,
        "cannot be created yet: Napping: just a minute",
    ),
    row(
        "an image's name that is not valid fails at once",
        starting({"container": waiting("InvalidImageName", "couldn't parse")}),
        Phase.FAILED,
        Reason.IMAGE_INVALID,
        "InvalidImageName: couldn't parse",
    ),
    row(
        "an image that may not be pulled fails at once",
        starting({"container": waiting("ErrImageNeverPull")}),
        Phase.FAILED,
        Reason.IMAGE_INVALID,
        "ErrImageNeverPull",
    ),
    row(
        "a start that takes too long fails with the last cause",
        starting({"container": waiting("ErrImagePull", "no route")}, job=job(created_at=ago(300)), pods_confirmed=True),
        Phase.FAILED,
        Reason.IMAGE_PULL,
        "not started within 300 s: the image cannot be pulled: ErrImagePull: no route",
    ),
    row(
        "a pod of which no scheduler says anything has no node either",
        starting({"node": None}, job=job(created_at=ago(300)), pods_confirmed=True),
        Phase.FAILED,
        Reason.UNSCHEDULABLE,
        "not started within 300 s: waiting for a node",
    ),
    row(
        "a pod that never comes fails in the end",
        starting(job=job(created_at=ago(300)), pods_confirmed=True),
        Phase.FAILED,
        Reason.START_DEADLINE,
        "waiting for its pod",
    ),
    row(
        "a container that runs late runs",
        starting({"container": running(ago(1))}, job=job(created_at=ago(301))),
        Phase.RUNNING,
        None,
        "running",
    ),
    # the tool's own end
    row("a running tool runs", observation(), Phase.RUNNING, None, "running"),
    row(
        "exit 0 is a result", observation(pods=(pod(ended(0, "done")),)), Phase.COMPLETED, Reason.SUCCEEDED, "completed"
    ),
    row(
        "a pod that was never seen running may have ended well",
        starting({"container": ended(0, "done")}),
        Phase.COMPLETED,
        Reason.SUCCEEDED,
        "completed",
    ),
    row(
        "an end is an end before the Job says so",
        observation(pods=(pod(ended(0, "done"), phase="Running"),)),
        Phase.COMPLETED,
        Reason.SUCCEEDED,
        "completed",
    ),
    row(
        "exit 0 after an out-of-memory kill of a child is no success",
        observation(pods=(pod(ended(0, "done", reason="OOMKilled")),), log=log()),
        Phase.COMPLETED,
        Reason.OUT_OF_MEMORY,
        "a process of the container used more memory than its limit (exit code 0)",
    ),
    row(
        "a result that was reported is one whoever was killed",
        observation(
            task=task(status(report=Report(result=RESULT))), pods=(pod(ended(0, reason="OOMKilled")),), log=log()
        ),
        Phase.COMPLETED,
        Reason.SUCCEEDED,
        "completed",
    ),
    row(
        "another exit code is a tool error",
        observation(pods=(pod(ended(3)),), log=log()),
        Phase.COMPLETED,
        Reason.EXIT_CODE,
        "exit code 3",
    ),
    row(
        "a signal is named",
        observation(pods=(pod(ended(143)),), log=log()),
        Phase.COMPLETED,
        Reason.SIGNALLED,
        "exit code 143 (signal SIGTERM)",
    ),
    row(
        "a tool without memory is told so",
        observation(pods=(pod(ended(137, reason="OOMKilled")),), log=log()),
        Phase.COMPLETED,
        Reason.OUT_OF_MEMORY,
        "more memory than its limit",
    ),
    row(
        "an end comes before a cancel that nobody acted on",
        observation(task=task(status(), cancel_requested=True), pods=(pod(ended(3)),), log=log()),
        Phase.COMPLETED,
        Reason.EXIT_CODE,
        "exit code 3",
    ),
    row(
        "an end comes before a run limit that nobody acted on",
        observation(pods=(pod(ended(0, "done", started_at=ago(900))),)),
        Phase.COMPLETED,
        Reason.SUCCEEDED,
        "completed",
    ),
    row(
        "a second pod does not hide the first one's success",
        observation(pods=(pod(ended(0, "done")), pod(running(), name="pod-2", uid="2"))),
        Phase.COMPLETED,
        Reason.SUCCEEDED,
        "completed",
    ),
    row(
        "a command that is not there is the platform's failure",
        observation(pods=(pod(ended(128, "exec: no such file", reason="StartError", started_at=ago(1e9))),)),
        Phase.FAILED,
        Reason.CONTAINER_CANNOT_RUN,
        "exec: no such file",
    ),
    row(
        "a container that Docker cannot run is the platform's failure",
        observation(pods=(pod(ended(126, "permission denied", reason="ContainerCannotRun")),)),
        Phase.FAILED,
        Reason.CONTAINER_CANNOT_RUN,
        "permission denied",
    ),
    row(
        "another processor's program is told from other commands that cannot run",
        observation(pods=(pod(ended(128, "exec /bin/x: exec format error", reason="StartError")),)),
        Phase.FAILED,
        Reason.IMAGE_ARCHITECTURE,
        "exec format error",
    ),
    row(
        "another processor's program is told by what runc prints",
        observation(pods=(pod(ended(1)),), log=log("exec /app/tool: exec format error\n")),
        Phase.FAILED,
        Reason.IMAGE_ARCHITECTURE,
        "exec /app/tool: exec format error",
    ),
    row(
        "a tool that could not run another processor's program itself has run",
        observation(pods=(pod(ended(1)),), log=log("sh: 1: ./x: Exec format error\nexec y: exec format error\n")),
        Phase.COMPLETED,
        Reason.EXIT_CODE,
        "exit code 1",
    ),
    row(
        "a shell's own 'command not found' is the tool's",
        observation(pods=(pod(ended(127)),), log=log("sh: x: not found")),
        Phase.COMPLETED,
        Reason.EXIT_CODE,
        "exit code 127",
    ),
    row(
        "a result that cannot be read is lost",
        observation(pods=(pod(ended()),), log=log("", unreadable="no such container")),
        Phase.FAILED,
        Reason.RESULT_LOST,
        "no such container",
    ),
    row(
        "a failure whose log cannot be read is still a failure",
        observation(pods=(pod(ended(3)),), log=log("", unreadable="no such container")),
        Phase.COMPLETED,
        Reason.EXIT_CODE,
        "exit code 3",
    ),
    # what the pod reported
    row(
        "a reported result is the result",
        observation(task=task(status(report=Report(result=RESULT)))),
        Phase.COMPLETED,
        Reason.SUCCEEDED,
        "completed",
    ),
    row(
        "a reported error is a tool error",
        observation(task=task(status(report=Report(result='{"content":[],"isError": true}'))), log=log()),
        Phase.COMPLETED,
        Reason.TOOL_ERROR,
        "reported an error",
    ),
    row(
        "a reported result comes before the exit code",
        observation(task=task(status(report=Report(result=RESULT))), pods=(pod(ended(1)),)),
        Phase.COMPLETED,
        Reason.SUCCEEDED,
        "completed",
    ),
    row(
        "a reported result comes before the cancelling",
        stopping(task=task(status(Phase.STOPPING, stopping=CANCELLING, report=Report(result=RESULT)))),
        Phase.COMPLETED,
        Reason.SUCCEEDED,
        "completed",
    ),
    row(
        "a reported result outlives the Job",
        gone(task=task(status(report=Report(result=RESULT)))),
        Phase.COMPLETED,
        Reason.SUCCEEDED,
        "completed",
    ),
    row(
        "a reported result that is none is lost",
        observation(task=task(status(report=Report(result="[]")))),
        Phase.FAILED,
        Reason.RESULT_LOST,
        "cannot be read",
    ),
    # cancel
    row(
        "a cancel begins with the word",
        observation(task=task(status(), cancel_requested=True)),
        Phase.STOPPING,
        Reason.CANCELLED,
        "cancelling",
    ),
    row(
        "a cancel of a pod that waits begins with the word",
        starting({"node": None}, task=task(status(Phase.PENDING), cancel_requested=True)),
        Phase.STOPPING,
        Reason.CANCELLED,
        "cancelling",
    ),
    row("a cancel waits for the pod", stopping(), Phase.STOPPING, Reason.CANCELLED, "cancelling"),
    row(
        "a cancel waits for a pod that is being deleted",
        stopping(pods=(pod(running(), deleting=True),)),
        Phase.STOPPING,
        Reason.CANCELLED,
        "cancelling",
    ),
    row(
        "a cancel waits for the pod that its Job may be making",
        stopping(task=task(status(Phase.STOPPING, pod=False, stopping=CANCELLING)), pods=()),
        Phase.STOPPING,
        Reason.CANCELLED,
        "cancelling",
    ),
    row(
        "a cancel waits for a pod that outlives its Job",
        stopping(job=Absent.CONFIRMED),
        Phase.STOPPING,
        Reason.CANCELLED,
        "cancelling",
    ),
    row(
        "exit 0 after the cancel is the cancel's",
        stopping(pods=(pod(ended(0, "done")),)),
        Phase.CANCELLED,
        Reason.CANCELLED,
        "cancelled",
    ),
    row(
        "a pod that vanished is gone",
        stopping(pods=(), pods_confirmed=True),
        Phase.CANCELLED,
        Reason.CANCELLED,
        "cancelled",
    ),
    row(
        "a finished Job has no pod",
        stopping(pods=(), job=job(finished=True, failure_reason="DeadlineExceeded")),
        Phase.CANCELLED,
        Reason.CANCELLED,
        "cancelled",
    ),
    row(
        "a Job deleted while it is cancelled is cancelled",
        stopping(job=Absent.CONFIRMED, pods=(), pods_confirmed=True),
        Phase.CANCELLED,
        Reason.CANCELLED,
        "cancelled",
    ),
    row(
        "a cancel without proof says so",
        stopping(OVERDUE),
        Phase.CANCELLED,
        Reason.CANCELLED,
        "pod pod-1 on node node-1 not confirmed gone",
    ),
    row(
        "a cancel without any pod says so",
        stopping(OVERDUE, pods=(), pods_confirmed=False),
        Phase.CANCELLED,
        Reason.CANCELLED,
        "the end of its Job was not confirmed",
    ),
    # run limit
    row(
        "a run limit begins with the word",
        observation(pods=(pod(running(ago(600))),), pods_confirmed=True, log=log()),
        Phase.STOPPING,
        Reason.RUN_LIMIT,
        "longer than its limit of 600 s",
    ),
    row(
        "a run limit stays one when the client cancels too",
        stopping(LIMITED, task=task(status(Phase.STOPPING, stopping=LIMITED), cancel_requested=True)),
        Phase.STOPPING,
        Reason.RUN_LIMIT,
        "longer than its limit of 600 s",
    ),
    row(
        "a tool over its limit is a tool error",
        stopping(LIMITED, pods=(pod(ended(143), deleting=True),), log=log()),
        Phase.COMPLETED,
        Reason.RUN_LIMIT,
        "stopped: it ran longer than its limit of 600 s",
    ),
    row(
        "a tool over its limit whose pod is gone is a tool error",
        stopping(LIMITED, pods=(), pods_confirmed=True),
        Phase.COMPLETED,
        Reason.RUN_LIMIT,
        "longer than its limit",
    ),
    row(
        "a run limit without proof says so",
        stopping(Stopping(reason=Reason.RUN_LIMIT, at=ago(66))),
        Phase.COMPLETED,
        Reason.RUN_LIMIT,
        "pod pod-1 on node node-1 not confirmed gone",
    ),
    # what happens from outside
    row("a deleted Job is never made again", gone(), Phase.FAILED, Reason.JOB_DELETED, "was deleted from outside"),
    row(
        "a Job that is being deleted is gone",
        observation(job=job(deleting=True)),
        Phase.FAILED,
        Reason.JOB_DELETED,
        "was deleted from outside",
    ),
    row(
        "another Job under the name is not the task's",
        gone(job=job(uid="another")),
        Phase.FAILED,
        Reason.JOB_DELETED,
        "was deleted from outside",
    ),
    row(
        "a Job whose owner was edited is known by its uid",
        observation(job=job(is_ours=False)),
        Phase.RUNNING,
        None,
        "running",
    ),
    row(
        "a pod that is gone before anybody has looked has told why",
        observation(
            pods=(), pods_confirmed=True, gone_pod=pod(running(), deleting=True, disruption="EvictionByEvictionAPI")
        ),
        Phase.FAILED,
        Reason.DRAINED,
        "was evicted",
    ),
    row(
        "a pod that is gone and has told nothing was deleted",
        observation(pods=(), pods_confirmed=True, job_confirmed=True, gone_pod=pod(running(), deleting=True)),
        Phase.FAILED,
        Reason.POD_DELETED,
        "pod pod-1 was deleted",
    ),
    row(
        "a pod that is deleted from outside is told",
        observation(pods=(pod(running(), deleting=True),), job_confirmed=True),
        Phase.FAILED,
        Reason.POD_DELETED,
        "pod pod-1 was deleted",
    ),
    row(
        "a pod that goes with its Job tells of the Job's deletion",
        observation(job=Absent.CONFIRMED, job_confirmed=True, pods=(pod(running(), deleting=True),)),
        Phase.FAILED,
        Reason.JOB_DELETED,
        "was deleted from outside",
    ),
    row(
        "a second pod for one attempt, which the Job controller takes back, is nobody's end",
        observation(pods=(pod(running()), pod(deleting=True, name="pod-2", node=None, phase="Pending"))),
        Phase.RUNNING,
        None,
        "running",
    ),
    row(
        "the second pod for one attempt may be the one that stays",
        observation(pods=(pod(running(), deleting=True), pod(running(), name="pod-2"))),
        Phase.RUNNING,
        None,
        "running",
    ),
    row(
        "a second pod that waits for a node does not speak for one that runs",
        observation(pods=(pod(running()), pod(name="pod-2", node=None, phase="Pending"))),
        Phase.RUNNING,
        None,
        "running",
    ),
    row(
        "what the first pod failed with counts, and not that a second one never came to a node",
        observation(
            pods=(pod(ended(3, "no")), pod(deleting=True, name="pod-2", node=None, phase="Pending")), log=log()
        ),
        Phase.COMPLETED,
        Reason.EXIT_CODE,
        "exit code 3",
    ),
    row(
        "exit 0 of a drained pod is not a result",
        observation(pods=(pod(ended(0, "half done"), deleting=True, phase="Succeeded"),), job_confirmed=True),
        Phase.FAILED,
        Reason.POD_DELETED,
        "pod pod-1 was deleted",
    ),
    row(
        "a pod that vanished was deleted",
        observation(pods=(), pods_confirmed=True, job_confirmed=True),
        Phase.FAILED,
        Reason.POD_DELETED,
        "pod pod-1 was deleted",
    ),
    row(
        "an evicted pod tells why",
        observation(pods=(pod(ended(137), phase="Failed", reason="Evicted", message="low on memory"),)),
        Phase.FAILED,
        Reason.EVICTED,
        "Evicted: low on memory",
    ),
    row(
        "an evicted pod is evicted though it is being deleted",
        observation(pods=(pod(ended(137), phase="Failed", reason="Evicted", deleting=True),)),
        Phase.FAILED,
        Reason.EVICTED,
        "Evicted",
    ),
    row(
        "a pod that failed while its container was last seen to run has an end that nobody saw",
        observation(pods=(pod(running(), phase="Failed"),), log=log()),
        Phase.FAILED,
        Reason.END_UNKNOWN,
        "nobody saw how the container of the pod pod-1 ended",
    ),
    row(
        "a container that the kubelet lost is no exit",
        observation(pods=(pod(ended(137, "could not be located", reason="ContainerStatusUnknown")),), log=log()),
        Phase.FAILED,
        Reason.END_UNKNOWN,
        "could not be located",
    ),
    row(
        "what a container wrote is no result where its runtime did not see it end",
        observation(pods=(pod(ended(255, "all is well", reason="Unknown")),), log=log()),
        Phase.FAILED,
        Reason.END_UNKNOWN,
        "it may have done its work, in part or as a whole: Unknown: all is well",
    ),
    row(
        "a result that was given over the task endpoint counts though nobody saw the container end",
        observation(
            task=task(status(report=Report(result='{"content":[]}'))), pods=(pod(ended(255, reason="Unknown")),)
        ),
        Phase.COMPLETED,
        Reason.SUCCEEDED,
        "completed",
    ),
    row(
        "a failed init container is named",
        starting({"container": waiting("PodInitializing"), "phase": "Failed", "failed_init": "init container x: 3"}),
        Phase.FAILED,
        Reason.INIT_FAILED,
        "init container x: 3: the tool never ran",
    ),
    row(
        "an init container that failed because the pod was evicted is not to blame",
        starting({"phase": "Failed", "reason": "Evicted", "failed_init": "init container x: 137"}),
        Phase.FAILED,
        Reason.EVICTED,
        "was evicted by its node",
    ),
    row(
        "a pod that its node refuses failed",
        starting({"phase": "Failed", "reason": "OutOfcpu", "message": "no room"}),
        Phase.FAILED,
        Reason.POD_FAILED,
        "OutOfcpu: no room",
    ),
    row(
        "a pod that failed before its container ran quotes what it waited for",
        starting({"container": waiting("PodInitializing"), "phase": "Failed"}),
        Phase.FAILED,
        Reason.POD_FAILED,
        "PodInitializing",
    ),
    row(
        "a failed Job without pods tells its reason",
        observation(
            task=task(status(pod=False)),
            pods=(),
            pods_confirmed=True,
            job=job(finished=True, failure_reason="BackoffLimitExceeded", failure_message="too often"),
        ),
        Phase.FAILED,
        Reason.JOB_FAILED,
        "BackoffLimitExceeded: too often",
    ),
    row(
        "a completed Job whose pod is gone has lost its result",
        observation(pods=(), pods_confirmed=True, job=job(finished=True)),
        Phase.FAILED,
        Reason.RESULT_LOST,
        "no pod tells",
    ),
    row(
        "the Job's own deadline is a run limit when the tool ran so long",
        observation(
            pods=(pod(running(ago(700)), deleting=True),),
            pods_confirmed=True,
            log=log(),
            job=job(failure_reason="DeadlineExceeded"),
        ),
        Phase.COMPLETED,
        Reason.RUN_LIMIT,
        "longer than its limit of 600 s",
    ),
    row(
        "the Job's own deadline is somebody's doing when it did not",
        observation(
            pods_confirmed=True, job=job(failure_reason="DeadlineExceeded", failure_message="was active longer")
        ),
        Phase.FAILED,
        Reason.JOB_FAILED,
        "was active longer",
    ),
    row(
        "a pod is ended by its Job's deadline before the Job says so",
        observation(pods_confirmed=True, pods=(pod(running(), deleting=True),), job=job(active_deadline_seconds=30)),
        Phase.FAILED,
        Reason.JOB_FAILED,
        "Kubernetes ended the Job: DeadlineExceeded",
    ),
    row(
        "a pod that a drain ends was not ended by its Job's deadline",
        observation(
            pods=(pod(running(), deleting=True, disruption="EvictionByEvictionAPI"),),
            job=job(active_deadline_seconds=30),
        ),
        Phase.FAILED,
        Reason.DRAINED,
        "was evicted",
    ),
    row(
        "a Job of ours without its annotation still runs",
        observation(job=job(execution=None)),
        Phase.RUNNING,
        None,
        "running",
    ),
]


@pytest.mark.parametrize(("seen", "phase", "reason", "message"), STANDINGS)
@pytest.mark.requirement("failures/f2-11")
def test_standing(seen: Observation, phase: Phase, reason: Reason | None, message: str) -> None:
    decision = decide(seen)

    assert decision.need is None
    assert (decision.status.phase, decision.status.reason) == (phase, reason)
    assert message in (decision.status.message or "")
    assert (decision.status.error is not None) == (phase is Phase.FAILED)
    assert (decision.status.result is not None) == (phase is Phase.COMPLETED)
    assert (decision.status.finished_at is not None) == phase.is_terminal
    assert decision.status.report == seen.task.status.report


def test_a_reported_result_is_kept_once() -> None:
    decision = decide(observation(task=task(status(report=Report(result=RESULT)))))

    assert decision.status.result == TaskResult(source="report")


def test_a_failed_task_carries_an_internal_error_with_the_same_words() -> None:
    decided = decide(gone()).status

    assert decided.error is not None
    assert decided.error.code == -32603
    assert decided.error.message == decided.message


def test_what_was_seen_of_the_job_and_its_pod_is_recorded() -> None:
    seen = fresh(job=job(execution=execution(tool_generation=7)), pods=(pod(running(ago(5))),))

    decided = decide(seen).status

    assert decided.job is not None
    assert (decided.job.uid, decided.job.pod_name, decided.job.pod_uid) == (JOB_UID, "pod-1", "pod-uid")
    assert decided.tool is not None
    assert (decided.tool.resource, decided.tool.generation) == ("echo", 7)
    assert (decided.started_at, decided.attempts) == (ago(5), 1)


def test_a_start_that_goes_well_is_one_write_until_the_container_runs() -> None:
    first = decide(fresh(job=job(created_at=NEW))).status

    pending = decide(fresh(task=task(first), job=job(created_at=NEW), pods=(pod(phase="Pending", node=None),)))
    creating = decide(
        fresh(task=task(first), job=job(created_at=NEW), pods=(pod(waiting("ContainerCreating"), phase="Pending"),))
    )

    assert pending.status == first
    assert creating.status == first
    assert creating.look_again_at == ahead(2)


@pytest.mark.parametrize(("age", "pause"), [(0, 1), (2, 1), (60, 15), (200, 30), (290, 10)])
def test_a_quota_is_tried_again_in_growing_pauses(age: float, pause: float) -> None:
    refusal = Refusal(reason=Reason.QUOTA_EXCEEDED, message="exceeded quota: jobs")

    decision = decide(fresh(refusal=refusal, task=task(created=ago(age))))

    assert decision.look_again_at == ahead(pause)
    assert decision.status.conditions[0].reason == "QuotaExceeded"


def test_the_exit_code_of_a_container_that_never_ran_is_not_told() -> None:
    seen = observation(pods=(pod(ended(128, reason="StartError", started_at=ago(1e9))),), task=task(status()))

    decided = decide(seen).status

    assert (decided.exit_code, decided.started_at) == (None, None)


def test_an_overlong_message_of_the_scheduler_is_clipped_to_what_a_status_holds() -> None:
    decided = decide(starting({"node": None, "unschedulable": "<" * 10_000})).status

    assert decided.message is not None
    assert decided.message.endswith("…")
    assert len(decided.message) < 1000
