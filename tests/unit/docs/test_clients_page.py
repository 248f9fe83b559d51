"""docs/clients.md says of the command line and of the wire what the code does."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from multidict import CIMultiDict

from mcptasks.cli.app import app
from mcptasks.cli.exits import Exit
from mcptasks.cli.options import DEFAULT_SERVER
from mcptasks_server import errors
from mcptasks_server.era import SUPPORTED_VERSIONS, TASKS_EXTENSION, envelope_of
from mcptasks_server.headers import Headers
from mcptasks_server.jsonrpc import Message, parse
from mcptasks_server.modern.table import METHODS as MODERN
from mcptasks_server.settings import settings_from
from mcptasks_server.tasks import TaskNotFoundError

PAGE = "docs/clients.md"


def test_the_verbs_are_the_command_lines_own(page: Callable[[str], Any]) -> None:
    verbs = [row["verb"].split()[0] for row in page(PAGE).rows("verb")]
    commands = [command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands]

    assert sorted(verbs) == sorted(commands)
    assert DEFAULT_SERVER in page(PAGE).prose()


def test_the_exit_codes_are_the_command_lines_own(page: Callable[[str], Any]) -> None:
    assert [int(row["exit code"]) for row in page(PAGE).rows("exit code")] == sorted(Exit)


def test_the_methods_are_the_servers_own(page: Callable[[str], Any]) -> None:
    (line,) = re.findall(r"^- The methods are (.*)\.$", page(PAGE).prose(), re.MULTILINE)

    assert set(re.findall(r"`([^`]+)`", line)) == set(MODERN)


def test_the_errors_are_those_that_a_client_can_get(page: Callable[[str], Any]) -> None:
    listed = [(int(row["code"]), int(row["HTTP"])) for row in page(PAGE).rows("code")]

    assert len(listed) == len(set(listed))
    modern = [each for each in kinds_of(errors.RpcError) if not each.__module__.startswith("mcptasks_server.legacy")]
    assert set(listed) == {(each.code, int(each.status)) for each in modern}


def kinds_of(kind: type[errors.RpcError]) -> Iterator[type[errors.RpcError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from kinds_of(each)


def test_an_unknown_task_is_among_the_errors() -> None:
    assert (TaskNotFoundError.code, int(TaskNotFoundError.status)) == (-32602, 200)


def test_the_call_by_curl_is_one_that_the_server_takes(page: Callable[[str], Any]) -> None:
    (command,) = page(PAGE).blocks("sh")
    headers: Headers = CIMultiDict(re.findall(r"--header '([^:]+): ([^']+)'", command))
    (body,) = re.findall(r"--data '([^']+)'", command)

    message = parse(body.encode())
    assert isinstance(message, Message)
    envelope = envelope_of(message, headers)

    assert envelope.declares_tasks
    assert envelope.version in SUPPORTED_VERSIONS


def test_the_answer_on_the_page_is_a_task(page: Callable[[str], Any]) -> None:
    (answer,) = map(json.loads, page(PAGE).blocks("json"))

    assert answer["result"]["resultType"] == "task"
    assert answer["result"]["status"] == "working"


def test_the_program_on_the_page_is_python(page: Callable[[str], Any]) -> None:
    (program,) = page(PAGE).blocks("python")

    compile(program, PAGE, "exec")


@pytest.mark.parametrize("name", [TASKS_EXTENSION, *SUPPORTED_VERSIONS])
def test_the_protocols_names_are_on_the_page(name: str, page: Callable[[str], Any]) -> None:
    assert name in page(PAGE).prose()


def test_the_largest_request_is_the_default(page: Callable[[str], Any]) -> None:
    assert settings_from({}).max_body_bytes == 1_048_576
    assert "server.maxBodyBytes" in page(PAGE).prose()
