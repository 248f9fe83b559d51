"""Which door a plain `tools/call` goes through.

Today there is one: the tasks extension. The held call (a client that cannot be given a task) will be the second one,
chosen here by the tool's `taskSupport` and `withoutTasks`.
"""

from enum import Enum, auto

from .era import TASKS_EXTENSION, Envelope
from .errors import MissingCapabilityError


class Door(Enum):
    """A way to a task."""

    EXTENSION = auto()
    """The client is given the task's handle, and polls."""


def require_tasks(envelope: Envelope, *, why: str) -> None:
    """That this very request's client can be given a task.

    Raises:
        MissingCapabilityError: it did not declare the extension.
    """
    if not envelope.declares_tasks:
        raise MissingCapabilityError({"extensions": {TASKS_EXTENSION: {}}}, why=why)


def door_of(envelope: Envelope) -> Door:
    """The door for a call.

    Raises:
        MissingCapabilityError: there is none for this client; nothing may be created.
    """
    require_tasks(envelope, why=f"this tool only runs as a task ({TASKS_EXTENSION})")
    return Door.EXTENSION
