"""A tool's queue in a small world of its own, where everything happens in any order.

The reconciler and the lines are the real ones, over an API server in memory. The watch brings each change late and in
any order of objects; requests fail, or are done and their answers lost; the operator dies and starts anew; tasks are
cancelled and deleted, the tool's limit is edited. Whatever happens, never more tasks run than the limit says, nobody is
overtaken, and every task has its turn without anybody looking at all of them again.
"""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS, Kind, KubeError, RetryableError
from mcptasks_operator.keys import keys_about
from mcptasks_operator.store import KINDS, Store
from mcptasks_operator.testing.cluster import Call, FakeCluster, Fault, pod_manifest
from mcptasks_operator.testing.desk import NAMESPACE, Desk

pytestmark = pytest.mark.timeout(300)  # much work, and the machine may have other work

MOST: Final = 12
SELDOM: Final = st.sampled_from([False, False, False, True])
SURE: Final = {"message": "Sure?", "requestedSchema": '{"type":"object"}', "when": "beforeStart"}
YES: Final = {"response": '{"action":"accept","content":{}}', "by": "alice"}


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What really is: by the name of each task, when it was created."""

    running: dict[str, tuple[str, str]]
    waiting: dict[str, tuple[str, str]]


class World(RuleBasedStateMachine):
    """The machine that hypothesis drives."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = FakeCluster(now=datetime(2026, 11, 30, tzinfo=UTC))
        self.desk = Desk(cluster=self.cluster)
        self.pending: set[str] = set()
        self.calls = 0
        self.limit = self.highest = 1

    @initialize(limit=st.integers(1, 3))
    def a_tool_is_there(self, limit: int) -> None:
        self.limit = self.highest = limit
        self.desk.tool(limits={"running": limit})
        self.the_operator_starts_anew()

    # --- what really is -------------------------------------------------------------------------------------------

    def document(self, kind: Kind, name: str) -> Json | None:
        return next((each for each in self.cluster.all(kind) if each["metadata"]["name"] == name), None)

    def truth(self) -> Truth:
        running, waiting = {}, {}
        for job in self.cluster.all(JOBS):
            name = job["metadata"]["name"]
            task = self.document(TASKS, name)
            order = (str(task["metadata"]["creationTimestamp"]) if task else "", name)
            pod = self.document(PODS, f"{name}-pod")
            if job["spec"].get("suspend"):
                phase = (task or {}).get("status", {}).get("phase")
                if task and phase == "Pending" and not task["spec"].get("cancelRequested"):
                    waiting[name] = order
            elif not is_finished(job) and (pod is None or pod["status"]["phase"] == "Running"):
                running[name] = order
        return Truth(running=running, waiting=waiting)

    # --- what clients and people do -------------------------------------------------------------------------------

    @precondition(lambda self: self.calls < MOST)
    @rule(asks=SELDOM, letter=st.sampled_from("abc"))
    def somebody_calls(self, asks: bool, letter: str) -> None:
        self.calls += 1
        document = {
            "apiVersion": names.API_VERSION,
            "kind": names.TASK_KIND,
            "metadata": {"name": f"mt-{letter * 20}{self.calls:06}"},
            "spec": {"tool": {"name": "echo"}, "arguments": "{}"} | ({"questions": {"sure": SURE}} if asks else {}),
        }
        self.cluster.put(TASKS, NAMESPACE, document)

    @rule(really=SELDOM, pick=st.integers(0, 99))
    def somebody_cancels(self, really: bool, pick: int) -> None:
        if really:
            self.write_spec(pick, {"cancelRequested": True})

    @rule(pick=st.integers(0, 99))
    def somebody_answers(self, pick: int) -> None:
        self.write_spec(pick, {"answers": {"sure": YES}}, having="questions")

    @rule(really=SELDOM, pick=st.integers(0, 99))
    def somebody_deletes_a_task(self, really: bool, pick: int) -> None:
        tasks = self.cluster.all(TASKS)
        if really and tasks:
            event("a task is deleted")
            asyncio.run(self.cluster.delete(TASKS, NAMESPACE, tasks[pick % len(tasks)]["metadata"]["name"]))

    @rule(really=SELDOM, limit=st.integers(1, 4))
    def somebody_edits_the_limit(self, really: bool, limit: int) -> None:
        if really:
            self.limit, self.highest = limit, max(limit, self.highest)
            self.desk.tool(limits={"running": limit})

    def write_spec(self, pick: int, changes: Json, *, having: str = "tool") -> None:
        tasks = [each for each in self.cluster.all(TASKS) if having in each["spec"]]
        if tasks:
            name = tasks[pick % len(tasks)]["metadata"]["name"]
            asyncio.run(self.cluster.patch(TASKS, NAMESPACE, name, {"spec": changes}))

    # --- what Kubernetes does -------------------------------------------------------------------------------------

    @rule()
    def the_job_controller_looks(self) -> None:
        for job in self.cluster.all(JOBS):
            pod = self.document(PODS, f"{job['metadata']['name']}-pod")
            if job["spec"].get("suspend") or is_finished(job):
                continue
            if job["spec"]["activeDeadlineSeconds"] == 1:
                self.finish(job, "Failed")
            elif pod is None:
                status = {"phase": "Running", "containerStatuses": [container({"running": self.times()})]}
                self.cluster.put(PODS, NAMESPACE, pod_manifest(job) | {"status": status})
            elif pod["status"]["phase"] == "Succeeded":
                self.finish(job, "Complete")

    def finish(self, job: Json, condition: str) -> None:
        pod = self.document(PODS, f"{job['metadata']['name']}-pod")
        if pod is not None and pod["status"]["phase"] == "Running":
            self.end(pod, 143)
        conditions = [{"type": condition, "status": "True", "reason": "DeadlineExceeded"}]
        self.cluster.put(JOBS, NAMESPACE, job | {"status": {"conditions": conditions}})

    @rule(pick=st.integers(0, 99))
    def a_container_ends(self, pick: int) -> None:
        running = [pod for pod in self.cluster.all(PODS) if pod["status"]["phase"] == "Running"]
        if running:
            self.end(running[pick % len(running)], 0)

    def end(self, pod: Json, code: int) -> None:
        end = container({"terminated": {"exitCode": code, "message": "said", "reason": "Completed", **self.times()}})
        status = {"phase": "Failed" if code else "Succeeded", "containerStatuses": [end]}
        self.cluster.put(PODS, NAMESPACE, pod | {"status": status})

    def times(self) -> Json:
        now = self.cluster.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"startedAt": now, "finishedAt": now}

    # --- what the operator does -----------------------------------------------------------------------------------

    @rule(pick=st.integers(0, 999), kind=st.sampled_from(KINDS))
    def a_watch_brings_something(self, pick: int, kind: Kind) -> None:
        found = sorted({each["metadata"]["name"] for each in self.cluster.all(kind)} | set(self.desk.store.names(kind)))
        if found:
            self.bring(kind, found[pick % len(found)])

    @rule()
    def the_watches_bring_everything(self) -> None:
        for kind in KINDS:
            for name in {each["metadata"]["name"] for each in self.cluster.all(kind)} | set(
                self.desk.store.names(kind)
            ):
                self.bring(kind, name)

    def bring(self, kind: Kind, name: str) -> None:
        document, known = self.document(kind, name), self.desk.store.get(kind, name)
        if document is not None:
            changed = self.desk.store.put(kind, document)
        else:
            changed = self.desk.store.remove(kind, name, version=self.cluster.version)
        about = document or known
        if changed and about is not None:
            self.pending |= {key.name for key in keys_about(kind, about) if key.kind == "task"}
        self.take_the_woken()

    def take_the_woken(self) -> None:
        self.pending |= set(self.desk.woken)
        self.desk.woken.clear()

    @rule()
    def the_operator_starts_anew(self) -> None:
        self.desk = Desk(cluster=self.cluster, store=Store())
        self.desk.see()
        self.pending = set(self.desk.store.names(TASKS))

    @rule(pick=st.integers(0, 99), fails=SELDOM, is_done=st.booleans(), verb=st.sampled_from(["patch", "create"]))
    def the_operator_looks_at_a_task(self, pick: int, fails: bool, is_done: bool, verb: str) -> None:
        if not self.pending:
            return
        if fails:
            error = RetryableError("no answer", status=None)
            self.cluster.faults.append(Fault(call=Call(verb, "jobs"), error=error, is_done=is_done))
        self.look(sorted(self.pending)[pick % len(self.pending)])
        self.cluster.faults.clear()

    def look(self, task: str) -> None:
        before, has_its_place = self.truth(), self.desk.lines.seen(task).is_taken
        before.waiting.update(self.coming())
        self.pending.discard(task)
        try:
            asyncio.run(self.desk.tasks.reconcile(task))
        except KubeError:
            self.pending.add(task)
        self.take_the_woken()
        if not has_its_place:  # a release that failed is tried again, whoever has come meanwhile
            self.check_that_nobody_was_overtaken(before)

    def coming(self) -> dict[str, tuple[str, str]]:
        """Those that the operator knows of and has not looked at."""
        known = (self.desk.store.get(TASKS, each) for each in self.desk.store.names(TASKS))
        fresh = [each for each in known if each and not each.get("status") and not each["spec"].get("cancelRequested")]
        return {
            name: (str(each["metadata"]["creationTimestamp"]), name)
            for each in fresh
            if self.document(JOBS, name := each["metadata"]["name"]) is None
        }

    def check_that_nobody_was_overtaken(self, before: Truth) -> None:
        for task in self.truth().running.keys() - before.running.keys():
            document = self.document(TASKS, task)
            order = (str(document["metadata"]["creationTimestamp"]), task) if document else ("", task)
            ahead = sum(other < order for name, other in before.waiting.items() if name != task)
            event(f"a task starts, of {len(before.waiting)} that wait")
            assert len(before.running) + ahead < self.highest

    @rule(seconds=st.sampled_from([1, 1, 5, 30]))
    def time_passes(self, seconds: int) -> None:
        self.desk.move(seconds)

    # --- what must be true ----------------------------------------------------------------------------------------

    @invariant()
    def never_more_run_than_may(self) -> None:
        assert len(self.truth().running) <= self.highest

    def teardown(self) -> None:
        """From wherever the world is, each task has its turn: woken by what happens, without a look at all of them."""
        if self.calls and not self.desk.store.names(TASKS):
            self.the_watches_bring_everything()
        for _ in range(8 * MOST):
            self.the_watches_bring_everything()
            while self.pending:
                self.look(min(self.pending))
                self.never_more_run_than_may()
            if all(is_over(task) or waits_for_an_answer(task) for task in self.cluster.all(TASKS)):
                break
            self.the_job_controller_looks()
            self.a_container_ends(0)
        waiting = [task for task in self.cluster.all(TASKS) if not is_over(task) and not waits_for_an_answer(task)]
        assert waiting == []


def is_over(task: Json) -> bool:
    return task.get("status", {}).get("phase") in ("Completed", "Failed", "Cancelled")


def waits_for_an_answer(task: Json) -> bool:
    return bool(task["spec"].get("questions")) and not task["spec"].get("answers")


def is_finished(job: Json) -> bool:
    return bool(job.get("status", {}).get("conditions"))


def container(state: Json) -> Json:
    return {"name": "tool", "state": state}


World.TestCase.settings = settings(
    max_examples=60, stateful_step_count=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestAQueueInAHostileWorld: Any = World.TestCase
