"""What a tool says of its callers: what they get of a call, and who they are."""

from collections.abc import Collection
from enum import StrEnum
from typing import Annotated

from . import limits
from .base import Resource, enforced

_Names = Annotated[
    tuple[Annotated[str, enforced(minLength=1, maxLength=limits.CALLER_STORED_BYTES)], ...],
    enforced(**{"maxItems": 256, "x-kubernetes-list-type": "set"}),
]


class TaskSupport(StrEnum):
    """MCP's own word for whether a tool's calls become tasks."""

    REQUIRED = "required"
    """Only as a task: a client that knows none is refused."""
    OPTIONAL = "optional"
    """A task where the client knows them, else what `withoutTasks` says."""
    FORBIDDEN = "forbidden"
    """Never a task that the client sees: the call is held until its end."""


class WithoutTasks(StrEnum):
    """What a client gets that knows no tasks."""

    HANDLE = "handle"
    """The call is held for a while, then answered by a result that names the task."""
    HOLD = "hold"
    """The call is held until the task ends."""


class Access(Resource):
    """Who may see and call a tool: for everybody else it does not exist."""

    callers: _Names = ()
    """Callers by name."""
    groups: _Names = ()
    """Groups, each of whose members may."""

    def admits(self, caller: str, groups: Collection[str]) -> bool:
        """Whether a caller, a member of these groups, may see and call the tool."""
        return caller in self.callers or not set(self.groups).isdisjoint(groups)
