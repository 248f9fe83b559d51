"""How the Job says that it waits, for whom, and how often it may try."""

from collections.abc import Callable
from typing import Any

import pytest

from mcptasks_crds import names
from mcptasks_operator.errors import JobRefusedError
from mcptasks_operator.executions import execution_from_json, execution_to_json
from mcptasks_operator.jobs import render

Make = Callable[..., Any]
SURE = {"sure": {"message": "Sure?", "requestedSchema": '{"type":"object"}', "when": "beforeStart"}}


def test_a_tool_with_a_limit_has_its_jobs_held_back(make_tool: Make, make_task: Make) -> None:
    job = render(make_task(), make_tool(limits={"running": 3}, queueSeconds=60))

    assert job["spec"]["suspend"] is True
    assert job["metadata"]["annotations"][names.RELEASED_ANNOTATION] == ""
    kept = execution_from_json(job["metadata"]["annotations"][names.EXECUTION_ANNOTATION])
    assert kept is not None
    assert (kept.running_limit, kept.queue_seconds) == (3, 60)
    assert names.QUEUE_LABEL not in job["metadata"]["labels"]


def test_kueue_finds_a_job_by_its_label_suspended_from_the_first_moment(make_tool: Make, make_task: Make) -> None:
    job = render(make_task(), make_tool(queueName="gpus"))

    assert job["spec"]["suspend"] is True
    assert job["metadata"]["labels"][names.QUEUE_LABEL] == "gpus"
    assert names.RELEASED_ANNOTATION not in job["metadata"]["annotations"]
    assert names.QUEUE_LABEL not in job["spec"]["template"]["metadata"]["labels"]


def test_kueue_does_not_find_a_job_whose_questions_are_open(make_tool: Make, make_task: Make) -> None:
    job = render(make_task(questions=SURE), make_tool(queueName="gpus"))

    assert job["spec"]["suspend"] is True
    assert names.QUEUE_LABEL not in job["metadata"]["labels"]
    assert job["metadata"]["annotations"][names.RELEASED_ANNOTATION] == ""


def test_kueues_label_is_not_for_an_author_to_set(make_tool: Make, make_task: Make) -> None:
    tool = make_tool()
    document = tool.model_dump(by_alias=True)
    document["spec"]["job"]["metadata"] = {"labels": {names.QUEUE_LABEL: "gpus"}}

    with pytest.raises(JobRefusedError, match="queueName"):
        render(make_task(), type(tool).model_validate(document))


def test_kubernetes_makes_the_attempts_and_does_not_count_disruptions(make_tool: Make, make_task: Make) -> None:
    spec = render(make_task(), make_tool(retries=2))["spec"]

    assert spec["backoffLimit"] == 2
    assert spec["podReplacementPolicy"] == "Failed"
    (rule,) = spec["podFailurePolicy"]["rules"]
    assert rule == {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


def test_without_retries_nothing_is_tried_again(make_tool: Make, make_task: Make) -> None:
    spec = render(make_task(), make_tool())["spec"]

    assert spec["backoffLimit"] == 0
    assert "podFailurePolicy" not in spec


def test_an_annotation_of_before_there_were_queues_and_retries_is_still_read(make_tool: Make, make_task: Make) -> None:
    job = render(make_task(), make_tool())
    kept = execution_from_json(job["metadata"]["annotations"][names.EXECUTION_ANNOTATION])
    assert kept is not None
    old = (
        '{"tool_resource":"t","tool_uid":"u","tool_generation":1,"container":"tool","start_deadline_seconds":1,'
        '"timeout_seconds":2,"grace_seconds":3,"output_schema":null}'
    )

    found = execution_from_json(old)

    assert found is not None
    assert (found.running_limit, found.retries, found.queue_name, found.may_try_again) == (None, 0, None, False)
    assert execution_from_json(execution_to_json(kept)) == kept
