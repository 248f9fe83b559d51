"""Clients that others wrote call real Jobs through two replicas: each of them, in each way that it has.

What is tried stands in `tests/clients/cases.yaml`. A client's cases run at once; the clients run one after the other,
beside the calls that mostly wait.
"""

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from itertools import count, pairwise
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
import pytest_asyncio
import yaml

from mcptasks_crds import names
from mcptasks_crds.kube import TASKS, TOOLS
from mcptasks_devcluster.eventually import eventually
from mcptasks_server.testing.wire import WITH_TASKS, Wire

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(420),
]

ROWS: Final = yaml.safe_load((Path(__file__).parents[2] / "clients" / "cases.yaml").read_text())
WAITING: Final = frozenset({"progress", "three minutes"})
"""Cases that begin before all others, since they mostly wait."""
LISTEN: Final = "listen"
"""The case in which something must happen in the cluster."""
LAST: Final = "restart"
"""The case that runs after all others, since they would notice."""
LISTED: Final = frozenset({"add", "brew", "broken", "linger", "misreport", "refuse", "remove", "steady", "survey"})
COMPANIONS: Final = frozenset({"task_get", "task_answer", "task_cancel"})
ASKABLE: Final = {**WITH_TASKS, "elicitation": {}}
MOST_CALLS: Final = 8
CLIENT_SECONDS: Final = 60.0
"""How long the TypeScript SDK's client waits for an answer, by default."""


def is_listed(seen: Mapping[str, Any]) -> None:
    assert set(seen["tools"]) >= LISTED | COMPANIONS


def is_result(seen: Mapping[str, Any]) -> None:
    assert seen["structured"] == {"sum": 3}
    assert json.loads(seen["text"]) == {"sum": 3}
    assert not seen["isError"]


def is_tool_error(seen: Mapping[str, Any]) -> None:
    """On the legacy wire a tool error is a failed task, of which a client may show no more than its message."""
    if "isError" in seen:
        assert seen["isError"]
        assert seen["text"].splitlines() == ["no such table", "", "exit code 3"]
    else:
        assert (seen["status"], seen["error"]["message"]) == ("failed", "exit code 3")


def is_failure(seen: Mapping[str, Any]) -> None:
    """Each client has its own form for a JSON-RPC error; all of them show its message."""
    assert "the container could not be started" in json.dumps(seen)
    assert not seen.get("text")


def is_cancelled(seen: Mapping[str, Any]) -> None:
    """A held call ends for its client as soon as it lets go; that its task does is looked at in the cluster."""
    after = seen.get("after", {}).get("task", seen)
    assert after.get("status") == "cancelled" or seen.get("stopped")


def is_answered(seen: Mapping[str, Any]) -> None:
    assert seen["asked"] == ["Remove the file for good?"]
    assert (seen["text"].strip(), seen["isError"]) == ("removed notes.txt", False)


def is_refused(seen: Mapping[str, Any]) -> None:
    assert seen["asked"] == ["Remove the file for good?"]
    assert seen["isError"]
    assert seen["text"].startswith("declined by")


def has_progress(seen: Mapping[str, Any]) -> None:
    values = [value for value, _, _ in seen["progress"]]
    assert len(values) >= 2
    assert all(earlier < later for earlier, later in pairwise(values))
    assert all(total is None and message for _, total, message in seen["progress"])
    assert (seen["text"].strip(), seen["isError"]) == ("tea is ready", False)


def is_loaded(seen: Mapping[str, Any]) -> None:
    assert (seen["code"], seen["ok"], seen["errors"], seen["toolErrors"]) == (0, 20, 0, 0)


def has_outlived(seen: Mapping[str, Any]) -> None:
    assert (seen["text"].strip(), seen["isError"]) == ("still here", False)


