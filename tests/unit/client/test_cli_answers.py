"""Answering by the command line's words: nothing waits for ever, and each question is shown with what answers it."""

import io
import json
import shlex
from dataclasses import dataclass, field
from typing import Any

import pytest
from typer.testing import CliRunner

from mcptasks.cli import caller_answers, commands
from mcptasks.cli.answerers import Answers
from mcptasks.cli.app import app
from mcptasks.cli.commands import Session
from mcptasks.cli.exits import Exit
from mcptasks.cli.follow import Limits
from mcptasks.cli.given import given_from
from mcptasks.cli.options import Output
from mcptasks.cli.output import Printer
from mcptasks.cli.status import PlainReporter
from mcptasks.cli.wanted import NotAskedError, wanted_from
from mcptasks.errors import ArgumentsError, InvalidAnswerError
from mcptasks.testing import FakeServer, FakeTask, FakeTool, completed, form, state, tool_result

SURE = {"sure": {"type": "boolean", "title": "Are you sure?"}}
PLACE = {"where": {"type": "string", "enum": ["staging", "production"]}, "count": {"type": "integer", "default": 3}}
YES = {"action": "accept", "content": {"sure": True}}
NO = {"action": "decline"}


def asking(**requests: Any) -> dict[str, Any]:
    return state("input_required", inputRequests=requests, pollIntervalMs=20)


@dataclass
class Screen:
    """Both streams of a session with a server."""

    server: FakeServer
    out: io.StringIO = field(default_factory=io.StringIO)
    err: io.StringIO = field(default_factory=io.StringIO)

    def session(
        self, *words: str, declined: tuple[str, ...] = (), output: Output = Output.TEXT, **more: Any
    ) -> Session:
        return Session(
            server=self.server.url,
            printer=Printer(output, stream=self.out, errors=self.err),
            reporter=PlainReporter(self.err),
            answers=Answers(given=given_from(words, declined), **more),
        )

    async def wait(self, *words: str, **more: Any) -> Exit:
        return await commands.wait(self.session(*words, **more), "mt-1", limits=Limits())

    async def call(self, *words: str, **more: Any) -> Exit:
        return await commands.call(self.session(*words, **more), "ask", "{}", wait=True, limits=Limits())

    async def answer(self, *words: str, as_json: bool = False, **flags: bool) -> Exit:
        said = {"accepts": False, "declines": False, "cancels": False} | flags
        session = self.session(output=Output.JSON if as_json else Output.TEXT)
        return await caller_answers.answer(session, "mt-1", wanted_from(words, **said))

    def answers(self) -> Any:
        return self.server.tasks["mt-1"].answers


@pytest.fixture
def screen(server: FakeServer) -> Screen:
    server.tasks["mt-1"] = FakeTask(states=[asking(go=form("Deploy?\nReally?", **SURE)), completed("done")])
    return Screen(server)


async def test_a_question_that_nobody_answers_exits_with_4_and_says_how_to_answer(screen: Screen) -> None:
    assert await screen.wait() is Exit.INPUT_REQUIRED

    assert screen.out.getvalue() == "mt-1\n"
    shown = screen.err.getvalue()[screen.err.getvalue().index("mcptasks:") :].splitlines()
    assert shown == [
        "mcptasks: mt-1 needs an answer:",
        "go: Deploy?",
        "    Really?",
        "    Are you sure? (yes or no, required)  [sure]",
        "  $ mcptasks answer mt-1 go 'sure=yes|no'",
        "  $ mcptasks answer mt-1 go --decline",
    ]


async def test_as_json_it_is_the_task_with_the_line_that_answers(screen: Screen) -> None:
    assert await screen.wait(output=Output.JSON) is Exit.INPUT_REQUIRED

    shown = json.loads(screen.out.getvalue())
    assert (shown["taskId"], shown["status"]) == ("mt-1", "input_required")
    assert shown["inputRequests"]["go"]["params"]["requestedSchema"]["required"] == ["sure"]
    assert shown["_meta"] == {"mcptasks.dev/answerWith": {"go": "mcptasks answer mt-1 go 'sure=yes|no'"}}


async def test_the_line_that_answers_leads_to_the_same_server(server: FakeServer, screen: Screen) -> None:
    server.tasks["mt-1"].states = [asking(go=form("Deploy?", **SURE))]

    printer = Printer(Output.TEXT, stream=screen.out, errors=screen.err, options=("--server", server.url))
    session = Session(server=server.url, printer=printer, reporter=PlainReporter(screen.err))
    await commands.wait(session, "mt-1", limits=Limits())

    (line,) = [each for each in screen.err.getvalue().splitlines() if "yes|no" in each]
    words = shlex.split(line)[2:]
    assert words == ["answer", "--server", server.url, "mt-1", "go", "sure=yes|no"]


