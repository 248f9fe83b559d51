"""docs/tools.md says of a tool what the code does."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from pydantic.fields import FieldInfo

from mcptasks_crds import arguments, limits, names
from mcptasks_crds.forms import check_form_schema, violation_of_answer
from mcptasks_crds.metadata import Metadata
from mcptasks_crds.policy import TaskSupport, WithoutTasks
from mcptasks_crds.questions import ToolQuestion, as_asked
from mcptasks_crds.task import McpTask, TaskSpec, ToolReference
from mcptasks_crds.tool import McpTool, ToolSpec
from mcptasks_operator import conditions
from mcptasks_operator.jobs import render
from mcptasks_operator.observe import MAX_MESSAGE_BYTES
from mcptasks_operator.tool_checks import ToolFault, environment_gap, tool_problems

PAGE = "docs/tools.md"
EXAMPLES = ["count-words", "describe-numbers", "factor"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_a_whole_tool_that_nothing_is_wrong_with(
    name: str, documented_tools: dict[str, Any], as_stored: Callable[[dict[str, Any]], McpTool]
) -> None:
    tool = as_stored(documented_tools[name])

    assert tool_problems(tool) == ()
    assert environment_gap(tool) is None
    assert documented_tools[name]["spec"].keys() <= {field.alias for field in ToolSpec.model_fields.values()}


def test_the_examples_are_those_that_are_tried_on_a_cluster(documented_tools: dict[str, Any]) -> None:
    assert list(documented_tools) == EXAMPLES


def test_every_yaml_block_is_yaml(page: Callable[[str], Any]) -> None:
    assert all(isinstance(yaml.safe_load(block), dict) for block in page(PAGE).blocks("yaml"))


def test_the_table_of_fields_is_the_model(page: Callable[[str], Any]) -> None:
    rows = {row["field"]: row for row in page(PAGE).rows("field")}

    assert list(rows) == [field.alias for field in ToolSpec.model_fields.values()]
    for field in ToolSpec.model_fields.values():
        row = rows[str(field.alias)]
        if isinstance(field.default, int):
            assert row["default"] == str(field.default)
            assert row["allowed"] == f"{bound(field, 'ge')} to {bound(field, 'le')}"
        else:
            assert (row["default"] == "required") == field.is_required()


def test_the_table_of_a_questions_fields_is_the_model(page: Callable[[str], Any]) -> None:
    rows = {row["of a question"]: row["default"] for row in page(PAGE).rows("of a question")}

    assert list(rows) == [field.alias for field in ToolQuestion.model_fields.values()]
    for field in ToolQuestion.model_fields.values():
        default = "required" if field.is_required() else str(field.default).lower()
        assert rows[str(field.alias)].split()[0] == default


def test_the_question_on_the_page_is_one_that_clients_can_show(page: Callable[[str], Any]) -> None:
    (block,) = [block for block in page(PAGE).blocks("yaml") if block.startswith("questions:")]
    (question,) = (ToolQuestion.model_validate(each) for each in yaml.safe_load(block)["questions"])

    assert check_form_schema(question.requested_schema) is None
    (shown,) = page(PAGE).blocks("json")
    (kept,) = as_asked([question]).values()
    assert violation_of_answer(kept.requested_schema, json.dumps(json.loads(shown)[question.key])) is None


def test_what_a_tool_may_say_of_tasks_is_all_on_the_page(page: Callable[[str], Any]) -> None:
    rows = {row["field"]: row["allowed"] for row in page(PAGE).rows("field")}

    assert rows["taskSupport"] == ", ".join(TaskSupport)
    assert rows["withoutTasks"] == ", ".join(WithoutTasks)
    assert rows["questions"] == f"up to {limits.MAX_TOOL_QUESTIONS}"
    assert all(f"`{name}`" in page(PAGE).section("With tasks and without") for name in names.COMPANION_TOOLS)


def bound(field: FieldInfo, name: str) -> Any:
    return next(value for each in field.metadata if (value := getattr(each, name, None)) is not None)


@pytest.mark.parametrize(
    ("what", "most"),
    [
        ("all arguments of a call, as JSON", limits.ARGUMENTS_BYTES),
        ("arguments that stand in the McpTask", limits.ARGUMENTS_INLINE_BYTES),
        ("the value of one variable", arguments.MAX_VALUE_BYTES),
        ("$MCPTASK_RESULT", MAX_MESSAGE_BYTES),
        ("what is kept of the log", limits.LOG_TAIL_STORED_BYTES),
        ("a result by file or log", limits.RESULT_STORED_BYTES),
        ("a result over the task endpoint", limits.LARGE_RESULT_BYTES),
    ],
)
def test_a_size_is_the_codes_own(what: str, most: int, page: Callable[[str], Any]) -> None:
    rows = {row["what"]: row["at most"] for row in size_rows(page)}

    mebibytes, rest = divmod(most, 1024 * limits.KIB)
    assert rows[what] == (f"{most // limits.KIB} KiB" if rest else f"{mebibytes} MiB")
    assert len(rows) == 7


def size_rows(page: Callable[[str], Any]) -> list[dict[str, str]]:
    here = page(PAGE)
    return type(here)(path=here.path, text=here.section("Sizes")).rows("what")  # type: ignore[no-any-return]


def test_the_reasons_of_a_tool_that_is_not_ready_are_all_there(page: Callable[[str], Any]) -> None:
    listed = [row["reason"] for row in page(PAGE).rows("reason")]

    assert set(listed) == {*ToolFault, conditions.ACCEPTED, conditions.UNTRIED, conditions.JOB_REJECTED}
    assert len(listed) == len(set(listed))


def test_the_pod_on_the_page_is_the_pod_that_is_made(
    page: Callable[[str], Any],
    documented_tools: dict[str, Any],
    as_stored: Callable[[dict[str, Any]], McpTool],
) -> None:
    (shown,) = [block for block in page(PAGE).blocks("yaml") if block.startswith("# the pod of factor")]
    task = McpTask(
        metadata=Metadata(name="mt-example", namespace="n", uid="task-uid"),
        spec=TaskSpec(tool=ToolReference(name="factor"), arguments='{"number": 60}'),
    )

    job = render(task, as_stored(documented_tools["factor"]))

    assert yaml.safe_load(shown) == job["spec"]["template"]
