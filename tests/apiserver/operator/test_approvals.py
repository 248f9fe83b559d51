"""Approvals by people with kubectl: the chart's policy on a real API server, as those whom it judges see it."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import EVENTS, POLICIES, POLICY_BINDINGS, TASKS, Kube
from mcptasks_crds.phases import Phase
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.programs import program
from mcptasks_devcluster.proxy import FaultProxy
from mcptasks_operator.testing.kubelet import FakeKubelet
from mcptasks_operator.testing.world import World

pytestmark = pytest.mark.apiserver

CHART: Final = Path(__file__).parents[3] / "charts" / "mcptasks"
SERVER: Final = "system:serviceaccount:{namespace}:demo-mcptasks-server"
FORM: Final = '{"type":"object","required":["sure"],"properties":{"sure":{"type":"boolean"}}}'
APPROVERS: Final = {"users": ["carol"], "groups": ["deployers"]}
YES: Final = '{"action":"accept","content":{"sure":true}}'
NO: Final = '{"action":"decline"}'


def question(answered_by: str) -> Json:
    approvers = {} if answered_by == "caller" else {"approvers": APPROVERS}
    asked = {"message": "Sure?", "requestedSchema": FORM, "when": "beforeStart", "answeredBy": answered_by}
    return asked | approvers


@dataclass(frozen=True, kw_only=True)
class Office:
    """A namespace in which the policy judges, and everybody may patch tasks."""

    world: World
    kubeconfig: Path
    kubectl: str
    policy: str

    @property
    def server(self) -> str:
        """The server's own user name."""
        return SERVER.format(namespace=self.world.namespace)

    def run(self, *arguments: str, user: str, groups: tuple[str, ...] = (), document: Json | None = None) -> str:
        """What kubectl complains of when somebody does something; empty where it does not."""
        named = (word for group in groups for word in ("--as-group", group))
        command = [self.kubectl, "--kubeconfig", str(self.kubeconfig), "-n", self.world.namespace, "--as", user, *named]
        said = subprocess.run(
            [*command, *arguments], input=json.dumps(document), capture_output=True, text=True, check=False
        )
        return said.stderr if said.returncode else ""

    def answer(self, task: str, *, user: str, groups: tuple[str, ...] = (), key: str = "go", **answer: Any) -> str:
        """The same of an answer."""
        patch = {"spec": {"answers": {key: {"response": YES, "by": user, **answer}}}}
        words = ("patch", "mcptask", task, "--type", "merge", "-p", json.dumps(patch))
        return self.run(*words, user=user, groups=groups)

    def create(self, answered_by: str, *, user: str) -> tuple[str, str]:
        """A new task that asks, and what kubectl complains of."""
        name = names.new_task_id()
        spec = {
            "tool": {"name": "echo"},
            "arguments": "{}",
            "caller": "alice",
            "questions": {"go": question(answered_by)},
        }
        head = {"apiVersion": names.API_VERSION, "kind": names.TASK_KIND, "metadata": {"name": name}}
        return name, self.run("create", "-f", "-", user=user, document={**head, "spec": spec})

    async def call(self, answered_by: str = "approvers") -> str:
        """A task that waits."""
        task, complaint = self.create(answered_by, user=self.server)
        assert complaint == ""
        await self.world.status(task, Phase.INPUT_REQUIRED)
        return task

    async def seen(self, task: str, key: str = "go") -> Json:
        """What is on record of an answer."""
        found = await self.world.until(TASKS, task, lambda at: key in at["status"].get("answers", {}))
        record: Json = found["status"]["answers"][key]
        return record

    async def is_judging(self) -> bool:
        """Whether the API server goes by the policy by now."""
        return await asyncio.to_thread(lambda: "only the server" in self.create("caller", user="mallory")[1])


def _manifests(namespace: str) -> list[Json]:
    """The chart's policy and binding."""
    command = [program("helm"), "template", "demo", str(CHART), "-n", namespace]
    shown = subprocess.run(
        [*command, "-s", "templates/approvals/policy.yaml"], capture_output=True, text=True, check=True
    )
    return [each for each in yaml.safe_load_all(shown.stdout) if each["kind"].startswith("Validating")]


