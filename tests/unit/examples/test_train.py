"""The training run: its progress, its figures, its picture."""

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcptasks.job.standin import Desk, StandIn
from mcptasks_crds.schemas import Schema
from mcptasks_crds.tool import McpTool


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    """The task's endpoint."""
    arguments = '{"epochs": 4, "points": 100, "hidden": 4}'
    (tmp_path / "arguments.json").write_text(arguments)
    found = StandIn(Desk(task_id="mt-x", tool="train-classifier", arguments=arguments), directory=tmp_path)
    with found.serving():
        yield found


@pytest.fixture
def environment(stand_in: StandIn, tmp_path: Path) -> dict[str, str]:
    return {**stand_in.environment(), "MCPTASK_ARGUMENTS": str(tmp_path / "arguments.json")}


def test_it_tells_each_epoch_and_gives_figures_and_a_picture(
    run: Any, stand_in: StandIn, environment: dict[str, str], tool: Callable[[str], McpTool]
) -> None:
    ended = run("train.py", environment=environment)

    assert (ended.code, ended.log) == (0, "")
    last = stand_in.desk.progress[-1]
    assert (last["progress"], last["total"]) == (4, 4)
    assert last["message"].startswith("epoch 4: loss 0.")
    result = stand_in.desk.whole_result
    assert result is not None
    schema = tool("train-classifier").spec.output_schema
    assert schema is not None
    assert Schema(schema).violation(result["structuredContent"]) is None
    text, picture = result["content"]
    assert "of 100 points are told right after 4 epochs" in text["text"]
    assert base64.b64decode(picture["data"]).startswith(b"<svg")


def test_the_same_seed_gives_the_same_figures_and_more_epochs_better_ones(
    run: Any, stand_in: StandIn, environment: dict[str, str], tmp_path: Path
) -> None:
    def trained(arguments: str) -> Any:
        (tmp_path / "arguments.json").write_text(arguments)
        stand_in.desk.result = None
        assert run("train.py", environment=environment).code == 0
        return stand_in.desk.result["structuredContent"]  # type: ignore[index]  # it is there again

    short = trained('{"epochs": 1, "points": 200}')

    assert trained('{"epochs": 1, "points": 200}') == short
    assert trained('{"epochs": 30, "points": 200}')["loss"] < short["loss"]