@pytest.mark.parametrize(
    ("properties", "line"),
    [
        ({}, "mcptasks answer mt-1 go --accept"),
        (PLACE, "mcptasks answer mt-1 go 'where=staging|production'"),
        ({"sure": {"type": "boolean", "default": False}}, "mcptasks answer mt-1 go 'sure=yes|no'"),
        ({"n": {"type": "number"}, "why": {"type": "string"}}, "mcptasks answer mt-1 go 'n=<number>' 'why=<text>'"),
    ],
)
async def test_the_line_has_a_place_for_each_field_that_must_be_filled_in(
    screen: Screen, properties: dict[str, Any], line: str
) -> None:
    screen.server.tasks["mt-1"].states = [asking(go=form("Where?", **properties))]

    await screen.wait()

    assert f"  $ {line}\n" in screen.err.getvalue()


@pytest.mark.parametrize(
    "words", [["go.sure=yes"], ["go.sure:=true"], ['go={"sure": true}'], ["go=true"], ["go=yes"], ["go:=true"]]
)
async def test_an_answer_on_the_command_line_is_given(screen: Screen, words: list[str]) -> None:
    assert await screen.wait(*words) is Exit.COMPLETED

    assert screen.answers() == {"go": YES}
    assert "Answered go: accept." in screen.err.getvalue()
    assert screen.out.getvalue() == "done\n"


async def test_a_question_is_declined_on_the_command_line(screen: Screen) -> None:
    assert await screen.wait(declined=("go",)) is Exit.COMPLETED
    assert screen.answers() == {"go": NO}


async def test_the_defaults_of_a_form_stand_where_nothing_else_is_said(screen: Screen) -> None:
    screen.server.tasks["mt-1"].states = [asking(go=form("Where?", **PLACE)), completed("done")]

    await screen.wait("go.where=staging")

    assert screen.answers()["go"]["content"] == {"where": "staging", "count": 3}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["go.sure=perhaps"], "--answer go: sure: yes or no?"),
        (["go={}"], "--answer go: sure: is required"),
        (["go.other=1"], "--answer go: other: there is no such field; there is sure"),
        (["go.sure=yes", "go={}"], "--answer go: go is answered more than once"),
        (["stop.sure=yes"], "No question is called stop.sure."),
    ],
)
async def test_an_answer_that_does_not_fit_is_told_and_the_question_shown(
    screen: Screen, words: list[str], complaint: str
) -> None:
    assert await screen.wait(*words) is Exit.INPUT_REQUIRED

    assert complaint in screen.err.getvalue()
    assert screen.answers() == {}


@pytest.mark.parametrize(
    ("words", "declined"), [(["sure"], ()), (["=1"], ()), (["go.sure=yes"], ("go",)), (["go=1"], ("go",))]
)
def test_words_that_are_no_answers_are_wrong_usage(words: list[str], declined: tuple[str, ...]) -> None:
    with pytest.raises(ArgumentsError):
        given_from(words, declined)


async def test_an_answer_that_the_server_refuses_is_an_error(screen: Screen) -> None:
    screen.server.tasks["mt-1"].refusals = ["Invalid params: /content/sure: is wrong"]

    with pytest.raises(InvalidAnswerError, match="/content/sure"):
        await screen.wait("go.sure=yes")


async def test_a_question_left_to_others_is_waited_for(screen: Screen) -> None:
    others = FakeTask(states=[asking(go=form(**SURE)), completed("done")])
    screen.server.tasks["mt-1"] = others

    class Answering(PlainReporter):
        """Has somebody else answer once the question is seen."""

        def task(self, task: Any) -> None:
            others.answers["go"] = NO

    session = screen.session(leaves=True)
    session = Session(
        server=session.server, printer=session.printer, reporter=Answering(screen.err), answers=session.answers
    )
    assert await commands.wait(session, "mt-1", limits=Limits()) is Exit.COMPLETED
    assert "tasks/update" not in screen.server.methods()


async def test_a_call_brings_the_answers_to_what_is_asked_before_the_task(screen: Screen) -> None:
    screen.server.tools["ask"] = FakeTool(asks_first={"go": form(**SURE)}, states=[completed("done")])

    assert await screen.call("go.sure=yes") is Exit.COMPLETED
    assert screen.server.params("tools/call")[1]["inputResponses"] == {"go": YES}


async def test_a_call_that_nobody_answers_starts_nothing_and_says_how_to_repeat_it(screen: Screen) -> None:
    screen.server.tools["ask"] = FakeTool(asks_first={"go": form("Deploy?", **SURE)}, result=tool_result("no"))

    assert await screen.call() is Exit.INPUT_REQUIRED
    assert screen.out.getvalue() == ""
    assert "mcptasks: ask asks before it starts" in screen.err.getvalue()
    assert "  $ mcptasks call ask ... --answer 'go.sure=yes|no'" in screen.err.getvalue()
    assert "  $ mcptasks call ask ... --decline go" in screen.err.getvalue()

    assert await screen.call(output=Output.JSON) is Exit.INPUT_REQUIRED
    shown = json.loads(screen.out.getvalue())
    assert shown["_meta"]["mcptasks.dev/answerWith"] == {"go": "mcptasks call ask --answer 'go.sure=yes|no'"}


