"""What the server needs to be allowed to do in the tasks' namespace. The chart's Role is held against this table."""

from typing import Final

from mcptasks_crds import names
from mcptasks_crds.installation import Right, rights

RIGHTS: Final[tuple[Right, ...]] = rights(
    (
        (names.GROUP, "mcptools", ("list", "watch")),
        (names.GROUP, "mcptasks", ("get", "list", "watch", "create", "patch", "delete")),
        (names.GROUP, "mcptasks/status", ("patch",)),
        ("", "secrets", ("create",)),
        ("", "pods", ("get",)),
        ("", "pods/log", ("get",)),
    )
)
FOR_LARGE_RESULTS: Final[tuple[Right, ...]] = rights((("", "secrets", ("get",)),))
"""Beside those, where results may be too large for their tasks."""
