"""What a call's client is asked: before there is a task, and by a task. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from mcptasks_crds import jsontext
from mcptasks_crds.asking import OpenQuestion, open_for_caller
from mcptasks_crds.questions import QuestionTime, TaskQuestion
from mcptasks_crds.task import McpTask

from .doors import Door, Handle
from .exchange import Abilities, InputRequest
from .tools import JobTool

ELICITATION: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType({"elicitation": {}})
"""What a client must have declared to be asked."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """When each question of a tool is asked."""

    first: Mapping[str, TaskQuestion] = field(default_factory=dict)
    """Before anything is created."""
    by_task: Mapping[str, TaskQuestion] = field(default_factory=dict)
    """By the task, whose pod starts with the answers."""

    def left_to_task(self, keys: Collection[str]) -> "Plan":
        """The same, but for questions that the task is to ask though they were to be asked before."""
        late = {key: _by_task(each) for key, each in self.first.items() if key in keys}
        return Plan(
            first={key: each for key, each in self.first.items() if key not in late}, by_task={**self.by_task, **late}
        )


class NobodyToAskError(Exception):
    """The tool asks what only a person may answer, and this client cannot put it before one."""


def plan_of(tool: JobTool, door: Door, abilities: Abilities) -> Plan:
    """When a call's questions are asked, by what its client can do.

    Raises:
        NobodyToAskError: nothing may be created.
    """
    if abilities.elicitation:
        first = {key: each for key, each in tool.questions.items() if each.when is QuestionTime.BEFORE_TASK}
        return Plan(first=first, by_task={key: each for key, each in tool.questions.items() if key not in first})
    if not all(_can_be_answered(each, door) for each in tool.questions.values()):
        raise NobodyToAskError
    return Plan(by_task={key: _by_task(each) for key, each in tool.questions.items()})


def requests_of(task: McpTask, abilities: Abilities) -> dict[str, InputRequest]:
    """A task's open questions as requests to a client; none where it could not be asked them."""
    return {key: request_of(each) for key, each in open_for_caller(task).items()} if abilities.elicitation else {}


def request_of(question: TaskQuestion | OpenQuestion) -> InputRequest:
    """A question as `elicitation/create`."""
    form = {"message": question.message, "requestedSchema": jsontext.parse(question.requested_schema)}
    return InputRequest(method="elicitation/create", params={"mode": "form", **form})


def a_model_is_asked(task: McpTask) -> bool:
    """Whether the task waits for an answer that a model may give by itself."""
    return any(question.model_may_answer for question in open_for_caller(task).values())


def _by_task(question: TaskQuestion) -> TaskQuestion:
    return question.model_copy(update={"when": QuestionTime.BEFORE_START})


def _can_be_answered(question: TaskQuestion, door: Door) -> bool:
    """Whether a question can be answered where the client asks nobody: by approvers, or by a model (`task_answer`).

    For the latter the client must get to know the task in time.
    """
    gets_a_handle = isinstance(door, Handle) or door.seconds is not None
    return question.answered_by.is_for_approvers or (gets_a_handle and question.model_may_answer)
