"""A tool's question, answered by the command line: its caller's, and an approver's by kubectl. Nothing here is a double
but the pods' node: the API server judges by the chart's policy, and server and operator are processes with the chart's
rights.
"""

import asyncio
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from mcptasks import InternalServerError, TasksClient, UnreachableError
from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import POLICIES, POLICY_BINDINGS, TASKS, TOOLS, Kube
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.programs import program
from mcptasks_devcluster.services import services

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(300)]

CHART: Final = Path(__file__).parents[3] / "charts" / "mcptasks"
SECONDS: Final = 60
SERVER: Final = "demo-mcptasks-server"
FORM: Final = {
    "type": "object",
    "required": ["sure"],
    "properties": {"sure": {"type": "boolean", "title": "Are you sure?"}, "note": {"type": "string", "maxLength": 5}},
}
APPROVE: Final = {
    "key": "approve",
    "message": "Deploy to production?",
    "when": "beforeStart",
    "answeredBy": "either",
    "approvers": {"users": ["carol"], "groups": ["deployers"]},
    "requestedSchema": FORM,
}
FIRST: Final = {"key": "first", "message": "Really?", "when": "beforeTask", "requestedSchema": FORM}
TOKENS: Final = {"anna": "a" * 32, "bert": "b" * 32}


def tool(name: str, question: Json) -> Json:
    container = {"name": "tool", "image": "example.invalid/tool:1"}
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.TOOL_KIND,
        "metadata": {"name": name},
        "spec": {
            "description": "Deploys.",
            "questions": [question],
            "job": {"template": {"spec": {"containers": [container]}}},
        },
    }


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, kw_only=True)
class Street:
    """The way from people to the services."""

    kube: Kube
    namespace: str
    url: str
    kubectl: list[str] = field(default_factory=list)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "mcptasks.cli", *arguments]

    def environment(self, caller: str) -> dict[str, str]:
        return {**os.environ, "MCPTASKS_SERVER": self.url, "MCPTASKS_TOKEN": TOKENS[caller]}

    async def mcptasks(self, *arguments: str, caller: str = "anna") -> Ended:
        """Run the command line without a terminal."""
        process = await asyncio.create_subprocess_exec(
            *self.command(*arguments),
            env=self.environment(caller),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(SECONDS):
            out, err = await process.communicate()
        assert process.returncode is not None
        return Ended(process.returncode, out.decode(), err.decode())

    async def approver(self, user: str, verb: str, *arguments: str) -> Ended:
        """Run the command line as somebody whom the API server knows by that name."""
        groups = ("--as-group", "deployers") if user == "bob" else ()
        kubectl = shlex.join([*self.kubectl, "--as", user, *groups])
        role = () if verb == "approvals" else ("--approver",)
        return await self.mcptasks(verb, *arguments, *role, "--kubectl", kubectl, "--namespace", self.namespace)

    async def asked(self) -> str:
        """A task that waits for its answer."""
        ended = await self.mcptasks("call", "deploy", "--output", "json")
        assert ended.code == 4, ended
        task = str(json.loads(ended.out)["taskId"])
        await self.until(task, lambda status: status.get("phase") == "InputRequired")
        return task

    async def until(self, task: str, holds: Callable[[Json], bool]) -> Json:
        """The task once that holds of its status."""

        async def found() -> Json | None:
            seen = await self.kube.get(TASKS, self.namespace, task)
            return seen if holds(seen.get("status", {})) else None

        return await eventually(found, what=f"{task} is what it should be", timeout_seconds=SECONDS)


async def kubeconfig_of_server(kube: Kube, namespace: str, folder: Path) -> Path:
    """A kubeconfig with the rights and the name of the chart's server."""
    core, rbac = f"/api/v1/namespaces/{namespace}", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    for manifest in helm(namespace, "templates/server/role.yaml"):
        if manifest["kind"] in {"Role", "RoleBinding"}:
            await kube.request("POST", f"{rbac}/{manifest['kind'].lower()}s", body=manifest)
    await kube.request("POST", f"{core}/serviceaccounts", body={"metadata": {"name": SERVER}})
    token = json.loads(await kube.request("POST", f"{core}/serviceaccounts/{SERVER}/token", body={"spec": {}}))
    cluster = {"server": kube.configuration.host, "certificate-authority": kube.configuration.ssl_ca_cert}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "c", "user": {"token": token["status"]["token"]}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    }
    file = folder / "server"
    file.write_text(json.dumps(config))
    return file


