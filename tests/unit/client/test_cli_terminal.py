"""The command line as a person sees it: a real process on a pseudo-terminal."""

import asyncio
import os
import pty
import signal
import sys
import termios
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mcptasks.testing import FakeServer, FakeTask, FakeTool, completed, form, state, tool_result

SECONDS = 40
SURE = {"sure": {"type": "boolean"}}
YES = {"action": "accept", "content": {"sure": True}}


def asking(**requests: Any) -> dict[str, Any]:
    return state("input_required", inputRequests=requests, pollIntervalMs=50)


class Person:
    """Somebody at a terminal in which `mcptasks` runs."""

    def __init__(self, screen: int, process: asyncio.subprocess.Process) -> None:
        self._screen = screen
        self._process = process
        self._came = asyncio.Event()
        self.seen = ""
        self._is_gone = False
        os.set_blocking(screen, False)
        asyncio.get_running_loop().add_reader(screen, self._read)

    def _read(self) -> None:
        try:
            piece = os.read(self._screen, 65_536)
        except OSError:  # the other side is closed
            piece = b""
        if not piece:
            asyncio.get_running_loop().remove_reader(self._screen)
        self.seen += piece.decode(errors="replace")
        self._came.set()

    async def sees(self, words: str) -> None:
        """Wait until something stands there; what came before it is forgotten."""
        async with asyncio.timeout(SECONDS):
            while words not in self.seen:
                self._came.clear()
                await self._came.wait()
        self.seen = self.seen.partition(words)[2]

    def types(self, line: str) -> None:
        """Type a line."""
        os.write(self._screen, line.encode() + b"\n")

    def presses(self, key: bytes) -> None:
        """Press a key."""
        os.write(self._screen, key)

    async def ends(self) -> tuple[int | None, str]:
        """How the program ended: its exit code, and what it wrote to its standard output (no terminal)."""
        async with asyncio.timeout(SECONDS):
            out, _ = await self._process.communicate()
        return self._process.returncode, out.decode()

    def goes(self) -> None:
        """The terminal is closed."""
        if self._is_gone:
            return
        self._is_gone = True
        asyncio.get_running_loop().remove_reader(self._screen)
        os.close(self._screen)


CTRL_C, CTRL_D = b"\x03", b"\x04"


@pytest.fixture
async def sits_at() -> AsyncIterator[Any]:
    """Starts the command line on a terminal of its own."""
    people: list[Person] = []

    async def start(*arguments: str) -> Person:
        screen, terminal = pty.openpty()
        name = os.ttyname(terminal)

        def take_terminal() -> None:  # the session is new (start_new_session): the first terminal becomes its own
            os.close(os.open(name, os.O_RDWR))
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as in any terminal; these tests may run under nohup

        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "mcptasks.cli", *arguments),
            stdin=terminal,
            stdout=asyncio.subprocess.PIPE,
            stderr=terminal,
            start_new_session=True,
            preexec_fn=take_terminal,
            env={**os.environ, "TERM": "dumb"},
        )
        os.close(terminal)
        people.append(Person(screen, process))
        return people[-1]

    yield start
    for person in people:
        person.goes()
        await person.ends()