def is_a_tool_error_where_it_breaks_its_schema(seen: Mapping[str, Any]) -> None:
    kinds = dict(seen["kinds"])
    assert kinds.pop("valid")["structured"] == {"sum": 3}
    for kind, result in kinds.items():
        assert result.get("isError"), (kind, result)
        assert not result["structured"], (kind, result)
        assert result["text"], kind


def is_surveyed(seen: Mapping[str, Any]) -> None:
    calls = seen["calls"]
    assert seen["structured"] == {"area": "north", "found": 7}
    assert [call["name"] for call in calls] == ["survey"] + ["task_get"] * (len(calls) - 1)
    assert 2 <= len(calls) <= MOST_CALLS
    assert all(call["seconds"] < CLIENT_SECONDS for call in calls)
    assert len({task for call in calls for task in re.findall(r"mt-[a-z2-7]{26,}", call["text"])}) == 1


CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any]], None]]] = {
    "list": is_listed,
    "result": is_result,
    "tool error": is_tool_error,
    "failure": is_failure,
    "cancel": is_cancelled,
    "question": is_answered,
    "refusal": is_refused,
    "progress": has_progress,
    "load": is_loaded,
    "restart": has_outlived,
    "wrong output": is_a_tool_error_where_it_breaks_its_schema,
    "three minutes": is_surveyed,
}


TRIED: Final = [
    pytest.param(client, case, id=f"{client}-{case}".replace(" ", "_"))
    for client, row in ROWS.items()
    for case in row["cases"]
    if case not in WAITING | {LISTEN, LAST}
]


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def waiting(drivers: Any) -> list[Any]:
    """The runs that mostly wait, all of them begun."""
    return [run(drivers, row, case) for row in drivers.clients.values() for case in sorted(WAITING & set(row.cases))]


def run(drivers: Any, row: Any, case: str) -> Any:
    """A driver's run: of a case that stands apart, or of all others of its client."""
    apart = WAITING | {LISTEN, LAST}
    cases = [case] if case in apart else [each for each in row.cases if each not in apart]
    return drivers.begin(row, [row.cases[each] for each in cases])


@pytest.mark.requirement("failures/f3-21", "failures/f3-25")
@pytest.mark.parametrize(("client", "case"), TRIED)
async def test_a_client_sees_what_it_should(client: str, case: str, drivers: Any) -> None:
    row = drivers.clients[client]

    seen = (await run(drivers, row, case))[row.cases[case]]

    assert "raised" not in seen or case == "failure", seen
    CHECKS[case](seen)


@pytest.mark.requirement("failures/f3-13")
async def test_what_clients_no_longer_wanted_is_stopped_and_nothing_of_it_runs(world: Any, drivers: Any) -> None:
    """The tool that lingers for ten minutes was only called to be cancelled: as a task, or while it was held."""
    cancelling = [row for row in drivers.clients.values() if "cancel" in row.cases]
    for row in cancelling:
        await run(drivers, row, "cancel")
    seen: list[dict[str, Any]] = []

    async def are_cancelled() -> bool:
        selector = f"{names.TOOL_LABEL}=linger"
        seen[:] = (await world.kube.list(TASKS, world.namespace, labelSelector=selector))["items"]
        return {task.get("status", {}).get("phase") for task in seen} == {"Cancelled"}

    try:
        await eventually(are_cancelled, what="all cancelled tasks have ended", timeout_seconds=90)
    except AssertionError as error:
        error.add_note(yaml.safe_dump([task for task in seen if task.get("status", {}).get("phase") != "Cancelled"]))
        raise
    assert len(seen) <= len(cancelling)  # fewer where a call was let go before its task was made


async def test_a_client_that_leaves_a_tasks_name_out_is_told_what_is_missing(drivers: Any) -> None:
    seen = (await drivers.begin(drivers.clients["fastmcp_tasks"], ["handle"], strict=True))["handle"]

    assert "the Mcp-Name header is required" in seen["raised"]