def helm(namespace: str, template: str) -> list[Json]:
    """What the chart makes of one of its templates."""
    command = [program("helm"), "template", "demo", str(CHART), "-n", namespace, "-s", template]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [each for each in yaml.safe_load_all(shown) if each]


async def let_approvers_patch(kube: Kube, namespace: str) -> None:
    """The role of docs/approvals.md, for everybody: whose answers count is the policy's to say."""
    page = (Path(__file__).parents[3] / "docs" / "approvals.md").read_text("utf-8")
    (block,) = [
        each for each in re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL) if "Role\n" in each
    ]
    role, binding = yaml.safe_load_all(block)
    binding["subjects"][0]["name"] = "system:authenticated"
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    await kube.request("POST", f"{rbac}/roles", body=role)
    await kube.request("POST", f"{rbac}/rolebindings", body=binding)


@pytest.fixture
async def street(kube: Kube, kubeconfig: Path, namespace: str, tmp_path: Path) -> AsyncIterator[Street]:
    """Policy, server and operator at work, and two tools that ask."""
    policy, binding = [each for each in helm(namespace, "templates/approvals/policy.yaml") if "Policy" in each["kind"]]
    tokens = tmp_path / "tokens"
    tokens.write_text(json.dumps([{"token": token, "subject": name} for name, token in TOKENS.items()]))
    environment = {
        "MCPTASKS_AUTHENTICATION": "tokens",
        "MCPTASKS_TOKENS_FILE": str(tokens),
        "MCPTASKS_ANSWER_POLICY": policy["metadata"]["name"],
    }
    await let_approvers_patch(kube, namespace)
    await kube.create(POLICIES, "", policy)
    await kube.create(POLICY_BINDINGS, "", binding)
    try:
        as_server = await kubeconfig_of_server(kube, namespace, tmp_path)
        async with services(kubeconfig=kubeconfig, namespace=namespace, environment=environment) as running:
            await running.start("server", kubeconfig=as_server)
            await running.start("operator")
            await kube.create(TOOLS, namespace, tool("deploy", APPROVE))
            await kube.create(TOOLS, namespace, tool("first", FIRST))
            headers = {"Authorization": f"Bearer {TOKENS['anna']}"}
            async with TasksClient(running.url, headers=headers) as client:

                async def are_listed() -> bool:
                    try:
                        return {"deploy", "first"} <= {tool.name for tool in await client.list_tools()}
                    except (InternalServerError, UnreachableError):
                        return False

                await eventually(are_listed, what="the tools are listed", timeout_seconds=SECONDS)
            kubectl = [program("kubectl"), "--kubeconfig", str(kubeconfig)]
            yield Street(kube=kube, namespace=namespace, url=running.url, kubectl=kubectl)
    finally:
        await kube.delete(POLICY_BINDINGS, "", binding["metadata"]["name"])
        await kube.delete(POLICIES, "", policy["metadata"]["name"])


async def test_a_question_is_answered_by_those_whom_it_is_for_and_by_nobody_else(street: Street) -> None:
    """All at once: most of the time each of them waits for a process to start."""
    await asyncio.gather(
        the_caller_answers_and_nobody_else_by_the_server(street),
        an_approver_answers_by_kubectl_in_their_own_name(street),
        a_prompt_disappears_when_an_approver_was_quicker(street),
        what_is_asked_before_there_is_a_task_starts_nothing_until_it_is_answered(street),
    )


async def the_caller_answers_and_nobody_else_by_the_server(street: Street) -> None:
    ended = await street.mcptasks("call", "deploy")
    task, line = ended.out.strip(), next(each for each in ended.err.splitlines() if "yes|no" in each)
    assert (ended.code, bool(names.is_task_id(task))) == (4, True)

    foreign = [await street.mcptasks(verb, task, caller="bert") for verb in ("questions", "answer", "wait")]
    assert [each.code for each in foreign] == [1, 1, 1]
    assert len({each.err for each in foreign}) == 1
    wrong = await street.mcptasks("answer", task, "approve", "sure=perhaps")
    assert (wrong.code, wrong.err) == (2, "mcptasks: approve: sure: yes or no?\n")

    program_, *words = shlex.split(line.replace("yes|no", "yes"))[1:]
    assert program_ == "mcptasks"
    answered = await street.mcptasks(*words)
    assert (answered.code, answered.out, answered.err) == (0, "", "Answered approve: accept.\n")
    late = await street.approver("bob", "answer", task, "--decline")
    assert (late.code, late.err) == (1, f"mcptasks: {task} waits for no approver\n")

    seen = await street.until(task, lambda status: "approve" in status.get("answers", {}))
    assert json.loads(seen["spec"]["answers"]["approve"]["response"])["content"] == {"sure": True}
    record = seen["status"]["answers"]["approve"]
    assert (record["by"], record["road"]) == ("anna", "caller")