FORM = form(
    "Deploy the shop?",
    sure={"type": "boolean", "title": "Are you sure?"},
    where={"type": "string", "oneOf": [{"const": "s", "title": "Staging"}, {"const": "p", "title": "Production"}]},
    parts={"type": "array", "items": {"type": "string", "enum": ["web", "api", "docs"]}, "minItems": 1},
    mail={"type": "string", "format": "email"},
    count={"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
    share={"type": "number", "maximum": 1},
)


async def test_a_person_fills_in_each_kind_of_field(server: FakeServer, sits_at: Any) -> None:
    server.tools["deploy"] = FakeTool(states=[asking(go=FORM), completed("done")])
    person = await sits_at("call", "deploy", "-s", server.url)

    await person.sees("asks (go):")
    await person.sees("Deploy the shop?")
    for prompt, line in [
        ("Are you sure? (yes or no, required)", "perhaps"),
        ("yes or no?", "yes"),
        ("2) p: Production", "2"),
        ("parts (several of these", "web, 3"),
        ("mail (text, email", "anna"),
        ("must be an address like", "anna@example.com"),
        ("count (whole number, at least 1, at most 9, else 3)", ""),
        ("share (number", "0.5"),
        ("accept, decline, cancel, edit?", "accept"),
    ]:
        await person.sees(prompt)
        await person.sees(">" if "accept" not in prompt else " ")
        person.types(line)

    assert await person.ends() == (0, "done\n")
    (task,) = server.tasks.values()
    content = {
        "sure": True,
        "where": "p",
        "parts": ["web", "docs"],
        "mail": "anna@example.com",
        "count": 3,
        "share": 0.5,
    }
    assert task.answers == {"go": {"action": "accept", "content": content}}


async def test_a_person_declines_without_filling_in_the_form(server: FakeServer, sits_at: Any) -> None:
    server.tasks["mt-1"] = FakeTask(states=[asking(go=FORM), completed("declined", is_error=True)])
    person = await sits_at("wait", "mt-1", "-s", server.url)

    await person.sees("> ")
    person.presses(CTRL_D)
    await person.sees("decline, cancel, edit? ")
    person.types("decline")

    assert await person.ends() == (1, "declined\n")
    assert server.tasks["mt-1"].answers == {"go": {"action": "decline"}}


async def test_a_person_who_leaves_the_question_open_is_told_how_to_answer_later(
    server: FakeServer, sits_at: Any
) -> None:
    server.tasks["mt-1"] = FakeTask(states=[asking(go=form(**SURE))])
    person = await sits_at("wait", "mt-1", "-s", server.url)

    await person.sees("> ")
    person.presses(CTRL_D)
    await person.sees("? ")
    person.presses(CTRL_D)
    await person.sees("needs an answer")

    assert await person.ends() == (4, "mt-1\n")


async def test_what_the_server_refuses_is_asked_again(server: FakeServer, sits_at: Any) -> None:
    why = "the answer to `go` is not what was asked for: /content/sure: is wrong"
    server.tasks["mt-1"] = FakeTask(states=[asking(go=form(**SURE)), completed("done")], refusals=[why])
    person = await sits_at("wait", "mt-1", "-s", server.url)

    for answer in ("n", "y"):
        await person.sees("> ")
        person.types(answer)
        await person.sees("edit? ")
        person.types("a")
        if answer == "n":
            await person.sees("The last answer was refused: the answer to `go`")

    assert (await person.ends())[0] == 0
    assert server.tasks["mt-1"].answers == {"go": YES}


async def test_a_question_that_somebody_else_answers_disappears(server: FakeServer, sits_at: Any) -> None:
    server.tasks["mt-1"] = FakeTask(states=[asking(go=form(**SURE)), asking(on=form(**SURE)), completed("done")])
    person = await sits_at("wait", "mt-1", "-s", server.url)

    await person.sees("asks (go)")
    await person.sees("> ")
    person.presses(b"ye")  # half a word, which is no answer to the next question
    server.tasks["mt-1"].answers["go"] = YES
    await person.sees("go is not asked any more")
    await person.sees("asks (on)")
    await person.sees("> ")
    person.types("y")
    await person.sees("edit? ")
    person.types("a")

    assert await person.ends() == (0, "done\n")
    assert server.tasks["mt-1"].answers["on"] == YES


async def test_what_was_typed_before_anything_was_asked_answers_nothing(server: FakeServer, sits_at: Any) -> None:
    server.tasks["mt-1"] = FakeTask(states=[asking(go=form(**SURE))])
    person = await sits_at("wait", "mt-1", "-s", server.url)
    person.types("y\na")

    await person.sees("asks (go)")
    await person.sees("> ")
    person.presses(CTRL_D)
    await person.sees("decline, cancel, edit? ")


async def test_ctrl_c_lets_go_of_a_question_as_of_the_task(server: FakeServer, sits_at: Any) -> None:
    server.tasks["mt-1"] = FakeTask(states=[asking(go=form(**SURE))])
    person = await sits_at("wait", "mt-1", "-s", server.url)

    await person.sees("> ")
    person.presses(CTRL_C)
    await person.sees("Let go of mt-1, which goes on")

    assert await person.ends() == (130, "mt-1\n")
    assert not {"tasks/update", "tasks/cancel"} & set(server.methods())


async def test_ctrl_c_before_there_is_a_task_says_that_nothing_was_started(server: FakeServer, sits_at: Any) -> None:
    server.tools["ask"] = FakeTool(asks_first={"go": form(**SURE)}, result=tool_result("done"))
    person = await sits_at("call", "ask", "-s", server.url)

    await person.sees("> ")
    person.presses(CTRL_C)
    await person.sees("nothing was started")

    assert await person.ends() == (130, "")


async def test_a_question_before_there_is_a_task_is_asked_too(server: FakeServer, sits_at: Any) -> None:
    server.tools["ask"] = FakeTool(asks_first={"go": form(**SURE)}, result=tool_result("done"))
    person = await sits_at("call", "ask", "-s", server.url)

    await person.sees("> ")
    person.types("y")
    await person.sees("edit? ")
    person.types("a")

    assert await person.ends() == (0, "done\n")


async def test_an_open_question_is_answered_at_the_terminal(server: FakeServer, sits_at: Any) -> None:
    server.tasks["mt-1"] = FakeTask(states=[asking(go=form(**SURE))])
    person = await sits_at("answer", "mt-1", "-s", server.url)

    await person.sees("> ")
    person.types("y")
    await person.sees("edit? ")
    person.types("a")
    await person.sees("Answered go: accept.")

    assert await person.ends() == (0, "")
    assert server.tasks["mt-1"].answers == {"go": YES}


async def test_a_program_in_the_background_asks_nobody(server: FakeServer) -> None:
    """With a terminal that is not its own: it must neither be stopped for reading nor wait."""
    server.tasks["mt-1"] = FakeTask(states=[asking(go=form(**SURE))])
    screen, terminal = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mcptasks.cli", "wait", "mt-1", "-s", server.url),
        stdin=terminal,
        stdout=asyncio.subprocess.PIPE,
        stderr=terminal,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(SECONDS):
            out, _ = await process.communicate()
        assert (process.returncode, out) == (4, b"mt-1\n")
    finally:
        os.close(terminal)
        os.close(screen)


async def test_a_terminal_that_is_closed_ends_the_question(server: FakeServer, sits_at: Any) -> None:
    server.tasks["mt-1"] = FakeTask(states=[asking(go=form(**SURE))])
    person = await sits_at("wait", "mt-1", "-s", server.url)
    await person.sees("> ")

    person.goes()

    assert (await person.ends())[0] in {4, -signal.SIGHUP}
    assert "tasks/update" not in server.methods()


def test_the_terminal_is_in_line_mode() -> None:
    """What these tests rest on: a new pseudo-terminal gives lines, as a person's shell leaves it."""
    screen, terminal = pty.openpty()
    try:
        assert termios.tcgetattr(terminal)[3] & termios.ICANON
    finally:
        os.close(screen)
        os.close(terminal)
