"""docs/task-endpoint.md: its shell function works as it stands there."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

PAGE: Final = "docs/task-endpoint.md"
SECONDS: Final = 30.0


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_shell_function_of_the_page_tells_progress(page: Callable[[str], Any], tmp_path: Path) -> None:
    (script,) = page(PAGE).blocks("sh")
    tool = tmp_path / "tool.sh"
    tool.write_text(f"set -eu\n{script}", "utf-8")

    ended = subprocess.run(
        [sys.executable, "-m", "mcptasks.job.run", tool.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        input="",
    )

    assert ended.returncode == 0, ended.stderr
    assert "[3 of 10] epoch 3" in ended.stderr
