"""docs/held-calls.md shows a handle and its companions as they are."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from mcptasks_crds import names
from mcptasks_crds.task import McpTask
from mcptasks_server.background import SURVIVES_SECONDS
from mcptasks_server.companions import with_companions
from mcptasks_server.dispatch import Services
from mcptasks_server.following import BEAT_SECONDS
from mcptasks_server.handles import HANDLE_META, HANDLE_SCHEMA, handle_result
from mcptasks_server.pages import PAGE_CHARACTERS
from mcptasks_server.tasks import IDEMPOTENCY_KEY
from mcptasks_server.testing import FixedCatalogue, InMemoryTaskStore

PAGE = "docs/held-calls.md"
TASK_ID = "mt-" + "a" * 32


def test_the_handle_on_the_page_is_what_a_model_reads(page: Callable[[str], Any]) -> None:
    progress = {"progress": 3, "display": "3/10", "message": "epoch 3"}
    task = McpTask.model_validate(
        {
            "metadata": {"name": TASK_ID},
            "spec": {"tool": {"name": "train"}},
            "status": {
                "phase": "Running",
                "report": {"progress": progress},
                "job": {"name": TASK_ID, "uid": "j", "podName": f"{TASK_ID}-x2b4c", "podUID": "p"},
            },
        }
    )

    handle = json.loads(handle_result(task))

    [shown] = page(PAGE).blocks("")
    assert handle["content"][0]["text"].replace(TASK_ID, "mt-...") == shown.strip()
    for name in HANDLE_SCHEMA["properties"]:
        assert f"`{name}`" in page(PAGE).section("The handle")
    assert handle["_meta"] == {HANDLE_META: TASK_ID}
    assert HANDLE_META in page(PAGE).section("The handle")


def test_the_table_of_companions_is_all_of_them_with_their_parameters(page: Callable[[str], Any]) -> None:
    services = Services(catalogue=FixedCatalogue(), tasks=InMemoryTaskStore(clock=lambda: datetime.now(UTC)))
    tools = with_companions(services, knows_callers=True).companions

    rows = [row["tool"] for row in page(PAGE).rows("tool")]

    assert rows == [f"{tool.name}({', '.join(tool.input_schema['properties'])})" for tool in tools]
    assert {tool.name for tool in tools} == set(names.COMPANION_TOOLS)


def test_its_numbers_are_the_servers(page: Callable[[str], Any]) -> None:
    text = page(PAGE).text

    assert f"{PAGE_CHARACTERS:,} characters" in text
    assert f"for {SURVIVES_SECONDS:g} seconds" in text
    assert f"every {BEAT_SECONDS:g} seconds" in text
    assert IDEMPOTENCY_KEY in text
