"""What of the tool a Job carries along: an `Execution`, taken from the tool, as the Job's annotation, and back."""

import json
from dataclasses import asdict, replace
from typing import Final

from pydantic import TypeAdapter, ValidationError

from mcptasks_crds.base import Json
from mcptasks_crds.tool import McpTool

from .observation import Execution
from .templates import MAX_GRACE_SECONDS, main_container

MAX_START_DEADLINE_SECONDS: Final = 604_800
MAX_TIMEOUT_SECONDS: Final = 31_536_000
MAX_QUEUE_SECONDS: Final = 2_592_000
MAX_RETRIES: Final = 10
"""The bounds that a McpTool itself has."""

_EXECUTION = TypeAdapter(Execution)


BACKSTOP_SLACK_SECONDS: Final = 60
"""How much later than the operator Kubernetes itself ends a task's pod: only where the operator is dead."""


MOST_DISRUPTIONS: Final = 5
"""How often a pod of a tool with retries is replaced because something else ended it, beside its retries."""
LONGEST_BACKOFF_SECONDS: Final = 360
"""The longest that Kubernetes waits before it makes another pod (Job controller: `MaxJobPodFailureBackOff`)."""


def backstop_seconds(execution: Execution) -> int:
    """The Job's own deadline, as long as its pods have waited for no answer."""
    once = execution.start_deadline_seconds + execution.timeout_seconds + execution.grace_seconds
    again = execution.retries + MOST_DISRUPTIONS if execution.retries else 0
    return once + again * (once + LONGEST_BACKOFF_SECONDS) + BACKSTOP_SLACK_SECONDS


def execution_of(tool: McpTool, pod: Json) -> Execution:
    """What is kept of a tool whose pod is complete (its grace is set)."""
    schema = tool.spec.output_schema
    return Execution(
        tool_resource=tool.metadata.name,
        tool_uid=tool.metadata.uid,
        tool_generation=tool.metadata.generation,
        container=main_container(pod)["name"],
        start_deadline_seconds=tool.spec.start_deadline_seconds,
        timeout_seconds=tool.spec.timeout_seconds,
        grace_seconds=pod["terminationGracePeriodSeconds"],
        output_schema=None if schema is None else json.dumps(schema, ensure_ascii=False, separators=(",", ":")),
        running_limit=tool.spec.running_limit,
        queue_seconds=tool.spec.queue_seconds,
        retries=tool.spec.retries,
        queue_name=tool.spec.queue_name,
    )


def execution_to_json(execution: Execution) -> str:
    """The annotation's text."""
    return json.dumps(asdict(execution), ensure_ascii=False, separators=(",", ":"))


def execution_from_json(text: str) -> Execution | None:
    """What such a text says; None where it cannot be read, as people may write anything into an annotation.

    Unknown members are passed over: a newer version may have written them. Seconds beyond what a tool may say are
    brought to the nearest that it may: no date is out of range then, so that the run limit and a cancellation work, and
    the container and the output schema, which nobody else knows any more, are not lost with one bad number.
    """
    try:
        said = _EXECUTION.validate_json(text, strict=True)
    except ValidationError:
        return None
    return replace(
        said,
        start_deadline_seconds=_within(1, said.start_deadline_seconds, MAX_START_DEADLINE_SECONDS),
        timeout_seconds=_within(1, said.timeout_seconds, MAX_TIMEOUT_SECONDS),
        grace_seconds=_within(0, said.grace_seconds, MAX_GRACE_SECONDS),
        running_limit=None if said.running_limit is None else max(1, said.running_limit),
        retries=_within(0, said.retries, MAX_RETRIES),
        queue_seconds=_within(1, said.queue_seconds, MAX_QUEUE_SECONDS),
    )


def _within(least: int, value: int, most: int) -> int:
    return max(least, min(value, most))