async def an_approver_answers_by_kubectl_in_their_own_name(street: Street) -> None:
    accepted, declined = await asyncio.gather(street.asked(), street.asked())

    listed = await street.approver("bob", "approvals", "--output", "json")
    assert {row["taskId"]: row["yours"] for row in json.loads(listed.out)}.items() >= {
        (accepted, True),
        (declined, True),
    }
    shown = await street.approver("mallory", "questions", accepted)
    assert "approve: Deploy to production?" in shown.out
    assert "answered by: deployers, carol" in shown.out
    assert re.search(r"until: 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", shown.out)
    refused = await street.approver("mallory", "answer", accepted, "sure=yes")
    assert refused.code == 1
    assert "approve is not for mallory to answer: its approvers are deployers, carol" in refused.err
    nothing = await street.approver("bob", "answer", accepted)
    assert (nothing.code, "approve: Deploy to production?" in nothing.out) == (4, True)

    gave = await asyncio.gather(
        street.approver("bob", "answer", accepted, "approve", "sure=yes", "note=all"),
        street.approver("carol", "answer", declined, "--decline", "--reason", "not on a Friday"),
    )
    assert [each.code for each in gave] == [0, 0], gave

    seen = await street.until(accepted, lambda status: "approve" in status.get("answers", {}))
    record = seen["status"]["answers"]["approve"]
    assert (record["by"], record["road"]) == ("bob", "approver")
    assert "rejected" not in record
    result = await street.mcptasks("wait", declined)
    assert (result.code, result.out) == (1, "declined by carol: not on a Friday (approve)\n")


async def a_prompt_disappears_when_an_approver_was_quicker(street: Street) -> None:
    task = await street.asked()
    screen, terminal = pty.openpty()
    took = os.ttyname(terminal)
    process = await asyncio.create_subprocess_exec(
        *street.command("wait", task),
        env={**street.environment("anna"), "TERM": "dumb"},
        stdin=terminal,
        stdout=asyncio.subprocess.PIPE,
        stderr=terminal,
        start_new_session=True,
        preexec_fn=lambda: os.close(os.open(took, os.O_RDWR)),
    )
    os.close(terminal)
    seen = await asyncio.to_thread(read_until, screen, "> ")
    assert "Are you sure?" in seen  # before the note, which need not be filled in

    assert (await street.approver("bob", "answer", task, "--decline", "--reason", "no")).code == 0

    async with asyncio.timeout(SECONDS):
        out, _ = await process.communicate()
    assert "approve is not asked any more" in await asyncio.to_thread(read_until, screen, "any more")
    assert (process.returncode, out.decode()) == (1, "declined by bob: no (approve)\n")
    os.close(screen)


def read_until(screen: int, words: str) -> str:
    seen = ""
    while words not in seen:
        seen += os.read(screen, 65_536).decode()
    return seen


async def what_is_asked_before_there_is_a_task_starts_nothing_until_it_is_answered(street: Street) -> None:
    async def tasks() -> list[Any]:
        found = await street.kube.list(TASKS, street.namespace)
        return [each for each in found["items"] if each["spec"]["tool"]["name"] == "first"]

    asked = await street.mcptasks("call", "first")
    assert (asked.code, asked.out) == (4, "")
    assert "mcptasks call first ... --answer 'first.sure=yes|no'" in asked.err
    refused = await street.mcptasks("call", "first", "--answer", 'first={"sure": true, "note": "toolong"}')
    assert (refused.code, "note: must have at most 5 characters" in refused.err) == (4, True)
    declined = await street.mcptasks("call", "first", "--decline", "first")
    assert (declined.code, "was not accepted" in declined.out) == (1, True)
    assert await tasks() == []

    made = await street.mcptasks("call", "first", "--answer", "first.sure=yes", "--no-wait")

    assert made.code == 0, made
    (task,) = await tasks()
    assert task["metadata"]["name"] == made.out.strip()
    assert json.loads(task["spec"]["answers"]["first"]["response"])["content"] == {"sure": True}