@pytest.mark.requirement("failures/f3-14", "failures/f3-16")
@pytest.mark.parametrize("client", [client for client, row in ROWS.items() if "progress" in row["cases"]])
async def test_a_client_is_told_how_a_call_that_is_held_goes_on(client: str, drivers: Any) -> None:
    row = drivers.clients[client]

    seen = (await run(drivers, row, "progress"))[row.cases["progress"]]

    assert "raised" not in seen, seen
    has_progress(seen)


async def test_a_client_that_listens_is_told_that_a_tool_has_changed(world: Any, drivers: Any) -> None:
    row = drivers.clients["python_sdk"]
    listening = run(drivers, row, LISTEN)
    titles = (f"Title {number}" for number in count())

    async def has_heard() -> bool:
        """It has not said when it began to listen, so the tool changes until it hears of it."""
        await world.kube.patch(TOOLS, world.namespace, "linger", {"spec": {"title": next(titles)}})
        await asyncio.wait([listening], timeout=1)
        return bool(listening.done())

    await eventually(has_heard, what="the client has heard of a change", timeout_seconds=60)

    seen = (await listening)[row.cases[LISTEN]]
    assert seen["event"] == "ToolsListChanged"
    assert "add" in seen["tools"]


@pytest.mark.requirement("failures/f3-11", "failures/f3-16")
async def test_a_client_with_default_settings_gets_the_result_of_three_minutes(drivers: Any) -> None:
    row = drivers.clients["typescript_client"]

    seen = (await run(drivers, row, "three minutes"))[row.cases["three minutes"]]

    assert "raised" not in seen, seen
    is_surveyed(seen)


@pytest.mark.requirement("failures/f3-10")
async def test_a_call_that_waits_for_an_answer_through_a_restart_runs_with_its_own_arguments(world: Any) -> None:
    async with aiohttp.ClientSession() as session:
        wire = Wire(session, world.url)
        call = {"name": "remove", "arguments": {"file": "old notes.txt"}}
        named = {"taskId": (await wire.call("tools/call", call, capabilities=ASKABLE)).result["taskId"]}

        async def shown() -> dict[str, Any]:
            return (await wire.call("tasks/get", named, capabilities=ASKABLE)).result

        async def phase() -> str | None:
            task = await world.kube.get(TASKS, world.namespace, named["taskId"])
            found: str | None = task.get("status", {}).get("phase")
            return found

        async def waits() -> bool:
            return await phase() == "InputRequired"

        async def is_over() -> bool:
            return bool((await shown())["status"] == "completed")

        await eventually(waits, what="the task waits for its answer", timeout_seconds=60)
        await world.replicas[0].kill("operator")
        agreed = {"inputResponses": {"agree": {"action": "accept", "content": {"agree": True}}}}
        await wire.call("tasks/update", named | agreed, capabilities=ASKABLE)
        await world.replicas[0].start("operator")
        await eventually(is_over, what="the task is over", timeout_seconds=90)

        assert (await shown())["result"]["content"][0]["text"].strip() == "removed old notes.txt"


@pytest.mark.requirement("failures/f3-07", "failures/f3-26")
async def test_clients_do_not_notice_that_all_servers_are_restarted(
    world: Any, drivers: Any, waiting: list[Any]
) -> None:
    """The servers are replaced one after the other, as by a Deployment, while each client's task runs."""
    await asyncio.gather(*waiting)
    rows = [row for row in drivers.clients.values() if LAST in row.cases]
    runs = [run(drivers, row, LAST) for row in rows]

    async def are_made() -> bool:
        tasks = await world.kube.list(TASKS, world.namespace, labelSelector=f"{names.TOOL_LABEL}=steady")
        return len(tasks["items"]) == len(rows)

    await eventually(are_made, what="each client has called", timeout_seconds=120)
    await world.restart()

    seen = {row.id: (await each)[row.cases[LAST]] for row, each in zip(rows, runs, strict=True)}
    assert not {client: each for client, each in seen.items() if "raised" in each}
    for each in seen.values():
        has_outlived(each)
