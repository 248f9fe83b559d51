"""What the pages for users show was really run: their tools, their commands, their programs."""

import asyncio
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from mcptasks import TasksClient
from mcptasks.models import CompletedTask
from mcptasks_crds.kube import Kube
from mcptasks_devcluster.programs import program
from mcptasks_devcluster.services import Services

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

DOCUMENTED_URL: Final = "http://127.0.0.1:8080/mcp"
COMMAND_SECONDS: Final = 90
TASK_ID: Final = r"mt-[a-z2-7]{32}"

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


@pytest.fixture
async def deployable(
    make_tools: Callable[..., Awaitable[None]], kube: Kube, namespace: str, blocks: Blocks, image: str
) -> None:
    """The tool of docs/approvals.md, and the rights of its approvers."""
    tool, rights = blocks("docs/approvals.md", "yaml")
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    for manifest, kind in zip(yaml.safe_load_all(rights), ("roles", "rolebindings"), strict=True):
        await kube.request("POST", f"{rbac}/{kind}", body=manifest)
    await make_tools(with_image(yaml.safe_load(tool), image))


@pytest.fixture
def as_approver(kubeconfig: Path, namespace: str, tmp_path: Path) -> Path:
    """A folder with a `kubectl` that somebody is logged in by, as an approver of docs/approvals.md."""
    login = ["--kubeconfig", str(kubeconfig), "--namespace", namespace]
    login += ["--as", "alice@example.com", "--as-group", "deployers"]
    wrapper = tmp_path / "kubectl"
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join([program("kubectl"), *login])} "$@"\n')
    wrapper.chmod(0o755)
    return tmp_path


async def test_questions_are_shown_and_answered_as_the_clients_page_shows(
    deployable: None, running: Services, blocks: Blocks
) -> None:
    (block,) = blocks("docs/clients.md", "console")

    printed = await run_shell(f"exec 2>&1\n{commands(block)}", running)

    varying = rf"{TASK_ID}|(?<=until: )\S+"
    assert re.sub(varying, "...", printed) == re.sub(varying, "...", output(block))


async def test_approvers_answer_as_the_approvals_page_shows(
    deployable: None, running: Services, blocks: Blocks, as_approver: Path
) -> None:
    """Each command that answers, for a task of its own; all at once, for each waits for its pod."""
    shown = re.split(r"\n(?=mcptasks|kubectl)", "".join(blocks("docs/approvals.md", "sh")).strip())
    answers = [each for each in shown if re.search(r"window|decline", each)]
    others = [each for each in shown if each not in answers]

    async def waiting() -> str:
        task = (await run_shell("mcptasks call deploy-site --argument version=7 --no-wait", running)).strip()
        phase = f"kubectl get mcptask {task} --output jsonpath='{{.status.phase}}'"
        await run_shell(f"until {phase} | grep -q InputRequired; do sleep 1; done", running, first=as_approver)
        return task

    async def answered(task: str, command: str) -> str:
        await run_shell(command.replace("ID", task), running, first=as_approver)
        return await run_shell(f"mcptasks wait {task} --quiet", running)

    tasks = await asyncio.gather(*(waiting() for _ in answers))
    seen = await run_shell("\n".join(others).replace("ID", tasks[0]), running, first=as_approver)
    ended = await asyncio.gather(*map(answered, tasks, answers))

    assert (len(answers), len(others)) == (4, 5)
    rows = re.findall(rf"^{TASK_ID} .* deployers, alice@example.com +yes .*Deploy to production\?$", seen, re.MULTILINE)
    assert len(rows) == len(tasks)
    assert len(re.findall("^approve: Deploy to production", seen, re.MULTILINE)) == 2
    declined = "declined by alice@example.com: not on a Friday (approve)\n"
    assert ended == ["deployed 7 tonight\n", declined] * 2


async def run_shell(script: str, running: Services, *, first: Path | None = None) -> str:
    """What a shell prints that runs the commands, with the command line of this environment on its path."""
    folders = [str(first or ""), str(Path(sys.executable).parent), os.environ["PATH"]]
    path = os.pathsep.join(filter(None, folders))
    process = await asyncio.create_subprocess_exec(
        "sh",
        "-c",
        script,
        env={**os.environ, "PATH": path, "MCPTASKS_SERVER": running.url},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await asyncio.wait_for(process.communicate(), COMMAND_SECONDS)
    return printed.decode()
