"""What the tasks extension and the legacy tasks look like on the wire, exactly: nothing more, nothing of another type.

Written from the specifications (ext-tasks `specification/draft/tasks.md`; 2025-11-25 `basic/utilities/tasks`) and apart
from the server's own shapes, which are judged by these. Whatever reads messages for a client may be laxer.
"""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, model_validator
from pydantic.alias_generators import to_camel

SERVER_INFO_META_KEY: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_META_KEY: Final = "io.modelcontextprotocol/subscriptionId"
RELATED_TASK_META_KEY: Final = "io.modelcontextprotocol/related-task"
SAFE_INTEGER: Final = 2**53 - 1
"""The largest integer that every client can read."""


def _moment(text: str) -> str:
    datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z")
    return text


Milliseconds = Annotated[int, Field(ge=0, le=SAFE_INTEGER)]
Moment = Annotated[str, AfterValidator(_moment)]


class Strict(BaseModel):
    """Members that are not named are refused, and so is a null where a member may be absent."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True, frozen=True)


class ResultMeta(BaseModel):
    """`_meta` of a result."""

    model_config = ConfigDict(extra="allow", strict=True)

    server_info: Annotated[dict[str, str], Field(alias=SERVER_INFO_META_KEY, min_length=2)]

    @model_validator(mode="after")
    def _no_related_task(self) -> "ResultMeta":
        assert RELATED_TASK_META_KEY not in (self.model_extra or {}), "the older revision's metadata"
        return self


class NotificationMeta(BaseModel):
    """`_meta` of a notification on a subscription's stream."""

    model_config = ConfigDict(extra="forbid", strict=True)

    subscription_id: Annotated[str | int, Field(alias=SUBSCRIPTION_META_KEY)]


class _Times(Strict):
    created_at: Moment
    last_updated_at: Moment

    @model_validator(mode="after")
    def _updated_after_it_was_made(self) -> "_Times":
        assert self.last_updated_at >= self.created_at, "updated before it was made"
        return self


class Task(_Times):
    """A task of the extension."""

    task_id: Annotated[str, Field(min_length=1, pattern=r"^[\x21-\x7e]+$")]
    status_message: Annotated[str, Field(min_length=1)] = "-"
    ttl_ms: Milliseconds | None
    poll_interval_ms: Annotated[Milliseconds, Field(gt=0)] = 1


class Handle(Task):
    """`CreateTaskResult`."""

    result_type: Literal["task"]
    status: Literal["working", "completed", "failed", "cancelled"]
    meta: Annotated[ResultMeta, Field(alias="_meta")]


class Error(Strict):
    """A JSON-RPC error."""

    code: int
    message: Annotated[str, Field(min_length=1)]
    data: Any = None


class _Working(Task):
    status: Literal["working"]


class _InputRequired(Task):
    status: Literal["input_required"]
    input_requests: Annotated[dict[str, dict[str, Any]], Field(min_length=1)]


class _Completed(Task):
    status: Literal["completed"]
    result: dict[str, Any]


class _Failed(Task):
    status: Literal["failed"]
    error: Error


class _Cancelled(Task):
    status: Literal["cancelled"]


class _Complete(Strict):
    result_type: Literal["complete"]
    meta: Annotated[ResultMeta, Field(alias="_meta")]


class _Told(Strict):
    meta: Annotated[NotificationMeta, Field(alias="_meta")]


class Working(_Working, _Complete):
    """`tasks/get` of a task that works."""


class InputRequired(_InputRequired, _Complete):
    """`tasks/get` of a task that waits."""


class Completed(_Completed, _Complete):
    """`tasks/get` of a task with a result."""


class Failed(_Failed, _Complete):
    """`tasks/get` of a task with an error."""


class Cancelled(_Cancelled, _Complete):
    """`tasks/get` of a cancelled task."""


class ToldWorking(_Working, _Told):
    """`notifications/tasks` of a task that works."""


class ToldInputRequired(_InputRequired, _Told):
    """`notifications/tasks` of a task that waits."""


class ToldCompleted(_Completed, _Told):
    """`notifications/tasks` of a task with a result."""


class ToldFailed(_Failed, _Told):
    """`notifications/tasks` of a task with an error."""


class ToldCancelled(_Cancelled, _Told):
    """`notifications/tasks` of a cancelled task."""


class Acknowledged(_Complete):
    """`tasks/update` and `tasks/cancel`: nothing but what every result has."""


class LegacyTask(_Times):
    """A task of 2025-11-25."""

    task_id: Annotated[str, Field(min_length=1, pattern=r"^[\x21-\x7e]+$")]
    status: Literal["working", "input_required", "completed", "failed", "cancelled"]
    status_message: Annotated[str, Field(min_length=1)] = "-"
    ttl: Milliseconds | None
    poll_interval: Annotated[Milliseconds, Field(gt=0)] = 1


class LegacyHandle(Strict):
    """`CreateTaskResult` of 2025-11-25. A tool's task begins as working."""

    task: LegacyTask
    meta: Annotated[dict[str, Any], Field(alias="_meta")] = {}


class LegacyTaskList(Strict):
    """`tasks/list`."""

    tasks: list[LegacyTask]
    next_cursor: Annotated[str, Field(min_length=1)] = "-"


DETAILED: Final[TypeAdapter[Any]] = TypeAdapter(
    Annotated[Working | InputRequired | Completed | Failed | Cancelled, Field(discriminator="status")]
)
TOLD: Final[TypeAdapter[Any]] = TypeAdapter(
    Annotated[
        ToldWorking | ToldInputRequired | ToldCompleted | ToldFailed | ToldCancelled, Field(discriminator="status")
    ]
)
