"""What the pages for users show was really run: their tools, their commands, their programs."""

import asyncio
import json
import os
import re
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import pytest

from mcptasks import TasksClient
from mcptasks.models import CompletedTask
from mcptasks_devcluster.services import Services

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

DOCUMENTED_URL: Final = "http://127.0.0.1:8080/mcp"
COMMAND_SECONDS: Final = 90

Blocks = Callable[[str, str], list[str]]


@pytest.fixture
async def offered(
    make_tools: Callable[..., Awaitable[None]], documented_tools: list[dict[str, Any]], image: str
) -> None:
    """The tools of docs/tools.md, in our image: any other one would have to be pulled."""
    await make_tools(*(with_image(manifest, image) for manifest in documented_tools))


def with_image(manifest: dict[str, Any], image: str) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(manifest))
    for container in copy["spec"]["job"]["template"]["spec"]["containers"]:
        container |= {"image": image, "imagePullPolicy": "IfNotPresent"}
    return copy


async def test_the_commands_of_the_tools_page_print_what_the_page_shows(
    offered: None, running: Services, blocks: Blocks
) -> None:
    shown = blocks("docs/tools.md", "console")
    printed = await asyncio.gather(*(run_shell(commands(block), running) for block in shown))

    assert [text.split() for text in printed] == [output(block).split() for block in shown]
    assert len(shown) == 3


def commands(block: str) -> str:
    return "\n".join(re.findall(r"^\$ (.*)$", block, re.MULTILINE))


def output(block: str) -> str:
    return re.sub(r"^\$ .*\n", "", block, flags=re.MULTILINE)


async def test_the_python_program_of_the_clients_page_prints_what_the_page_says(
    offered: None, running: Services, blocks: Blocks, tmp_path: Path
) -> None:
    (program,) = blocks("docs/clients.md", "python")
    file = tmp_path / "program.py"
    file.write_text(program.replace(DOCUMENTED_URL, running.url))

    assert DOCUMENTED_URL in program
    assert (await run_shell(f"'{sys.executable}' '{file}'", running)).strip() == "completed 91: 7 13"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
async def test_the_call_by_curl_makes_a_task_that_ends(offered: None, running: Services, blocks: Blocks) -> None:
    (command,) = blocks("docs/clients.md", "sh")

    answer = json.loads(await run_shell(command.replace(DOCUMENTED_URL, running.url), running))

    (shown,) = map(json.loads, blocks("docs/clients.md", "json"))
    assert answer["result"].keys() == shown["result"].keys()
    async with TasksClient(running.url) as client:
        ended = await client.wait_for_task(answer["result"]["taskId"], timeout_seconds=COMMAND_SECONDS)
    assert isinstance(ended, CompletedTask)
    assert ended.result.text == "91: 7 13\n"


async def run_shell(script: str, running: Services) -> str:
    """What a shell prints that runs the commands, with the command line of this environment on its path."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    process = await asyncio.create_subprocess_exec(
        "sh",
        "-c",
        script,
        env={**os.environ, "PATH": path, "MCPTASKS_SERVER": running.url},
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await asyncio.wait_for(process.communicate(), COMMAND_SECONDS)
    return printed.decode()
