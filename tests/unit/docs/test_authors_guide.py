"""docs/authors-guide.md: what needs no cluster is done as the page says. The rest is in tests/cluster/job."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from mcptasks_crds.phases import Phase
from mcptasks_crds.tool import McpTool
from mcptasks_operator.tool_checks import tool_problems

PAGE: Final = "docs/authors-guide.md"
SECONDS: Final = 60.0


@pytest.fixture
def folder(page: Callable[[str], Any], tmp_path: Path) -> Path:
    """The author's folder, with the page's files in it."""
    for language in ("python", "yaml"):
        (block,) = page(PAGE).blocks(language)
        name = re.match(r"# (\S+)\n", block)
        assert name is not None
        (tmp_path / name[1]).write_text(block, "utf-8")
    return tmp_path


def commands(block: str) -> str:
    return "\n".join(re.findall(r"^\$ (.*)$", block, re.MULTILINE))


def output(block: str) -> str:
    return re.sub(r"^\$ .*\n", "", block, flags=re.MULTILINE)


def test_the_commands_that_need_no_cluster_print_what_the_page_shows(page: Callable[[str], Any], folder: Path) -> None:
    shown = [block for block in page(PAGE).blocks("console") if "kubectl" not in block and "mcptasks call" not in block]
    local = [block for block in shown if "mcptasks.job.run" in block]
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))

    for block in local:
        ended = subprocess.run(
            ["sh", "-c", commands(block)],
            cwd=folder,
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            input="",
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert ended.stdout == output(block)
    assert len(local) == 3


def test_the_tool_of_the_page_is_one(page: Callable[[str], Any], folder: Path) -> None:
    tool = McpTool.model_validate(yaml.safe_load((folder / "tool.yaml").read_text("utf-8")))

    assert tool_problems(tool) == ()
    pod = tool.spec.job.template["spec"]
    assert pod["volumes"][0]["configMap"]["name"] == tool.metadata.name


def test_the_phases_of_the_page_are_the_operators_own(page: Callable[[str], Any]) -> None:
    text = page(PAGE).text

    assert {Phase.INPUT_REQUIRED, Phase.CANCELLED} <= {phase for phase in Phase if f"\n{phase}\n" in text}
