"""What the commands do, print and exit with, run within the test."""

import io
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from mcptasks.cli import commands
from mcptasks.cli.commands import Session
from mcptasks.cli.exits import Exit
from mcptasks.cli.follow import Limits
from mcptasks.cli.options import Output
from mcptasks.cli.output import Printer
from mcptasks.cli.status import PlainReporter
from mcptasks.errors import RequestError, UnknownTaskError
from mcptasks.testing import FakeServer, FakeTask, FakeTool, completed, state, tool_result

WORKING = state("working", pollIntervalMs=20, statusMessage="running")
NO_LIMITS = Limits()


@dataclass
class Screen:
    """Both streams of a session with a server."""

    server: FakeServer
    out: io.StringIO = field(default_factory=io.StringIO)
    err: io.StringIO = field(default_factory=io.StringIO)

    def session(self, output: Output = Output.TEXT) -> Session:
        printer = Printer(output, stream=self.out, errors=self.err)
        return Session(server=self.server.url, printer=printer, reporter=PlainReporter(self.err))


@pytest.fixture
def screen(server: FakeServer) -> Screen:
    return Screen(server)


async def test_a_call_follows_its_task_and_prints_the_result(server: FakeServer, screen: Screen) -> None:
    server.tools["sum"] = FakeTool(states=[WORKING, completed("42")])

    code = await commands.call(screen.session(), "sum", '{"top": 5}', wait=True, limits=NO_LIMITS)

    assert (code, screen.out.getvalue()) == (Exit.COMPLETED, "42\n")
    assert "working: running" in screen.err.getvalue()
    assert "completed" in screen.err.getvalue()
    assert server.params("tools/call")[0]["arguments"] == {"top": 5}


async def test_a_call_that_is_answered_at_once_prints_the_answer(server: FakeServer, screen: Screen) -> None:
    server.tools["greet"] = FakeTool(result=tool_result("hello"), progress=[{"progress": 1, "total": 2}])

    code = await commands.call(screen.session(), "greet", "{}", wait=True, limits=NO_LIMITS)

    assert (code, screen.out.getvalue()) == (Exit.COMPLETED, "hello\n")
    assert "1 of 2" in screen.err.getvalue()


@pytest.mark.parametrize(
    "tool",
    [
        pytest.param(FakeTool(states=[completed("it broke", is_error=True)]), id="as a task"),
        pytest.param(FakeTool(result=tool_result("it broke", is_error=True)), id="at once"),
    ],
)
async def test_a_tool_error_is_a_result_and_exit_code_1(server: FakeServer, screen: Screen, tool: FakeTool) -> None:
    server.tools["bad"] = tool

    code = await commands.call(screen.session(Output.JSON), "bad", "{}", wait=True, limits=NO_LIMITS)

    assert code is Exit.FAILED
    assert json.loads(screen.out.getvalue())["result"]["isError"] is True


async def test_a_call_that_is_not_waited_for_prints_the_tasks_id(server: FakeServer, screen: Screen) -> None:
    server.tools["long"] = FakeTool(states=[WORKING])

    code = await commands.call(screen.session(), "long", "{}", wait=False, limits=NO_LIMITS)

    assert (code, screen.out.getvalue()) == (Exit.COMPLETED, f"{next(iter(server.tasks))}\n")
    assert "tasks/get" not in server.methods()


async def test_a_planned_cancel_exits_with_3(server: FakeServer, screen: Screen) -> None:
    server.tools["long"] = FakeTool(states=[WORKING])

    code = await commands.call(screen.session(), "long", "{}", wait=True, limits=Limits(cancel_after_seconds=0.05))

    assert (code, screen.out.getvalue()) == (Exit.CANCELLED, "")
    assert "cancelled" in screen.err.getvalue()


async def test_a_time_limit_exits_with_124_and_leaves_the_task(server: FakeServer, screen: Screen) -> None:
    server.tasks["mt-1"] = FakeTask(states=[WORKING])

    code = await commands.wait(screen.session(), "mt-1", limits=Limits(timeout_seconds=0.05))

    assert (code, screen.out.getvalue()) == (Exit.NOT_FINISHED, "mt-1\n")
    assert "tasks/cancel" not in server.methods()


async def test_a_time_limit_counts_for_a_call_that_is_not_answered(server: FakeServer, screen: Screen) -> None:
    server.tools["mute"] = FakeTool(is_silent=True)

    code = await commands.call(screen.session(), "mute", "{}", wait=True, limits=Limits(timeout_seconds=0.05))

    assert code is Exit.NOT_FINISHED
    assert "not known" in screen.err.getvalue()


