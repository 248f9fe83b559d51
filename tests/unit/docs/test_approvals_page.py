"""docs/approvals.md shows a tool that is taken, and patches that are the command line's own."""

import json
import re
from collections.abc import Callable
from typing import Any

import yaml

from mcptasks.cli.approving.objects import patch_of
from mcptasks_crds.forms import check_form_schema, violation_of_answer
from mcptasks_crds.questions import AnsweredBy
from mcptasks_crds.tool import McpTool
from mcptasks_operator.tool_checks import tool_problems

PAGE = "docs/approvals.md"


def tool(page: Callable[[str], Any]) -> McpTool:
    found = [yaml.safe_load(block) for block in page(PAGE).blocks("yaml") if "kind: McpTool" in block]
    return McpTool.model_validate(found[0])


def test_the_tool_asks_a_form_that_clients_can_show(page: Callable[[str], Any]) -> None:
    (question,) = tool(page).spec.questions

    assert check_form_schema(question.requested_schema) is None
    assert tool_problems(tool(page)) == ()


def test_the_patches_are_answers_to_its_question_as_the_command_line_gives_them(page: Callable[[str], Any]) -> None:
    (question,) = tool(page).spec.questions
    commands = "".join(page(PAGE).blocks("sh"))
    patches = [json.loads(text) for text in re.findall(r"--patch \\\n  '(.*)'", commands)]

    assert len(patches) == 2
    for patch in patches:
        given = patch["spec"]["answers"][question.key]
        assert violation_of_answer(json.dumps(question.requested_schema), given["response"]) is None
        answer = json.loads(given["response"])
        assert patch == patch_of(question.key, answer, by=given["by"], reason=given.get("reason"))


def test_each_of_those_who_may_answer_is_on_the_page(page: Callable[[str], Any]) -> None:
    assert [row["answeredBy"] for row in page(PAGE).rows("answeredBy")] == list(AnsweredBy)
