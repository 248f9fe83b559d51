"""Every name that is derived from another one, built and parsed here and nowhere else.

An object's name is limited to 63 characters of DNS-1123 where it becomes a label or a pod's host name, and a label's
value to 63 characters; whatever a person typed is hashed before it goes into either.
"""

import base64
import hashlib
import re
import secrets
from enum import StrEnum
from typing import Final, Literal

GROUP: Final = "mcptasks.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final[Literal["mcptasks.dev/v1alpha1"]] = "mcptasks.dev/v1alpha1"

TASK_KIND: Final = "McpTask"
TASK_PLURAL: Final = "mcptasks"
TOOL_KIND: Final = "McpTool"
TOOL_PLURAL: Final = "mcptools"

MANAGED_BY_LABEL: Final = "app.kubernetes.io/managed-by"
MANAGED_BY: Final = "mcptasks"
TASK_LABEL: Final = f"{GROUP}/task"
"""On a Job, its pods and its Secret: the task's name. Both sides watch by it."""
TOOL_LABEL: Final = f"{GROUP}/tool"
"""On a task, its Job and its pods: the tool's name as a label's value. An index for people, never a decision."""
CALLER_LABEL: Final = f"{GROUP}/caller"
"""On a task: the caller as a label's value. An index for people: `spec.caller` decides."""
EXECUTION_ANNOTATION: Final = f"{GROUP}/execution"
"""On a Job: what of the tool the operator still needs after the Job was rendered, as JSON."""
ARGUMENTS_ANNOTATION: Final = f"{GROUP}/arguments"
"""On a pod: the call's arguments as JSON text, where they stand in the task; the pod's file is made of it."""
ANSWERS_ANNOTATION: Final = f"{GROUP}/answers"
"""On a pod: the answers that were there when it started, as JSON text; the pod's file is made of it."""
RELEASED_ANNOTATION: Final = f"{GROUP}/released-at"
"""On a Job that was made suspended: when it was let start, as RFC 3339; empty as long as it waits for an answer."""
LEASE: Final = "mcptasks-operator"
"""The Lease in the tasks' namespace that the one operator holds that acts. Every release's is the same."""
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
"""Kueue's own: on a Job that it is to let start. A Job without it is left alone by Kueue as it is installed."""
REQUEST_LABEL: Final = f"{GROUP}/request"
"""On a task: a keyed hash of the session and the request that made it, by which a later cancellation finds it."""
HELD_ANNOTATION: Final = f"{GROUP}/held-at"
"""On a task: when a held call of it that was cut was taken up again, as RFC 3339."""

CONTRACT_VOLUME: Final = "mcptask"
"""In a pod: the volume that holds what mcptasks gives it as files."""
CONTRACT_PATH: Final = "/mcptask"
"""In a pod: where that volume is mounted."""

RESULT_KEY: Final = "result.json"
"""In a Secret that holds a result, or parts of one: the key of its JSON text."""

TASK_AUDIENCE_PREFIX: Final = "mcptasks/"
TASKS_PATH: Final = "/v1/tasks"
"""At the task endpoint: below it is what belongs to a task, by its id."""
PROGRESS_HEADER: Final = "Mcptask-Progress"
"""At the task endpoint: the last progress, given with the result."""
TASK_ID_PREFIX: Final = "mt-"
TRIAL_TASK: Final = TASK_ID_PREFIX + "trial"
"""The task whose Job is tried, never created, to see whether a tool can run. No task id is that short."""
_TASK_ID: Final = re.compile(r"mt-[a-z2-7]{26,52}")
_OBJECT_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")

TOOL_NAME_PATTERN: Final = r"^[A-Za-z0-9_.-]{1,128}$"
"""What MCP lets a tool be called."""
COMPANION_TOOLS: Final = ("task_get", "task_answer", "task_cancel", "task_list")
"""The server's own tools, by which a client without tasks goes on with one. No McpTool may be called so."""

ARGUMENT_VARIABLE_PREFIX: Final = "ARG_"
OWN_VARIABLE_PREFIX: Final = "MCPTASK_"
RESULT_VARIABLE: Final = f"{OWN_VARIABLE_PREFIX}RESULT"
"""In a pod: where the result goes. Of a pod's containers only the tool's own has it, and so is known by it."""

RESOURCE_SCHEME: Final = "mcptask"
"""Of the URIs of tasks' MCP resources."""


class TaskPart(StrEnum):
    """What of a task is an MCP resource of its own."""

    LOG = "log"
    """What its pod has printed."""
    RESULT = "result"
    """Its CallToolResult."""


def new_task_id() -> str:
    """A fresh task id, which is the object's name too: `mt-` and 32 characters of base32, 160 random bits.

    Kubernetes' own `generateName` adds five characters, which anyone can guess.
    """
    return TASK_ID_PREFIX + base64.b32encode(secrets.token_bytes(20)).decode().lower()


def is_task_id(text: str) -> bool:
    """Whether the text has the form of a task id; says nothing of whether such a task exists."""
    return _TASK_ID.fullmatch(text) is not None


def job_name(task: str) -> str:
    """The name of a task's Job. One name for one task: the second POST of a Job meets the first one's."""
    return task


def arguments_secret_name(task: str) -> str:
    """The name of the Secret that holds a task's arguments where they are too large for the object itself."""
    return f"{task}-arguments"