async def test_a_task_is_shown_with_its_questions(screen: Screen) -> None:
    assert await commands.get(screen.session(), "mt-1") is Exit.COMPLETED
    assert "go: Deploy?" in screen.out.getvalue()
    assert await commands.result(screen.session(), "mt-1") is Exit.NOT_FINISHED
    assert "mcptasks questions mt-1" in screen.err.getvalue()


async def test_the_questions_of_a_task_are_listed(screen: Screen) -> None:
    assert await caller_answers.questions(screen.session(), "mt-1") is Exit.COMPLETED
    assert screen.out.getvalue().startswith("go: Deploy?\n")

    screen.out.truncate(screen.out.seek(0))
    await caller_answers.questions(screen.session(output=Output.JSON), "mt-1")
    assert json.loads(screen.out.getvalue()) == {
        "taskId": "mt-1",
        "questions": {
            "go": {
                "message": "Deploy?\nReally?",
                "requestedSchema": form(**SURE)["params"]["requestedSchema"],
                "answerWith": "mcptasks answer mt-1 go 'sure=yes|no'",
                "declineWith": "mcptasks answer mt-1 go --decline",
            }
        },
    }


@pytest.mark.parametrize("words", [["go", "sure=yes"], ["sure=yes"], ["go", "sure:=true"]])
async def test_a_question_is_answered(screen: Screen, words: list[str]) -> None:
    assert await screen.answer(*words) is Exit.COMPLETED

    assert screen.answers() == {"go": YES}
    assert screen.err.getvalue() == "Answered go: accept.\n"
    assert screen.out.getvalue() == ""


async def test_an_answer_that_was_given_is_a_json_document_where_that_is_wanted(screen: Screen) -> None:
    await screen.answer("go", "sure=yes", as_json=True)

    assert json.loads(screen.out.getvalue()) == {"taskId": "mt-1", "key": "go", "action": "accept"}


@pytest.mark.parametrize(("flag", "action"), [("declines", "decline"), ("cancels", "cancel")])
async def test_a_question_is_declined_or_put_away(screen: Screen, flag: str, action: str) -> None:
    assert await screen.answer(**{flag: True}) is Exit.COMPLETED
    assert screen.answers() == {"go": {"action": action}}


async def test_a_form_without_fields_is_accepted_in_so_many_words(screen: Screen) -> None:
    screen.server.tasks["mt-1"].states = [asking(go=form("Deploy?"))]

    assert await screen.answer("go") is Exit.INPUT_REQUIRED
    assert screen.answers() == {}
    assert await screen.answer("go", accepts=True) is Exit.COMPLETED
    assert screen.answers() == {"go": {"action": "accept", "content": {}}}


async def test_an_answer_without_a_key_is_for_the_only_question(screen: Screen) -> None:
    screen.server.tasks["mt-1"].states = [asking(a=form(**SURE), b=form(**SURE))]

    with pytest.raises(ArgumentsError, match="which question\\? a, b"):
        await screen.answer("sure=yes")
    assert await screen.answer("b", "sure=yes") is Exit.COMPLETED
    assert screen.answers() == {"b": YES}


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (["go", "sure"], {}),
        (["go", "sure=yes"], {"declines": True}),
        ([], {"declines": True, "cancels": True}),
        ([], {"accepts": True, "declines": True}),
    ],
)
async def test_an_answer_that_contradicts_itself_is_wrong_usage(
    screen: Screen, words: list[str], flags: dict[str, bool]
) -> None:
    with pytest.raises(ArgumentsError):
        await screen.answer(*words, **flags)


async def test_an_answer_that_the_form_does_not_take_is_not_sent(screen: Screen) -> None:
    with pytest.raises(ArgumentsError, match=r"go: sure: yes or no\?"):
        await screen.answer("go", "sure=perhaps")
    assert "tasks/update" not in screen.server.methods()


async def test_what_is_not_asked_cannot_be_answered(screen: Screen) -> None:
    with pytest.raises(NotAskedError, match=r"stop is not asked, or not any more: it asks go"):
        await screen.answer("stop", declines=True)
    screen.server.tasks["mt-1"].states = [state("working", statusMessage="waiting for approval by deployers")]
    with pytest.raises(NotAskedError, match="mcptasks answer --approver mt-1"):
        await screen.answer(declines=True)
    await caller_answers.questions(screen.session(), "mt-1")
    assert "asks its caller nothing" in screen.err.getvalue()


@pytest.mark.parametrize(
    "arguments",
    [
        ["call", "ask", "--answer", "x"],
        ["wait", "mt-1", "--answer", "go=1", "--decline", "go"],
        ["answer", "mt-1", "go", "--decline", "--cancel"],
        ["answer", "mt-1", "go", "--decline", "--reason", "no"],
        ["answer", "mt-1", "--approver", "--kubectl", "'"],
        ["approvals", "--kubectl", ""],
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str]) -> None:
    assert CliRunner().invoke(app, arguments).exit_code == 2
