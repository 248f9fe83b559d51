"""The CI pipeline: it runs real tests of this project, in a process of its own."""

import json
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from mcptasks_crds.schemas import Schema
from mcptasks_crds.tool import McpTool

PROGRAM = Path(__file__).parents[3] / "examples" / "programs" / "run_tests.py"
PASSING = "tests/unit/client/test_polling.py"


def test_tests_that_pass_give_the_summary_that_the_tool_promises(run: Any, tool: Callable[[str], McpTool]) -> None:
    schema = tool("run-tests").spec.output_schema
    assert schema is not None

    ended = run("run_tests.py", environment={"ARG_SELECTION": PASSING})

    found = json.loads(ended.result)
    assert ended.code == 0
    assert Schema(schema).violation(found) is None
    assert found["passed"] == 7
    assert found["exitCode"] == found["failed"] == found["errors"] == 0
    assert "passed in" in ended.log


def test_tests_that_fail_are_named_and_make_the_call_a_tool_error(run: Any) -> None:
    ended = run("run_tests.py", environment={"ARG_SELECTION": "examples/failing"})

    assert ended.code == 1
    first, *failures = ended.result.splitlines()
    assert first.startswith("1 passed, 1 failed in ")
    assert failures == [
        "examples/failing/test_red_build.py::test_a_pipeline_that_is_broken_says_what_broke: "
        "AssertionError: one parcel is missing"
    ]


def test_the_tests_know_nothing_of_the_task_that_runs_them(run: Any) -> None:
    task = {"MCPTASK_URL": "http://127.0.0.1:1/v1/tasks/mt-x", "MCPTASK_ID": "mt-x", "ARG_OTHER": "x"}
    selection = "tests/unit/job/test_run.py::test_the_pods_environment_is_the_documented_one"

    assert run("run_tests.py", environment={**task, "ARG_SELECTION": selection}).code == 0


def test_a_file_that_is_not_there_is_a_tool_error(run: Any) -> None:
    ended = run("run_tests.py", environment={"ARG_SELECTION": "examples/failing/none.py"})

    assert ended.code == 4
    assert ended.result


@pytest.mark.parametrize(
    ("selection", "last"),
    [
        ("", ["tests/unit"]),
        ("tests/unit", ["tests/unit"]),
        ("tests/unit/a.py::test[x y]", ["tests/unit/a.py::test[x y]"]),
        ("examples/failing", ["examples/failing"]),
        ("polling and not retries", ["-kpolling and not retries", "tests/unit"]),
        ("--co", ["-k--co", "tests/unit"]),
        ("; id", ["-k; id", "tests/unit"]),
        ("tests/unit/../cluster", ["-ktests/unit/../cluster", "tests/unit"]),
        ("tests/cluster", ["-ktests/cluster", "tests/unit"]),
    ],
)
def test_a_selection_is_a_path_to_tests_or_an_expression_and_never_an_option(selection: str, last: list[str]) -> None:
    arguments = run_path(str(PROGRAM))["pytest_arguments"](selection)

    assert arguments[-len(last) :] == last
    assert arguments[-len(last) - 1] == "-q"
