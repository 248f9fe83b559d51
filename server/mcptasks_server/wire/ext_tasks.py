"""The tasks extension's shapes (`io.modelcontextprotocol/tasks`, with 2026-07-28).

`mcp_types` has classes of the same names: those are the 2025-11-25 shapes, another wire. Source: ext-tasks,
`schema/draft/schema.ts` (e434597). Fields whose value is kept as JSON text are written out as that very text.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer
from pydantic.alias_generators import to_camel

JsonText = Annotated[str, PlainSerializer(orjson.Fragment, return_type=Any)]
"""JSON that is written out as it stands."""


class Shape(BaseModel):
    """A frozen value of the wire."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore")

    def members(self) -> dict[str, Any]:
        """The value's members for `orjson`; optional ones that are not there are absent, never null."""
        return self.model_dump(by_alias=True, exclude_none=True)


class Task(Shape):
    """What every task shows."""

    task_id: str
    status_message: str | None = None
    created_at: str
    """ISO 8601."""
    last_updated_at: str
    """ISO 8601; never before `created_at`."""
    ttl_ms: int
    """From `created_at`; may grow, never shrinks. (The wire's null, for ever, is not offered.)"""
    poll_interval_ms: int


class CreateTaskResult(Task):
    """The handle that a call gets in place of its result: flat, and without result, error or requests."""

    result_type: Literal["task"] = "task"
    status: Literal["working", "completed", "failed", "cancelled"]


class WorkingTask(Task):
    """It runs, or waits to run."""

    result_type: Literal["complete"] = "complete"
    status: Literal["working"] = "working"


class FormParams(Shape):
    """What `elicitation/create` asks for."""

    mode: Literal["form"] = "form"
    message: str
    requested_schema: JsonText
    meta: Annotated[Mapping[str, Any] | None, Field(alias="_meta")] = None
    """Our own keys: who may answer, and until when."""


class InputRequest(Shape):
    """A request to the client that stands in a task."""

    method: Literal["elicitation/create"] = "elicitation/create"
    params: FormParams


class InputRequiredTask(Task):
    """It waits for answers."""

    result_type: Literal["complete"] = "complete"
    status: Literal["input_required"] = "input_required"
    input_requests: Mapping[str, InputRequest]
    """All that are outstanding, by key."""


class CompletedTask(Task):
    """Over: the call has its result, be it a tool error."""

    result_type: Literal["complete"] = "complete"
    status: Literal["completed"] = "completed"
    result: JsonText
    """What the call would have returned, had it been answered at once."""


class TaskFailure(Shape):
    """The JSON-RPC error that the call would have returned."""

    code: int
    message: str
    data: Mapping[str, Any] | None = None
    """`reason`: one of `mcptasks_crds.reasons`."""


class FailedTask(Task):
    """Over: the platform could not run the call."""

    result_type: Literal["complete"] = "complete"
    status: Literal["failed"] = "failed"
    error: TaskFailure


class CancelledTask(Task):
    """Over: its client cancelled it."""

    result_type: Literal["complete"] = "complete"
    status: Literal["cancelled"] = "cancelled"


DetailedTask = WorkingTask | InputRequiredTask | CompletedTask | FailedTask | CancelledTask


class TaskParams(Shape):
    """The parameters of `tasks/get` and `tasks/cancel`."""

    task_id: str


class UpdateTaskParams(TaskParams):
    """The parameters of `tasks/update`."""

    input_responses: Mapping[str, Any]
    """Answers by the key of the request."""


class ListenFilter(Shape):
    """Of what a client of `subscriptions/listen` wants to be told; what else it wants is not served."""

    tools_list_changed: bool | None = None
    task_ids: tuple[str, ...] | None = None


class ListenParams(Shape):
    """The parameters of `subscriptions/listen`."""

    notifications: ListenFilter
