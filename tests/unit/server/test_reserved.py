"""A tool cannot pass its result off as a task's handle, or as the server's own word."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from mcptasks_crds.task import McpTask
from mcptasks_server.ending import outcome_of
from mcptasks_server.handles import HANDLE_META
from mcptasks_server.legacy.projection import RELATED_TASK, call_result
from mcptasks_server.projection import detailed_task
from mcptasks_server.reserved import without_reserved

CLAIMS = {
    HANDLE_META: "mt-anothers",
    RELATED_TASK: {"taskId": "mt-anothers"},
    "io.modelcontextprotocol/serverInfo": {"name": "another"},
}


def finished(result: str) -> McpTask:
    return McpTask.model_validate(
        {
            "metadata": {"name": "mt-own", "creationTimestamp": datetime.now(UTC)},
            "spec": {"tool": {"name": "t"}, "arguments": "{}"},
            "status": {"phase": "Completed", "result": {"inline": result}},
        }
    )


def given(**meta: Any) -> str:
    return json.dumps({"content": [], "_meta": meta})


@pytest.mark.parametrize(("name", "value"), CLAIMS.items(), ids=list(CLAIMS))
def test_no_door_shows_what_a_result_claims_under_a_reserved_name(name: str, value: Any) -> None:
    task = finished(given(**{name: value, "com.example/mine": 1}))

    shown: list[Mapping[str, Any]] = [
        json.loads(detailed_task(task).result),  # type: ignore[union-attr]
        json.loads(outcome_of(task)),
    ]
    assert [each["_meta"] for each in shown] == [{"com.example/mine": 1}] * 2
    of_task = json.loads(orjson.dumps(call_result(outcome_of(task), task_id="mt-own")))
    assert of_task["_meta"] == {"com.example/mine": 1, RELATED_TASK: {"taskId": "mt-own"}}


@pytest.mark.parametrize(
    "result",
    [
        '{"content" : [ ], "_meta": {"com.example/n": 1.0, "ui/resourceUri": "x"}}',
        '{"content": [{"type": "text", "text": "_meta mcptasks.dev/task \\u0041"}]}',
        '{"content": [], "_meta": 5}',
        '{"content": [], "_meta": {}, "_meta": {"mcptasks.dev/task": "x"}}',
        "[]",
    ],
)
def test_every_other_result_stays_to_the_byte(result: str) -> None:
    assert without_reserved(result) == result


def test_an_escaped_name_is_the_name() -> None:
    result = '{"content":[],"\\u005fmeta":{"\\u006dcptasks.dev/task":"x"},"structuredContent":{"n":1.0}}'

    assert without_reserved(result) == '{"content":[],"_meta":{},"structuredContent":{"n":1.0}}'
