"""The OpenAPI document and the page for people say what the code does."""

import re
from pathlib import Path
from typing import Any

import aiohttp

from mcptasks_crds import limits
from mcptasks_server.taskendpoint import problems
from mcptasks_server.taskendpoint.endpoint import OPENAPI_PATH
from mcptasks_server.taskendpoint.openapi import document

PAGE = (Path(__file__).parents[4] / "docs" / "task-endpoint.md").read_text()


def operations() -> dict[str, Any]:
    return {
        f"{method} {path}": operation
        for path, item in document()["paths"].items()
        for method, operation in item.items()
        if method != "parameters"
    }


async def test_the_document_is_shown_to_everybody(url: str, session: aiohttp.ClientSession) -> None:
    async with session.get(f"{url}{OPENAPI_PATH}") as response:
        shown = await response.json()

    assert shown == document()
    assert shown["openapi"] == "3.1.0"


def test_every_reference_leads_somewhere() -> None:
    found = document()
    names = set(re.findall(r"#/components/schemas/(\w+)", str(found)))

    assert names == set(found["components"]["schemas"])


def test_every_operation_has_a_name_of_its_own_and_says_how_it_can_fail() -> None:
    ids = [operation["operationId"] for operation in operations().values()]
    statuses = {str(int(kind.status)) for kind in problems.Problem.__subclasses__()} - {"405"} | {"500"}

    assert len(ids) == len(set(ids))
    assert statuses == {
        status for operation in operations().values() for status in operation["responses"] if status >= "400"
    }


def test_the_page_names_every_status() -> None:
    rows = set(re.findall(r"^\| (\d{3}) \|", PAGE, re.MULTILINE))

    assert rows == {status for each in operations().values() for status in each["responses"] if status >= "400"}


def test_the_page_says_where_results_of_which_size_are() -> None:
    where = PAGE.partition("## Large results")[2].partition("\n## ")[0]

    assert f"up to {limits.RESULT_STORED_BYTES // 1024} KiB as stored" in where
    assert f"up to {limits.LARGE_RESULT_BYTES // 1024**2} MiB of UTF-8" in where
    assert f"parts beyond {limits.CONTENT_INLINE_STORED_BYTES // 1024} KiB" in where
    assert f"{limits.REFUSED_END_STORED_BYTES} bytes each" in where


def test_the_page_names_the_limits() -> None:
    rows = dict(re.findall(r"^\| ([a-z' ]+) \| (.*) \|$", PAGE.partition("## Limits")[2], re.MULTILINE))

    assert rows == {
        "what": "most",
        "result and parts together": f"{limits.LARGE_RESULT_BYTES // 1024**2} MiB of UTF-8",
        "times that parts are added": str(limits.MAX_CONTENT_POSTS),
        "questions of a task": (
            f"{limits.MAX_QUESTIONS}, together {limits.QUESTIONS_STORED_BYTES // 1024} KiB as stored"
        ),
        "one question's message": f"{limits.QUESTION_MESSAGE_STORED_BYTES // 1024} KiB as stored",
        "one question's schema": f"{limits.QUESTION_SCHEMA_STORED_BYTES // 1024} KiB as stored",
        "a progress message": (f"{limits.PROGRESS_MESSAGE_STORED_BYTES // 1024} KiB as stored; a longer one is cut"),
    }