def result_secret_name(task: str, result: str) -> str:
    """The name of the Secret that holds a result which is too large for the task: made of the task's and of the result.

    So the same result given twice is one Secret, and another one never has its name.

    >>> result_secret_name("mt-abc", "{}")
    'mt-abc-result-44136fa355b3678a'
    """
    return f"{task}-result-{hashlib.sha256(result.encode()).hexdigest()[:16]}"


def is_result_secret(name: str, task: str) -> bool:
    """Whether a Secret's name is that of a result of this task. What else is in the namespace is not ours to show."""
    return re.fullmatch(rf"{re.escape(task)}-result-[0-9a-f]{{16}}", name) is not None


def content_secret_name(task: str, key: str) -> str:
    """The name of the Secret that holds parts of a task's result; `key` is the hash by which they were given."""
    return f"{task}-content-{key}"


def task_audience(task: str) -> str:
    """The audience of the token by which a task's pod speaks to the task endpoint."""
    return f"{TASK_AUDIENCE_PREFIX}{task}"


def is_task_audience(audience: str) -> bool:
    """Whether a token's audience is that of some task."""
    return audience.startswith(TASK_AUDIENCE_PREFIX)


def event_name(task: str, reason: str) -> str:
    """The name of the Kubernetes Event that tells of a task's end: the same end told twice is one Event.

    >>> event_name("mt-abc", "ExitCode")
    'mt-abc.exitcode'
    """
    return f"{task}.{reason.lower()}"


def answer_event_name(task: str, key: str) -> str:
    """The name of the Kubernetes Event that tells of an answer. A question's key may have what no name may.

    >>> answer_event_name("mt-abc", "Sure_1")
    'mt-abc.answer-a7c43c8b14'
    """
    return f"{task}.answer-{hashlib.sha256(key.encode()).hexdigest()[:10]}"


def leading_event_name(identity: str) -> str:
    """The name of the Kubernetes Event that tells which operator acts from now on.

    >>> leading_event_name("Operator_0")
    'mcptasks-operator.leads-01b2f04f8a'
    """
    return f"{LEASE}.leads-{hashlib.sha256(identity.encode()).hexdigest()[:10]}"


def label_value(text: str) -> str:
    """The text itself where it is a valid label's value, else a hash of it.

    >>> label_value("run-tests")
    'run-tests'
    >>> label_value("user@corp/1")
    'h-3a3b5efbd2a4002dd930f4fbcf62'
    """
    if _LABEL_VALUE.fullmatch(text):
        return text
    return "h-" + hashlib.sha256(text.encode()).hexdigest()[:28]


def argument_variable(property_name: str) -> str:
    """The environment variable of a property of a tool's input schema.

    >>> argument_variable("dry-run")
    'ARG_DRY_RUN'
    """
    return ARGUMENT_VARIABLE_PREFIX + re.sub(r"[^A-Za-z0-9_]", "_", property_name).upper()


def is_own_variable(name: str) -> bool:
    """Whether an environment variable's name is kept for what mcptasks gives a pod."""
    return name.startswith((ARGUMENT_VARIABLE_PREFIX, OWN_VARIABLE_PREFIX))


def is_own_key(key: str) -> bool:
    """Whether a label or annotation is kept for mcptasks itself.

    >>> [is_own_key(key) for key in ("mcptasks.dev/task", "example.com/task")]
    [True, False]
    """
    return key.startswith(f"{GROUP}/")


def scratch_volume(index: int) -> str:
    """The name of the volume that is `/tmp` of a pod's container, by the container's place."""
    return f"{CONTRACT_VOLUME}-tmp-{index}"


def is_own_volume(name: str) -> bool:
    """Whether a volume's name is kept for what mcptasks mounts into a pod."""
    return name == CONTRACT_VOLUME or name.startswith(f"{CONTRACT_VOLUME}-")


def task_uri(task: str, part: TaskPart) -> str:
    """The URI of a part of a task as an MCP resource. With `{taskId}` for the task it is the template of all of them.

    >>> task_uri("{taskId}", TaskPart.LOG)
    'mcptask://{taskId}/log'
    """
    return f"{RESOURCE_SCHEME}://{task}/{part}"


def parse_task_uri(uri: str) -> tuple[str, TaskPart] | None:
    """The task's id and the part that such a URI names, as `task_uri` writes it and in no other way; None: it is none.

    >>> parse_task_uri("mcptask://mt-aaaaaaaaaaaaaaaaaaaaaaaaaa/log")
    ('mt-aaaaaaaaaaaaaaaaaaaaaaaaaa', <TaskPart.LOG: 'log'>)
    >>> parse_task_uri("mcptask://mt-aaaaaaaaaaaaaaaaaaaaaaaaaa/../log")
    """
    task, _, part = uri.removeprefix(f"{RESOURCE_SCHEME}://").partition("/")
    if not is_task_id(task) or part not in set(TaskPart) or uri != task_uri(task, TaskPart(part)):
        return None
    return task, TaskPart(part)


def is_own_uri(uri: str) -> bool:
    """Whether a URI, or a template of some, is of the scheme that is kept for tasks. A scheme's case does not count."""
    return uri.partition(":")[0].lower() == RESOURCE_SCHEME


def is_object_name(text: str) -> bool:
    """Whether an object of Kubernetes may be called so (DNS-1123 subdomain): it is safe in a URL's path."""
    return len(text) <= 253 and _OBJECT_NAME.fullmatch(text) is not None
