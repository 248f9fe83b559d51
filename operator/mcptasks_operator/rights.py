"""What the operator needs to be allowed to do in the tasks' namespace. The chart's Role is held against this table."""

from typing import Final

from mcptasks_crds import names
from mcptasks_crds.installation import Right, rights

RIGHTS: Final[tuple[Right, ...]] = rights(
    (
        (names.GROUP, "mcptasks", ("get", "list", "watch", "delete")),
        (names.GROUP, "mcptools", ("get", "list", "watch")),
        (names.GROUP, "mcptasks/status", ("patch",)),
        (names.GROUP, "mcptools/status", ("patch",)),
        ("batch", "jobs", ("get", "list", "watch", "create", "patch", "delete")),
        ("", "pods", ("get", "list", "watch")),
        ("", "pods/log", ("get",)),
        ("", "secrets", ("create", "delete")),
        ("events.k8s.io", "events", ("create", "watch")),
        ("coordination.k8s.io", "leases", ("create",)),
        ("coordination.k8s.io", f"leases {names.LEASE}", ("get", "patch")),
    )
)
