"""A task's log, as the library and the command line show it."""

import io
import json

import pytest

from mcptasks.cli import commands
from mcptasks.cli.commands import Session
from mcptasks.cli.exits import Exit
from mcptasks.cli.options import Output
from mcptasks.cli.output import Printer
from mcptasks.cli.status import PlainReporter
from mcptasks.client import TasksClient
from mcptasks.errors import ProtocolError, RequestError, UnknownTaskError
from mcptasks.logs import LOG_META, TaskLog, task_log
from mcptasks.testing import FakeServer

NOTE = "[Only the end of the log: its last 8 bytes.]"


def contents(text: str, note: str | None = None, **meta: object) -> list[dict[str, object]]:
    """What a server of ours sends."""
    known = {"source": "pod", "isWhole": note is None, **({} if note is None else {"note": note}), **meta}
    return [
        {"uri": "mcptask://mt-1/log", "text": text if note is None else f"{note}\n{text}", "_meta": {LOG_META: known}}
    ]


async def shown(server: FakeServer, output: Output = Output.TEXT) -> tuple[Exit, str, str]:
    """What `mcptasks logs mt-1` does: its exit code and both streams."""
    out, err = io.StringIO(), io.StringIO()
    printer = Printer(output, stream=out, errors=err)
    session = Session(server=server.url, printer=printer, reporter=PlainReporter(err))
    return await commands.logs(session, "mt-1"), out.getvalue(), err.getvalue()


async def test_a_log_is_read_with_the_header_that_names_it(client: TasksClient, server: FakeServer) -> None:
    server.resources["mcptask://mt-1/log"] = contents("one\ntwo\n")

    assert await client.read_log("mt-1") == TaskLog(text="one\ntwo\n", source="pod", is_whole=True, note=None)
    assert server.seen[0].headers["Mcp-Name"] == "mcptask://mt-1/log"


async def test_what_the_server_says_of_it_is_taken_off_the_text(client: TasksClient, server: FakeServer) -> None:
    server.resources["mcptask://mt-1/log"] = contents("the end\n", NOTE)

    log = await client.read_log("mt-1")

    assert (log.text, log.note, log.is_whole) == ("the end\n", NOTE, False)


async def test_a_task_that_is_not_there_is_an_unknown_task(client: TasksClient) -> None:
    with pytest.raises(UnknownTaskError, match="mt-2"):
        await client.read_log("mt-2")
    with pytest.raises(UnknownTaskError):
        await client.read_log("../mt-1")


async def test_a_resource_that_is_not_there_is_the_servers_error(client: TasksClient) -> None:
    with pytest.raises(RequestError, match="Resource not found"):
        await client.read_resource("text://none")


async def test_an_answer_without_contents_is_no_resource(client: TasksClient, server: FakeServer) -> None:
    server.resources["x://y"] = "nothing"  # type: ignore[assignment]

    with pytest.raises(ProtocolError):
        await client.read_resource("x://y")


@pytest.mark.parametrize("meta", [None, [], {LOG_META: 3}, {}, {LOG_META: {"source": 1, "note": [], "isWhole": "yes"}}])
def test_what_another_server_says_beside_the_text_does_no_harm(meta: object) -> None:
    assert task_log([{"text": "a"}, {"text": "b", "_meta": meta}, {"blob": "x"}]).text == "ab"
    assert task_log([{"text": "a", "_meta": meta}]).text == "a"


async def test_the_command_prints_the_log_and_says_the_rest_elsewhere(server: FakeServer) -> None:
    server.resources["mcptask://mt-1/log"] = contents("the end\n", NOTE)

    assert await shown(server) == (Exit.COMPLETED, "the end\n", f"{NOTE}\n")


async def test_where_there_is_no_log_nothing_is_printed_but_why(server: FakeServer) -> None:
    note = "[There is no log: the task's pod has not started yet.]"
    server.resources["mcptask://mt-1/log"] = contents("", note, source="none")

    assert await shown(server) == (Exit.COMPLETED, "", f"{note}\n")


async def test_as_json_it_is_one_document(server: FakeServer) -> None:
    server.resources["mcptask://mt-1/log"] = contents("the end\n", NOTE)

    _, out, _ = await shown(server, Output.JSON)

    assert json.loads(out) == {
        "taskId": "mt-1",
        "text": "the end\n",
        "source": "pod",
        "isWhole": False,
        "note": NOTE,
    }
