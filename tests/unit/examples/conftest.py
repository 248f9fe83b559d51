"""The example tools' programs, run as a pod runs them: arguments by environment, the result in a file."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from mcptasks_crds.tool import McpTool

OUTSIDE: Final = {name: value for name, value in os.environ.items() if not name.startswith(("ARG_", "MCPTASK_"))}
"""The tests may run in a task's pod themselves, whose endpoint is not theirs."""
EXAMPLES: Final = Path(__file__).parents[3] / "examples"


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it handed in."""

    code: int
    result: str
    log: str


Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a program of the examples with arguments on its command line and in its environment."""

    def run_program(program: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Ended:
        result = tmp_path / "result"
        result.unlink(missing_ok=True)
        ended = subprocess.run(
            [sys.executable, EXAMPLES / "programs" / program, *arguments],
            env={**OUTSIDE, "MCPTASK_RESULT": str(result), "TMPDIR": str(tmp_path), **(environment or {})},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return Ended(ended.returncode, result.read_text("utf-8") if result.exists() else "", ended.stdout)

    return run_program


@pytest.fixture
def tool() -> Callable[[str], McpTool]:
    """Reads one of the examples' tools."""

    def read(name: str) -> McpTool:
        manifest: Any = yaml.safe_load((EXAMPLES / "tools" / f"{name}.yaml").read_text("utf-8"))
        return McpTool.model_validate(manifest)

    return read