@pytest.fixture
async def office(kube: Kube, namespace: str, kubeconfig: Path, tmp_path: Path) -> AsyncIterator[Office]:
    """A namespace with policy and operator."""
    policy, binding = _manifests(namespace)
    rule = {"apiGroups": ["mcptasks.dev"], "resources": ["mcptasks"], "verbs": ["get", "patch", "create"]}
    role = {"metadata": {"name": "answer"}, "rules": [rule]}
    everybody = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}
    bound = {
        "metadata": {"name": "answer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "answer"},
        "subjects": [everybody],
    }
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    await kube.request("POST", f"{rbac}/roles", body=role)
    await kube.request("POST", f"{rbac}/rolebindings", body=bound)
    async with FaultProxy.running(kube.configuration) as proxy:
        world = World(
            kube=kube,
            namespace=namespace,
            kubelet=FakeKubelet(kube=kube, namespace=namespace),
            proxy=proxy,
            kubeconfig=proxy.write_kubeconfig(tmp_path / "kubeconfig"),
        )
        name = policy["metadata"]["name"]
        async with world.operator(answer_policy=name):
            await world.tool()
            at = Office(world=world, kubeconfig=kubeconfig, kubectl=program("kubectl"), policy=name)
            await kube.create(POLICIES, "", policy)
            await kube.create(POLICY_BINDINGS, "", binding)
            try:
                await eventually(at.is_judging, what="the policy is in force")
                yield at
            finally:
                await kube.delete(POLICY_BINDINGS, "", name)
                await kube.delete(POLICIES, "", name)


async def test_a_member_of_the_approvers_groups_answers_and_the_record_says_so(office: Office) -> None:
    task = await office.call()

    assert office.answer(task, user="bob", groups=("deployers",)) == ""

    record = await office.seen(task)
    assert (record["by"], record["road"]) == ("bob", "approver")
    await office.world.status(task, Phase.PENDING)
    told = await eventually(lambda: _told(office), what="an Event tells of it")
    assert told.startswith("go was answered by bob (approver, ")


async def test_who_declines_is_named_with_the_reason(office: Office) -> None:
    task = await office.call("either")

    assert office.answer(task, user="carol", response=NO, reason="not on a Friday") == ""

    assert (await office.world.status(task))["message"] == "declined by carol: not on a Friday (go)"


async def test_nobody_else_answers_and_nobody_in_anothers_name(office: Office) -> None:
    task, asked_of_caller = await office.call(), await office.call("caller")
    deployers = ("deployers",)

    assert "not among the approvers" in office.answer(task, user="mallory")
    assert "by must be" in office.answer(task, user="mallory", by="carol")
    assert "by must be" in office.answer(task, user="carol", by="bob")
    assert "by must be" in office.answer(task, user="carol", by=None)
    assert "leave road out" in office.answer(task, user="carol", road="caller")
    assert "not among the approvers" in office.answer(task, user="carol", key="other")
    assert "not among the approvers" in office.answer(asked_of_caller, user="carol", groups=deployers)

    assert "answers" not in (await office.world.kube.get(TASKS, office.world.namespace, task))["spec"]


async def test_the_server_answers_for_its_caller_alone_and_never_for_approvers(office: Office) -> None:
    for_approvers, for_either = await office.call(), await office.call("either")
    server, caller = office.server, partial(office.answer, user=office.server, by="alice", road="caller")

    assert "for its approvers" in caller(for_approvers)
    assert "own caller" in office.answer(for_either, user=server, by="carol", road="caller")
    assert "own caller" in office.answer(for_either, user=server, by="alice")
    assert caller(for_either) == ""

    assert (await office.seen(for_either))["road"] == "caller"


async def test_the_first_answer_stands(office: Office) -> None:
    task = await office.call("either")

    assert office.answer(task, user="carol") == ""
    assert "first one for a key stays" in office.answer(task, user="bob", groups=("deployers",), response=NO)


async def test_an_answer_that_breaks_the_form_is_rejected_and_the_question_asked_again(office: Office) -> None:
    task = await office.call()

    assert office.answer(task, user="carol", response='{"action":"accept","content":{"sure":"yes"}}') == ""
    record = await office.seen(task)
    assert (record["rejected"], record["askedAgainAs"]) == ("Invalid", "go-2")
    assert "not among the approvers" in office.answer(task, user="mallory", key="go-2")
    assert "not among the approvers" in office.answer(task, user="carol", key="go-3")
    assert office.answer(task, user="carol", key="go-2") == ""

    await office.world.status(task, Phase.PENDING)


async def test_who_answered_is_verified_once_the_policy_was_there_before_the_task(office: Office) -> None:
    async def verified() -> bool:
        task = await office.call()
        assert office.answer(task, user="carol") == ""
        return bool((await office.seen(task))["verified"])

    await eventually(verified, what="an answer is verified")
    await office.world.kube.delete(POLICY_BINDINGS, "", office.policy)
    assert await verified() is False
    await office.world.kube.create(POLICY_BINDINGS, "", _manifests(office.world.namespace)[1])


async def _told(office: Office) -> str:
    found = await office.world.kube.list(EVENTS, office.world.namespace)
    return next((event["note"] for event in found["items"] if event["reason"] == "Answered"), "")
