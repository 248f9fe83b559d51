"""What `kubectl get` shows of the custom resources, and by which fields it selects them."""

from dataclasses import dataclass
from typing import Any, Final, Literal


@dataclass(frozen=True, kw_only=True)
class Column:
    """One printer column."""

    name: str
    path: str
    """JSONPath of the field."""
    type: Literal["string", "integer", "date"] = "string"
    """`date` shows how long ago; a moment in the future would show as `<invalid>`."""
    wide: bool = False
    """Whether it is shown with `-o wide` alone."""
    description: str

    def manifest(self) -> dict[str, Any]:
        """The column as the CRD holds it."""
        column = {"name": self.name, "type": self.type, "jsonPath": self.path, "description": self.description}
        return column | ({"priority": 1} if self.wide else {})


_AGE: Final = Column(
    name="Age", type="date", path=".metadata.creationTimestamp", description="How long ago it was created."
)

TASK_COLUMNS: Final = (
    Column(name="Tool", path=".spec.tool.name", description="The tool that is called."),
    Column(name="Status", path=".status.phase", description="Where the task stands."),
    Column(name="Progress", path=".status.report.progress.display", description="How far the tool says it is."),
    Column(name="Message", path=".status.message", description="What is happening."),
    Column(name="Caller", path=".spec.caller", description="Who called."),
    _AGE,
    Column(name="Job", path=".status.job.name", wide=True, description="The Job that runs the task."),
    Column(name="Expires", path=".status.expiresAt", wide=True, description="Until when the task is kept."),
)
TOOL_COLUMNS: Final = (
    Column(name="Title", path=".spec.title", description="The tool's name for people."),
    Column(
        name="Ready",
        path='.status.conditions[?(@.type=="Ready")].status',
        description="Whether the tool is listed and can be called.",
    ),
    _AGE,
    Column(
        name="Reason",
        path='.status.conditions[?(@.type=="Ready")].reason',
        wide=True,
        description="Why it is ready, or not.",
    ),
    Column(
        name="Message",
        path='.status.conditions[?(@.type=="Ready")].message',
        wide=True,
        description="Why it is ready, or not, in a sentence.",
    ),
)

TASK_SELECTABLE: Final = (".spec.tool.name", ".spec.caller", ".status.phase")
"""Field selectors of tasks. An API server before 1.31 drops them, and then refuses such a selector."""
