"""Packs' resources keep their ways beside those of tasks, and cannot take their URIs."""

import pytest

from mcptasks_server.tasklogs import LogSource, TaskLog
from mcptasks_server.testing.wire import Wire
from mcptasks_server.toolpack import PackError, ToolPack
from mcptasks_server.toolpack.packs import Packs, packs_of
from mcptasks_server.toolpack.running import Runner

from .conftest import Logs, Reader, reader_of


@pytest.fixture
def packs() -> Packs:
    """One resource, and a template that matches every URI that there is."""
    pack = ToolPack("greedy")

    @pack.resource("text://one")
    def one() -> str:
        return "one"

    @pack.resource_template("{+all}")
    def everything(all: str) -> str:  # noqa: A002  # the template's variable
        return f"greedy {all}"

    @pack.completion("{+all}", "all")
    def complete_all(typed: str) -> list[str]:
        return [typed]

    return packs_of([pack], runner=Runner())


async def test_a_uri_of_a_task_never_reaches_a_pack(anna: Reader, logs: Logs, task_id: str) -> None:
    logs.printed[task_id] = TaskLog(source=LogSource.POD, text="mine\n")

    assert (await anna.read("text://one"))["text"] == "one"
    assert (await anna.read("other://x"))["text"] == "greedy other://x"
    assert (await anna.read(f"mcptask://{task_id}/log"))["text"] == "mine\n"
    for uri in (f"mcptask://{task_id}/x", f"McpTask://{task_id}/log", "mcptask:x"):
        await anna.refusal(uri)


async def test_templates_of_packs_are_listed_before_those_of_tasks(anna: Reader) -> None:
    templates = (await anna.call("resources/templates/list")).result["resourceTemplates"]

    assert [each["uriTemplate"] for each in templates] == [
        "{+all}",
        "mcptask://{taskId}/log",
        "mcptask://{taskId}/result",
    ]


async def test_a_legacy_client_subscribes_to_what_packs_have_and_to_no_task(wire: Wire, task_id: str) -> None:
    anna, bert = await reader_of(wire, "legacy", "anna"), await reader_of(wire, "legacy", "bert")

    for method in ("resources/subscribe", "resources/unsubscribe"):
        assert (await anna.call(method, uri="text://one")).result == {}
        said = [(await each.call(method, uri=f"mcptask://{task_id}/log")).body["error"] for each in (anna, bert)]
        assert said[0] == said[1]
        assert (said[0]["code"], "read them again" in said[0]["message"]) == (-32602, True)


async def test_a_tasks_id_is_completed_by_nothing(anna: Reader) -> None:
    ref = {"type": "ref/resource", "uri": "mcptask://{taskId}/log"}

    answer = await anna.call("completion/complete", ref=ref, argument={"name": "taskId", "value": "mt-"})

    assert answer.result["completion"] == {"values": []}


@pytest.mark.parametrize("uri", ["mcptask://x/log", "MCPTASK:x", "mcptask://{task}/log", "mcptask:{+all}"])
def test_a_pack_that_claims_the_scheme_is_refused(uri: str) -> None:
    pack = ToolPack("p")

    with pytest.raises(PackError, match="mcptask is kept for tasks"):
        pack.resource(uri)(lambda: "")
    with pytest.raises(PackError, match="mcptask is kept for tasks"):
        pack.resource_template(uri)(lambda task: task)


@pytest.mark.parametrize("uri", ["mcptasks://x", "x://mcptask:log", "mcptask-x://{task}"])
def test_a_scheme_that_only_looks_like_it_is_free(uri: str) -> None:
    pack = ToolPack("p")

    @pack.resource(uri.replace("{task}", "1"))
    def something() -> str:
        return ""

    assert list(pack.entries.resources) == [uri.replace("{task}", "1")]
