"""Approvals by kubectl, in the release as people install it: what really runs then, and who is on record for it."""

import asyncio
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from mcptasks_crds.times import parse_time
from mcptasks_devcluster.errors import CommandError
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.releases import Release
from mcptasks_operator.answered import SETTLING
from mcptasks_server.testing.wire import WITH_FORMS, Wire

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(400)]

MakeTool = Callable[..., None]
POLICIES: Final = "validatingadmissionpolicies,validatingadmissionpolicybindings"
DEPLOY: Final = """
from mcptasks.job import task, text

def main():
    window = task.answers["approve"]["content"]["window"]
    sure = task.ask("Which way?", text(), key="way")
    task.complete(f"deployed {window}, {sure}")

task.run(main)
"""
APPROVE: Final = {
    "key": "approve",
    "message": "Deploy to production?",
    "when": "beforeStart",
    "answeredBy": "approvers",
    "approvers": {"users": ["carol"], "groups": ["deployers"]},
    "requestedSchema": {"type": "object", "required": ["window"], "properties": {"window": {"type": "string"}}},
}
YES: Final = json.dumps({"action": "accept", "content": {"window": 'at "night"'}})
NO: Final = json.dumps({"action": "decline"})
RIGHTS: Final = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: approver}
rules:
  - {apiGroups: [mcptasks.dev], resources: [mcptasks], verbs: [get, list, watch, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: approver}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: approver}
subjects:
  - {apiGroup: rbac.authorization.k8s.io, kind: Group, name: deployers}
  - {apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}
"""


async def until_answers_are_verified(release: Release) -> None:
    """Until the policy was in force before any task that is made from now on."""
    found = release.objects(POLICIES, "--selector", f"app.kubernetes.io/instance={release.name}")
    assert len(found) == 2
    made = max(parse_time(each["metadata"]["creationTimestamp"]) for each in found)
    from_then_on = made + SETTLING + timedelta(seconds=1)  # Kubernetes' times are whole seconds

    async def probe() -> bool:
        return datetime.now(UTC) >= from_then_on

    await eventually(probe, what="the policy is in force")


async def begin(wire: Wire) -> str:
    answer = await wire.call("tools/call", {"name": "deploy", "arguments": {}}, capabilities=WITH_FORMS)
    return str(answer.result["taskId"])


async def until(wire: Wire, task_id: str, is_so: Callable[[dict[str, Any]], bool], *, what: str) -> dict[str, Any]:
    async def probe() -> dict[str, Any] | None:
        seen = (await wire.call("tasks/get", {"taskId": task_id}, capabilities=WITH_FORMS)).result
        return seen if is_so(seen) else None

    return await eventually(probe, what=what, timeout_seconds=120)


async def patched(release: Release, task_id: str, key: str, user: str, *groups: str, **answer: str) -> str:
    """What kubectl says to somebody's answer."""
    patch = json.dumps({"spec": {"answers": {key: {"by": user} | answer}}})
    who = [f"--as={user}", *(f"--as-group={group}" for group in groups)]
    command = [*who, "patch", "mcptask", task_id, "--type", "merge", "--patch", patch]
    return str(await asyncio.to_thread(release.kubectl, *command))


def pods_of(release: Release, task_id: str) -> list[str]:
    found = release.kubectl("get", "pods", "--selector", f"mcptasks.dev/task={task_id}", "--output", "name")
    return str(found).split()


async def test_what_runs_after_an_approval_what_never_does_and_who_is_on_record(
    wire: Wire, release: Release, python_tool: MakeTool
) -> None:
    python_tool("deploy", DEPLOY, questions=[APPROVE])
    release.kubectl("apply", "--filename", "-", given=RIGHTS)
    await until_answers_are_verified(release)
    approved, declined = await begin(wire), await begin(wire)
    for task_id in (approved, declined):
        seen = await until(wire, task_id, lambda seen: "approv" in seen.get("statusMessage", ""), what="it waits")
        assert seen["status"] == "working"
        assert "deployers" in seen["statusMessage"]
        assert pods_of(release, task_id) == []

    # Nobody else, and nobody in another's name; the API server says why.
    with pytest.raises(CommandError, match="not among the approvers"):
        await patched(release, approved, "approve", "carol2", "deployers2", "system:masters", response=YES)
    with pytest.raises(CommandError, match="by must be bob"):
        await patched(release, approved, "approve", "bob", "deployers", by="carol", response=YES)

    await patched(release, approved, "approve", "bob", "deployers", response=YES)
    await patched(release, declined, "approve", "carol", response=NO, reason="not on a Friday")

    ended = await until(wire, declined, lambda seen: seen["status"] == "completed", what="the declined one ends")
    assert ended["result"]["isError"] is True
    assert ended["result"]["content"][0]["text"] == "declined by carol: not on a Friday (approve)"

    # A pod's own question is its caller's: an approver's answer to it is refused.
    await until(wire, approved, lambda seen: seen["status"] == "input_required", what="the program asks")
    with pytest.raises(CommandError, match="not among the approvers of that question"):
        await patched(release, approved, "way", "bob", "deployers", response=json.dumps({"action": "decline"}))
    answers = {"way": {"action": "accept", "content": {"answer": "gently"}}}
    params = {"taskId": approved, "inputResponses": answers}
    await wire.call("tasks/update", params, capabilities=WITH_FORMS)
    done = await until(wire, approved, lambda seen: seen["status"] in ("completed", "failed"), what="it has run")
    assert done["result"]["content"][0]["text"] == 'deployed at "night", gently'

    status = release.task(approved)["status"]
    first, second = status["answers"]["approve"], status["answers"]["way"]
    assert (first["by"], first["road"], first["verified"]) == ("bob", "approver", True)
    assert (second["by"], second["road"], second["verified"]) == ("anonymous", "caller", True)
    moments = [release.task(approved)["metadata"]["creationTimestamp"], first["at"], status["startedAt"], second["at"]]
    assert (seconds := [moment[:19] for moment in moments]) == sorted(seconds)  # the kubelet tells whole seconds
    no = release.task(declined)["status"]
    assert (no["answers"]["approve"]["by"], no["answers"]["approve"]["road"]) == ("carol", "approver")
    assert (no["answers"]["approve"]["verified"], "startedAt" in no, pods_of(release, declined)) == (True, False, [])

    told = {task_id: release.kubectl("describe", "mcptask", task_id) for task_id in (approved, declined)}
    assert re.search(r"Answered .*approve was answered by bob \(approver, verified\)", told[approved])
    assert re.search(r"Answered .*way was answered by anonymous \(caller, verified\)", told[approved])
    assert re.search(r"Answered .*approve was answered by carol \(approver, verified\)", told[declined])
    assert re.search(r"Declined .*declined by carol: not on a Friday", told[declined])
