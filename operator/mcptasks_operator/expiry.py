"""How long a task is kept: a lease while it lives, its retention after its end."""

from datetime import datetime, timedelta

from mcptasks_crds.task import McpTask


def retention(task: McpTask) -> timedelta:
    """How long the task is kept after its end, and its lease while it lives."""
    return timedelta(seconds=task.spec.retention_seconds)


def lease(task: McpTask, now: datetime) -> datetime:
    """Until when a living task is kept: renewed once half of it is over, never lowered."""
    current = task.status.expires_at
    if current is not None and now < renewal(task, current):
        return current
    return now + retention(task) if current is None else max(current, now + retention(task))


def renewal(task: McpTask, expires_at: datetime) -> datetime:
    """When the lease that ends then is to be renewed."""
    return expires_at - retention(task) / 2


def expiry(task: McpTask, finished_at: datetime) -> datetime:
    """Until when a task that ended then is kept. Its lease may already promise more."""
    promised = task.status.expires_at
    end = finished_at + retention(task)
    return end if promised is None else max(end, promised)
