"""Which door a call goes through, and when its tool's questions are asked: by tool and client alone."""

from typing import Any

import pytest

from mcptasks_crds.policy import TaskSupport, WithoutTasks
from mcptasks_server.doors import Door, Handle, Held, Refused, door_of
from mcptasks_server.exchange import Abilities
from mcptasks_server.questions import NobodyToAskError, plan_of
from mcptasks_server.testing import ready_tool

KNOWS_TASKS = Abilities(takes_task=True)
WANTS_ONE = Abilities(takes_task=True, wants_task=True)
PLAIN = Abilities()


@pytest.mark.parametrize(
    ("spec", "knowing", "wanting", "plain"),
    [
        ({"task_support": TaskSupport.REQUIRED}, Handle(), Handle(), Refused(required=True)),
        ({"task_support": TaskSupport.FORBIDDEN}, Held(seconds=None), Refused(required=False), Held(seconds=None)),
        ({}, Handle(), Handle(), Held(seconds=45)),
        ({"hold_seconds": 7}, Handle(), Handle(), Held(seconds=7)),
        ({"without_tasks": WithoutTasks.HOLD}, Handle(), Handle(), Held(seconds=None)),
    ],
)
def test_the_door_is_chosen_by_the_tools_word_and_the_clients_abilities(
    spec: dict[str, Any], knowing: Door | Refused, wanting: Door | Refused, plain: Door | Refused
) -> None:
    tool = ready_tool("t", **spec)

    assert [door_of(tool, each) for each in (KNOWS_TASKS, WANTS_ONE, PLAIN)] == [knowing, wanting, plain]


def _asking(*, model: bool) -> Any:
    form = {"type": "object", "properties": {}}
    return ready_tool(
        "t",
        questions=[
            {"key": key, "message": "?", "requestedSchema": form, "when": when, "modelMayAnswer": model}
            for key, when in (("first", "beforeTask"), ("start", "beforeStart"))
        ],
    )


@pytest.mark.parametrize("retries", [True, False])
@pytest.mark.parametrize("door", [Handle(), Held(seconds=45), Held(seconds=None)])
def test_who_can_be_asked_is_asked_before_there_is_a_task_what_is_to_be_asked_then(door: Door, retries: bool) -> None:
    plan = plan_of(_asking(model=False), door, Abilities(elicitation=True, can_retry=retries))

    assert (set(plan.first), set(plan.by_task)) == ({"first"}, {"start"})


def test_what_was_not_answered_in_time_is_left_to_the_task() -> None:
    plan = plan_of(_asking(model=False), Handle(), Abilities(elicitation=True)).left_to_task({"first"})

    assert (set(plan.first), set(plan.by_task)) == (set(), {"first", "start"})
    assert {question.when for question in plan.by_task.values()} == {"beforeStart"}


@pytest.mark.parametrize(("seconds", "left"), [(None, None), (45.0, 35.0), (5.0, 0.0)])
def test_what_a_call_has_waited_for_an_answer_it_is_not_held_again(seconds: float | None, left: float | None) -> None:
    assert Held(seconds=seconds).after(10.0) == Held(seconds=left)


@pytest.mark.parametrize("door", [Handle(), Held(seconds=45), Held(seconds=None)])
@pytest.mark.parametrize("model", [True, False])
@pytest.mark.parametrize("retries", [True, False])
def test_without_elicitation_only_what_a_model_may_answer_can_be_asked_and_only_with_a_handle(
    door: Door, model: bool, retries: bool
) -> None:
    tool, abilities = _asking(model=model), Abilities(can_retry=retries)
    if model and door != Held(seconds=None):
        assert set(plan_of(tool, door, abilities).by_task) == {"first", "start"}
    else:
        with pytest.raises(NobodyToAskError):
            plan_of(tool, door, abilities)


def test_a_tool_that_asks_nothing_asks_nobody() -> None:
    for door in (Handle(), Held(seconds=None)):
        plan = plan_of(ready_tool("t"), door, PLAIN)

        assert (plan.first, plan.by_task) == ({}, {})
