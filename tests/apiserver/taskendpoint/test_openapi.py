"""The endpoint does what its own OpenAPI document says: tried by schemathesis, which generates requests of it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mcptasks_devcluster import pythonenvs

pytestmark = [pytest.mark.apiserver, pytest.mark.slow, pytest.mark.timeout(400)]

PINS = Path(__file__).parents[3] / "tests" / "clients" / "schemathesis"
EXAMPLES = 40
NOT_SAID = (
    # No schema can say that `total` is at least `progress`, or that 64 questions are enough.
    "positive_data_acceptance",
    # Nothing here is made and removed again.
    "use_after_free",
    "ensure_resource_availability",
)


@pytest.mark.parametrize("filters", [["--exclude-path-regex", "result$"], ["--include-path-regex", "result$"]])
async def test_whatever_is_sent_the_answer_is_one_that_is_documented(
    filters: list[str], rig: Any, replica: Any, tmp_path: Path
) -> None:
    """The result apart: once it is given, a task takes nothing else."""
    schemathesis = await asyncio.to_thread(pythonenvs.install, PINS)
    task, pod = await rig.running()
    config = tmp_path / "schemathesis.toml"
    config.write_text(f'[parameters]\n"path.task" = "{task}"\n"query.wait" = 0\n')
    process = await asyncio.create_subprocess_exec(
        schemathesis.path / "bin" / "st",
        *("--config-file", str(config), "run", f"{replica.url}/v1/openapi.json"),
        *("--header", f"Authorization: Bearer {pod.token}", "--phases", "examples,coverage,fuzzing"),
        *("--checks", "all", "--exclude-checks", ",".join(NOT_SAID), "--max-examples", str(EXAMPLES), "--no-color"),
        *filters,
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()

    assert process.returncode == 0, output.decode()
