"""Which door a call of a tool goes through: how its client gets to know what becomes of it. Pure."""

from dataclasses import dataclass

from mcptasks_crds.policy import TaskSupport

from .exchange import Abilities
from .tools import JobTool


@dataclass(frozen=True, kw_only=True)
class Handle:
    """The call is answered at once, with the task's handle in the era's own form."""


@dataclass(frozen=True, kw_only=True)
class Held:
    """The call is held open until the task ends."""

    seconds: float | None
    """After how long its answer becomes a result that names the task; None: never."""

    def after(self, seconds: float) -> "Held":
        """The same, for a call that its client has waited for that long already."""
        return self if self.seconds is None else Held(seconds=max(0.0, self.seconds - seconds))


@dataclass(frozen=True, kw_only=True)
class Refused:
    """There is no door: nothing may be created."""

    required: bool
    """Whether the tool only runs as a task; else it never does, and its client wants one."""


Door = Handle | Held


def door_of(tool: JobTool, abilities: Abilities) -> Door | Refused:
    """The door of a call, by what the tool's author wants and what this request's client can do."""
    match tool.support:
        case TaskSupport.REQUIRED:
            return Handle() if abilities.takes_task else Refused(required=True)
        case TaskSupport.FORBIDDEN:
            return Refused(required=False) if abilities.wants_task else Held(seconds=None)
        case TaskSupport.OPTIONAL:
            return Handle() if abilities.takes_task else Held(seconds=tool.hold_seconds)


def door_without_tool(abilities: Abilities) -> Door:
    """The door of a call that goes on though its tool is not there any more."""
    return Handle() if abilities.takes_task else Held(seconds=None)