async def test_a_task_that_could_not_be_run_exits_with_1_and_says_why(server: FakeServer, screen: Screen) -> None:
    server.tasks["mt-1"] = FakeTask(states=[state("failed", error={"code": -32603, "message": "no such image"})])

    assert await commands.wait(screen.session(), "mt-1", limits=NO_LIMITS) is Exit.FAILED
    assert screen.out.getvalue() == ""
    assert "failed: no such image" in screen.err.getvalue()


async def test_the_result_of_a_cancelled_task_is_that_it_was_cancelled(server: FakeServer, screen: Screen) -> None:
    server.tasks["mt-1"] = FakeTask(states=[state("cancelled")])

    code = await commands.result(screen.session(), "mt-1")

    assert (code, screen.out.getvalue(), screen.err.getvalue()) == (
        Exit.CANCELLED,
        "",
        "mcptasks: mt-1 was cancelled\n",
    )


async def test_the_result_of_a_failed_task_is_why_it_failed(server: FakeServer, screen: Screen) -> None:
    server.tasks["mt-1"] = FakeTask(states=[state("failed", error={"code": -32603, "message": "no such\x1b[2J image"})])

    code = await commands.result(screen.session(), "mt-1")

    assert (code, screen.out.getvalue()) == (Exit.FAILED, "")
    assert screen.err.getvalue() == "mcptasks: mt-1 failed: no such\\x1b[2J image\n"


async def test_a_task_is_shown_as_it_is(server: FakeServer, screen: Screen) -> None:
    server.tasks["mt-1"] = FakeTask(states=[WORKING])

    assert await commands.get(screen.session(), "mt-1") is Exit.COMPLETED
    assert "working" in screen.out.getvalue()
    assert "running" in screen.out.getvalue()


async def test_a_result_is_not_waited_for(server: FakeServer, screen: Screen) -> None:
    server.tasks["mt-1"] = FakeTask(states=[WORKING, completed("done")])

    assert await commands.result(screen.session(), "mt-1") is Exit.NOT_FINISHED
    assert screen.out.getvalue() == ""
    assert await commands.result(screen.session(), "mt-1") is Exit.COMPLETED
    assert screen.out.getvalue() == "done\n"


async def test_a_cancel_succeeds_once_it_is_asked_for_or_with_wait_once_it_is_so(
    server: FakeServer, screen: Screen
) -> None:
    server.tasks["mt-1"] = FakeTask(states=[WORKING])
    server.tasks["mt-2"] = FakeTask(states=[completed("done")])
    server.tasks["mt-3"] = FakeTask(states=[WORKING], cancelled_by_request=False)

    async def cancel(task_id: str, *, wait: bool) -> Exit:
        return await commands.cancel(screen.session(), task_id, wait=wait, timeout_seconds=0.05)

    assert await cancel("mt-1", wait=True) is Exit.COMPLETED
    assert await cancel("mt-2", wait=False) is Exit.COMPLETED
    assert await cancel("mt-2", wait=True) is Exit.FAILED
    assert await cancel("mt-3", wait=True) is Exit.NOT_FINISHED


async def test_tools_are_listed_and_a_missing_one_is_told(server: FakeServer, screen: Screen) -> None:
    server.tools["sum"] = FakeTool(schema={"type": "object", "properties": {"by": {"type": "string"}}})

    assert await commands.tools(screen.session(), None) is Exit.COMPLETED
    assert screen.out.getvalue() == "sum\n    by: string\n"
    assert await commands.tools(screen.session(), "none") is Exit.FAILED
    assert "'none'" in screen.err.getvalue()


@pytest.mark.parametrize(
    "command",
    [
        lambda session: commands.get(session, "mt-none"),
        lambda session: commands.result(session, "mt-none"),
        lambda session: commands.wait(session, "mt-none", limits=NO_LIMITS),
        lambda session: commands.cancel(session, "mt-none", wait=False, timeout_seconds=None),
    ],
    ids=["get", "result", "wait", "cancel"],
)
async def test_an_unknown_task_is_an_error_everywhere(
    screen: Screen, command: Callable[[Session], Awaitable[Exit]]
) -> None:
    with pytest.raises(UnknownTaskError):
        await command(screen.session())


async def test_an_unknown_tool_is_refused(screen: Screen) -> None:
    with pytest.raises(RequestError, match="Unknown tool"):
        await commands.call(screen.session(), "none", "{}", wait=True, limits=NO_LIMITS)
