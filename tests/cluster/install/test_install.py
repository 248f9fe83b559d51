"""Installing, trying, changing and uninstalling the chart on a real cluster, under the restricted standard.

The tests of this file are one release's life, in this order.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mcptasks_crds import names
from mcptasks_devcluster.polling import becomes_so

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(600)]

NAMESPACE = "install-test"
OTHER_NAMESPACE = "install-test-other"
PAGE = Path(__file__).parents[3] / "docs" / "operations.md"
SINGLE = ("server.replicas=1", "operator.replicas=1")


def test_a_restricted_namespace_admits_every_pod_and_all_become_ready(tools: Any, release: str) -> None:
    pods = tools.objects("pods")

    assert len(pods) == 4
    assert all(status["ready"] for pod in pods for status in pod["status"]["containerStatuses"])


def test_helm_test_runs_a_real_task_and_cleans_up(tools: Any, release: str) -> None:
    done = tools.helm("test", release, "--namespace", NAMESPACE, "--timeout", "240s")

    assert done.code == 0, done.output
    assert "Succeeded" in done.output
    (task,) = (item for item in tools.objects("mcptasks") if item["spec"]["tool"]["name"] == f"{release}-mcptasks-test")
    assert task["status"]["phase"] == "Completed"
    assert [item["metadata"]["name"] for item in tools.objects("jobs")] == [task["metadata"]["name"]]
    assert tools.objects("mcptools") == []


def test_the_first_tool_of_the_notes_can_be_pasted_as_it_stands(tools: Any, release: str) -> None:
    notes = tools.helm("get", "notes", release, "--namespace", NAMESPACE).output
    pasted = re.search(r"^kubectl apply .*?^END$", notes, re.MULTILINE | re.DOTALL)
    assert pasted, notes

    done = tools.shell(pasted[0])

    assert (done.code, done.output) == (0, "mcptool.mcptasks.dev/hello created\n")
    assert tools.kubectl("delete", "mcptool", "hello", "--namespace", NAMESPACE).code == 0


def test_the_services_accounts_lack_no_right_that_they_need(tools: Any, release: str) -> None:
    for component in ("operator", "server"):
        logs = tools.kubectl(
            "logs", "--namespace", NAMESPACE, f"deployment/{release}-mcptasks-{component}", "--all-pods"
        )
        assert logs.code == 0
        assert "forbidden" not in logs.output.lower(), logs.output


def test_the_server_may_store_arguments_that_are_too_large_for_a_task(tools: Any, release: str, image: str) -> None:
    applied = tools.kubectl("apply", "--namespace", NAMESPACE, "--filename", "-", stdin=counting_tool(image))
    assert applied.code == 0, applied.output
    in_server = ["exec", "--stdin", "--namespace", NAMESPACE, f"deployment/{release}-mcptasks-server", "--", "sh", "-c"]
    try:
        called = tools.kubectl(
            *in_server,
            "until mcptasks tools count > /dev/null 2>&1; do sleep 0.2; done; mcptasks call count --quiet --file -",
            stdin=json.dumps({"text": "é" * 20_000}),
        )
    finally:
        tools.kubectl("delete", "mcptool", "count", "--namespace", NAMESPACE)

    assert (called.code, called.output.strip()) == (0, "20000")


def test_where_the_operator_that_acts_crashes_the_one_that_stands_by_finishes_what_runs(
    tools: Any, release: str, image: str
) -> None:
    task = running_task(tools, "slow", slow_tool(image))
    operators = {pod["metadata"]["name"]: pod for pod in tools.objects("pods") if component_of(pod) == "operator"}
    acted = holder(tools)
    assert acted in operators

    crash(tools, operators[acted], image=image)
    completed = phase_is(tools, task, "Completed", seconds=60)
    tools.kubectl("delete", "mcptool", "slow", "--namespace", NAMESPACE)

    assert completed
    assert holder(tools) in set(operators) - {acted}
    (status,) = operators[acted]["status"]["containerStatuses"]
    restarted = f"--for=jsonpath={{.status.containerStatuses[0].restartCount}}={status['restartCount'] + 1}"
    waited = tools.kubectl("wait", "pod", acted, "--namespace", NAMESPACE, restarted, "--timeout=60s")
    assert waited.code == 0, waited.output  # it was not replaced, but began again


def crash(tools: Any, pod: dict[str, Any], *, image: str) -> None:
    """Kill a pod's process as the documentation says."""
    (command,) = re.findall(r"^kubectl debug .*?; done'$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    meant = {"NODE": pod["spec"]["nodeName"], "IMAGE": image, "POD": pod["metadata"]["name"]}
    done = tools.shell(re.sub("NODE|IMAGE|POD", lambda found: meant[found[0]], command))
    created = re.search(r"pod (node-debugger-\S+)", done.output)
    assert created, done.output
    wanted = "--for=jsonpath={.status.containerStatuses[0].state.terminated}"
    ended = tools.kubectl("wait", "pod", created[1], "--namespace", "default", wanted, "--timeout=60s")
    tools.kubectl("delete", "pod", created[1], "--namespace", "default")
    assert ended.code == 0, ended.output


def component_of(pod: dict[str, Any]) -> str | None:
    component: str | None = pod["metadata"]["labels"].get("app.kubernetes.io/component")
    return component


def holder(tools: Any) -> str:
    """The pod of the operator that holds the Lease."""
    path = "jsonpath={.spec.holderIdentity}"
    found = tools.kubectl("get", "lease", names.LEASE, "--namespace", NAMESPACE, "--output", path)
    return str(found.output.rpartition("-")[0])


def running_task(tools: Any, tool: str, manifest: str) -> str:
    """A task of a tool that is made with it, once it runs."""
    task = names.new_task_id()
    for each in (manifest, task_of(tool, task)):
        applied = tools.kubectl("apply", "--namespace", NAMESPACE, "--filename", "-", stdin=each)
        assert applied.code == 0, applied.output
    assert phase_is(tools, task, "Running", seconds=120)
    return task


def phase_is(tools: Any, task: str, phase: str, *, seconds: int) -> bool:
    """Whether a task comes to that phase in time."""
    wanted = f"--for=jsonpath={{.status.phase}}={phase}"
    waited = tools.kubectl("wait", "mcptask", task, "--namespace", NAMESPACE, wanted, f"--timeout={seconds}s")
    return bool(waited.code == 0)


def test_no_service_may_act_outside_its_namespace(tools: Any, release: str) -> None:
    for component in ("operator", "server"):
        account = f"system:serviceaccount:{NAMESPACE}:{release}-mcptasks-{component}"
        for verb, resource in (("list", "mcptasks.mcptasks.dev"), ("create", "jobs.batch"), ("get", "secrets")):
            said = tools.kubectl("auth", "can-i", verb, resource, "--as", account, "--namespace", OTHER_NAMESPACE)
            assert said.output.strip().endswith("no"), (component, verb, resource)


def test_another_release_is_told_how_to_share_the_custom_resources_or_to_take_them_over(
    tools: Any, release: str
) -> None:
    refused = tools.install("second", namespace=OTHER_NAMESPACE)

    assert refused.code != 0
    assert f"belongs to the release {release} in namespace {NAMESPACE}" in refused.output
    assert "--set crds.install=false" in refused.output
    assert tools.objects("deployments", OTHER_NAMESPACE) == []


def test_any_user_id_will_do(tools: Any, release: str) -> None:
    """As on a platform that assigns them; and an upgrade of a release that runs."""
    upgraded = tools.install(release, "podSecurityContext.runAsUser=1000650000", *SINGLE)
    assert upgraded.code == 0, upgraded.output

    done = tools.helm("test", release, "--namespace", NAMESPACE, "--timeout", "240s")

    assert done.code == 0, done.output
    users: dict[str, list[int | None]] = {}
    for pod in tools.objects("pods"):
        owner = pod["metadata"]["ownerReferences"][0]["kind"]
        users.setdefault(owner, []).append(pod["spec"]["securityContext"].get("runAsUser"))
    assert users["ReplicaSet"] == [1000650000, 1000650000]
    assert 1000650000 in users["Job"]  # beside those of the tests before, if they are still kept


def test_single_services_are_in_no_drains_way(tools: Any, release: str) -> None:
    budgets = tools.objects("poddisruptionbudgets")

    assert len(budgets) == 2
    for budget in budgets:
        assert budget["status"]["expectedPods"] == 1
        assert budget["status"]["disruptionsAllowed"] == 1


def test_uninstalling_leaves_the_custom_resources_and_what_is_of_their_kinds(
    tools: Any, release: str, image: str
) -> None:
    running = running_task(tools, "lasting", lasting_tool(image))
    tasks = {item["metadata"]["name"] for item in tools.objects("mcptasks")}
    (pod,) = pods_of(tools, running)

    done = tools.helm("uninstall", release, "--namespace", NAMESPACE, "--wait", "--timeout", "120s")

    assert done.code == 0, done.output
    kept = {item["metadata"]["name"]: item for item in tools.objects("mcptasks")}
    assert set(kept) <= tasks  # those whose time was not over while there was an operator
    left = tools.objects("deployments,services,roles,rolebindings,poddisruptionbudgets,secrets,configmaps,mcptools")
    owners = {item["metadata"]["name"]: item["metadata"].get("ownerReferences") for item in left}
    assert {name for name, owner in owners.items() if not owner} == {"kube-root-ca.crt", "lasting"}
    assert {owner[0]["kind"] for owner in owners.values() if owner} <= {"McpTask"}
    assert {item["metadata"]["name"] for item in tools.objects("serviceaccounts")} == {"default"}
    assert {item["metadata"]["ownerReferences"][0]["kind"] for item in tools.objects("pods")} <= {"Job"}
    assert kept[running]["status"]["phase"] == "Running"
    (still,) = pods_of(tools, running)
    assert (still["metadata"]["uid"], still["status"]["phase"]) == (pod["metadata"]["uid"], "Running")


def test_a_release_that_follows_takes_the_custom_resources_over_by_the_commands_it_is_told(
    tools: Any, release: str
) -> None:
    before = {item["metadata"]["uid"] for item in tools.objects("mcptasks")}
    refused = tools.install("next", namespace=OTHER_NAMESPACE)
    assert refused.code != 0

    tools.run_commands_of(refused.output)
    try:
        installed = tools.install("next", namespace=OTHER_NAMESPACE)

        assert installed.code == 0, installed.output
        assert {item["metadata"]["uid"] for item in tools.objects("mcptasks")} == before
    finally:
        tools.helm("uninstall", "next", "--namespace", OTHER_NAMESPACE, "--ignore-not-found", "--wait")


def test_without_any_operator_all_tasks_are_deleted_with_what_was_theirs_within_two_minutes(
    tools: Any, release: str
) -> None:
    before = tools.objects("mcptasks,jobs,pods")
    assert [pod["status"]["phase"] for pod in before if pod["kind"] == "Pod"].count("Running") == 1
    finalizers = {text for item in before for text in item["metadata"].get("finalizers", ())}
    assert finalizers <= {"batch.kubernetes.io/job-tracking"}  # the Job controller's own

    deleted = tools.kubectl("delete", "mcptasks", "--all", "--namespace", NAMESPACE, "--timeout=120s")
    assert deleted.code == 0, deleted.output

    def all_are_gone() -> bool:
        listed = tools.kubectl("get", "mcptasks,jobs,pods", "--namespace", NAMESPACE, "--output", "name")
        assert listed.code == 0, listed.output
        return not listed.output.replace(f"No resources found in {NAMESPACE} namespace.\n", "")

    assert becomes_so(all_are_gone, within=120)
    assert tools.kubectl("delete", "mcptool", "lasting", "--namespace", NAMESPACE).code == 0


def pods_of(tools: Any, task: str) -> list[dict[str, Any]]:
    """The pods of a task that are not about to go."""
    return [pod for pod in tools.objects("pods") if pod["metadata"]["labels"].get(names.TASK_LABEL) == task]


def task_of(tool: str, name: str) -> str:
    return json.dumps(
        {
            "apiVersion": "mcptasks.dev/v1alpha1",
            "kind": "McpTask",
            "metadata": {"name": name},
            "spec": {"tool": {"name": tool}, "arguments": "{}", "retentionSeconds": 600},
        }
    )


def slow_tool(image: str) -> str:
    return shell_tool("slow", image, 'sleep 10; echo done > "$MCPTASK_RESULT"')


def lasting_tool(image: str) -> str:
    return shell_tool("lasting", image, "trap 'exit 143' TERM; sleep 3600 & wait")


def shell_tool(name: str, image: str, script: str) -> str:
    command = ["sh", "-c", script]
    return json.dumps(
        {
            "apiVersion": "mcptasks.dev/v1alpha1",
            "kind": "McpTool",
            "metadata": {"name": name},
            "spec": {
                "description": f"Runs {name}.",
                "inputSchema": {"type": "object"},
                "job": {"template": {"spec": {"containers": [{"name": "tool", "image": image, "command": command}]}}},
            },
        }
    )


def counting_tool(image: str) -> str:
    program = (
        "import json, os;"
        "text = json.load(open(os.environ['MCPTASK_ARGUMENTS'], encoding='utf-8'))['text'];"
        "open(os.environ['MCPTASK_RESULT'], 'w').write(str(len(text)))"
    )
    container = {"name": "tool", "image": image, "command": ["python", "-c", program]}
    return json.dumps(
        {
            "apiVersion": "mcptasks.dev/v1alpha1",
            "kind": "McpTool",
            "metadata": {"name": "count"},
            "spec": {
                "description": "Counts the characters of a text.",
                "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
                "retentionSeconds": 30,
                "job": {"template": {"spec": {"containers": [container]}}},
            },
        }
    )
