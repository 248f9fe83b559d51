"""A task's result, put together of the parts that its pod added and of the result itself."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_crds.outcomes import join_arrays, result_text, with_parts
from mcptasks_crds.task import Report, TaskResult, TaskStatus

VALUES = st.lists(st.none() | st.integers() | st.text(max_size=5), max_size=4)


@given(VALUES, VALUES)
def test_arrays_are_joined_in_order(first: list[object], second: list[object]) -> None:
    assert json.loads(join_arrays(json.dumps(first), f" {json.dumps(second, indent=1)} ")) == first + second


def test_each_part_stays_as_it_was_written() -> None:
    text = with_parts('{"isError": false, "content": [{"n": 1.0}], "structuredContent": {"a": null}}', '[{"n": 1e2}]')

    assert text == '{"isError":false,"content":[{"n": 1e2},{"n": 1.0}],"structuredContent":{"a": null}}'


@pytest.mark.parametrize("result", ["nonsense", "[]", '{"content": "x"}', ""])
def test_a_result_that_cannot_be_read_is_given_as_it_is(result: str) -> None:
    assert with_parts(result, "[1]") == result


def test_parts_come_before_a_result_without_content() -> None:
    assert with_parts('{"isError": true}', "[1]") == '{"isError":true,"content":[1]}'


@pytest.mark.parametrize(
    ("result", "report", "text"),
    [
        (None, Report(content="[1]"), None),
        (TaskResult(inline='{"content":[2]}'), None, '{"content":[2]}'),
        (TaskResult(inline='{"content":[2]}'), Report(content="[1]"), '{"content":[1,2]}'),
        (TaskResult(source="report"), Report(content="[1]", result='{"content":[2]}'), '{"content":[1,2]}'),
        (TaskResult(source="report"), Report(result='{"content" : [2]}'), '{"content" : [2]}'),
        (TaskResult(source="report"), None, None),
        (TaskResult(source="report"), Report(content="[1]"), None),
    ],
)
def test_the_result_is_where_the_task_says(result: TaskResult | None, report: Report | None, text: str | None) -> None:
    assert result_text(TaskStatus(result=result, report=report)) == text
