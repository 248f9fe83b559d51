"""The command line as a process: its streams, its signals and its exit codes."""

import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module

import pytest
from typer.testing import CliRunner

from mcptasks.cli.app import app
from mcptasks.testing import FakeServer, FakeTask, FakeTool, completed, form, state, tool_result

WORKING = state("working", pollIntervalMs=50, statusMessage="running")


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    code: int
    out: str
    err: str


HEEDING = (
    "import signal, runpy; signal.signal(signal.SIGINT, signal.default_int_handler);"
    " runpy.run_module('mcptasks.cli', run_name='__main__', alter_sys=True)"
)
"""What runs in the background of a shell has the signal ignored."""


async def start(*arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HEEDING, *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


async def finish(process: asyncio.subprocess.Process, text: str = "") -> Ended:
    async with asyncio.timeout(50):
        out, err = await process.communicate(text.encode() if process.stdin else None)
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), (err or b"").decode())


async def test_the_result_goes_to_one_stream_and_all_else_to_the_other(server: FakeServer) -> None:
    server.tools["sum"] = FakeTool(states=[WORKING, completed("42")])

    ended = await finish(await start("call", "sum", "-a", "by=country", "-a", "top:=5", "-s", server.url))

    assert (ended.code, ended.out) == (0, "42\n")
    assert "working: running" in ended.err
    assert server.params("tools/call")[0]["arguments"] == {"by": "country", "top": 5}


async def test_the_token_of_the_environment_is_sent_with_each_request(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCPTASKS_TOKEN", "secret-of-anna\n")
    server.tools["sum"] = FakeTool(states=[WORKING, completed("42")])

    ended = await finish(await start("call", "sum", "-q", "-s", server.url))

    assert (ended.code, ended.out) == (0, "42\n")
    assert {seen.headers["Authorization"] for seen in server.seen} == {"Bearer secret-of-anna"}


async def test_a_token_that_cannot_be_one_is_refused_and_not_shown(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCPTASKS_TOKEN", "secret\nX-Evil: 1")

    ended = await finish(await start("tools", "-s", server.url))

    assert (ended.code, ended.out, server.seen) == (2, "", [])
    assert "MCPTASKS_TOKEN" in ended.err
    assert "secret" not in ended.err


async def test_arguments_come_from_a_pipe_as_they_are(server: FakeServer) -> None:
    server.tools["echo"] = FakeTool(result=tool_result("no", is_error=True))

    document = '{"n": 1.0, "big": 123456789012345678901234567890}'
    ended = await finish(await start("call", "echo", "-f", "-", "-q", "-s", server.url), document)

    assert (ended.code, ended.out, ended.err) == (1, "no\n", "")
    assert f'"arguments": {document}' in server.seen[0].text


async def test_ctrl_c_lets_go_and_prints_the_id(server: FakeServer) -> None:
    server.tools["long"] = FakeTool(states=[WORKING])
    process = await start("call", "long", "-s", server.url)
    await server.until_asked("tasks/get")

    process.send_signal(signal.SIGINT)
    ended = await finish(process)

    assert (ended.code, ended.out) == (130, f"{next(iter(server.tasks))}\n")
    assert "tasks/cancel" not in server.methods()


async def test_a_second_ctrl_c_cancels(server: FakeServer) -> None:
    server.tools["long"] = FakeTool(states=[WORKING])
    process = await start("call", "long", "-s", server.url)
    await server.until_asked("tasks/get")
    assert process.stderr is not None

    process.send_signal(signal.SIGINT)
    async with asyncio.timeout(50):
        while b"Let go" not in await process.stderr.readline():
            pass
    process.send_signal(signal.SIGINT)
    ended = await finish(process)

    assert ended.code == 3
    assert server.methods().count("tasks/cancel") == 1


async def test_ctrl_c_before_there_is_a_task_says_what_is_known(server: FakeServer) -> None:
    server.tools["mute"] = FakeTool(is_silent=True)
    process = await start("call", "mute", "-s", server.url)
    await server.until_asked("tools/call")

    process.send_signal(signal.SIGINT)
    ended = await finish(process)

    assert (ended.code, ended.out) == (130, "")
    assert "not known" in ended.err


async def test_both_streams_in_one_file_are_in_order(server: FakeServer) -> None:
    asked = {"go": form("Deploy?", sure={"type": "boolean"})}
    server.tasks["mt-1"] = FakeTask(states=[state("input_required", inputRequests=asked)])
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mcptasks.cli", "wait", "mt-1", "-q", "-s", server.url),
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )

    ended = await finish(process)

    assert ended.out.splitlines()[:3] == ["mt-1", "mcptasks: mt-1 needs an answer:", "go: Deploy?"]


@pytest.mark.parametrize("verb", ["get", "questions", "answer", "result", "cancel"])
async def test_ctrl_c_gives_up_what_only_looks(verb: str) -> None:
    asked = asyncio.Event()

    async def say_nothing(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        writers.append(writer)

    writers: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    try:
        process = await start(verb, "mt-1", "-s", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp")
        await asked.wait()

        process.send_signal(signal.SIGINT)
        ended = await finish(process)
    finally:
        for writer in writers:
            writer.close()
        server.close()

    assert (ended.code, ended.out, ended.err) == (130, "", "")


async def test_a_refused_call_is_one_line_and_exit_code_1(server: FakeServer) -> None:
    ended = await finish(await start("call", "none", "-s", server.url))

    assert (ended.code, ended.out, ended.err) == (1, "", "mcptasks: Unknown tool: none\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["call", "sum", "-a", "n:=x"],
        ["call", "sum", "-f", "/nonexistent"],
        ["call"],
        ["call", "sum", "--timeout", "-1"],
        ["tools", "-o", "yaml"],
        ["nonsense"],
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str]) -> None:
    assert CliRunner().invoke(app, arguments).exit_code == 2


@pytest.mark.parametrize("arguments", [["tools"], ["get", "mt-1"], ["call", "sum"], ["cancel", "mt-1"]])
def test_nobody_there_is_one_line_and_exit_code_5(unused_tcp_port: int, arguments: list[str]) -> None:
    ended = CliRunner().invoke(app, [*arguments, "-s", f"http://127.0.0.1:{unused_tcp_port}/mcp"])

    assert ended.exit_code == 5
    assert ended.stderr.count("\n") == 1
    assert "Connection refused" in ended.stderr


def test_the_server_may_be_named_by_the_environment(unused_tcp_port: int) -> None:
    environment = {"MCPTASKS_SERVER": f"http://127.0.0.1:{unused_tcp_port}/other"}

    assert f"{unused_tcp_port}/other" in CliRunner().invoke(app, ["tools"], env=environment).stderr


def test_the_version_is_shown() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout.startswith("mcptasks ")


def test_help_loads_neither_the_network_nor_the_models() -> None:
    program = (
        "import sys\n"
        "from mcptasks.cli import main\n"
        "sys.argv = ['mcptasks', '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'aiohttp', 'pydantic', 'mcp_types'} & set(sys.modules)), file=sys.stderr)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "Call MCP tools" in ended.stdout
    assert ended.stderr == "[]\n"


def test_the_package_itself_loads_the_standard_library_alone() -> None:
    program = "import sys, mcptasks; print({'aiohttp', 'pydantic', 'typer', 'rich'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ended.stdout == "set()\n"


def test_every_public_name_can_be_loaded() -> None:
    package = import_module("mcptasks")

    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError):
        _ = package.nonsense
