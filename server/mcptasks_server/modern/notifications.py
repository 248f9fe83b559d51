"""The notifications of a `subscriptions/listen` stream, as JSON in pieces: what many listeners are sent alike is made
and kept once. Pure.

Source: specification 2026-07-28, "Subscriptions"; the tasks extension, "Task Status Notifications".
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

import orjson

from mcptasks_crds.task import McpTask
from mcptasks_server.lines import one_line
from mcptasks_server.outbox import Pieces
from mcptasks_server.projection import detailed_task

SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
MOST_KEPT: Final = 1024
"""How many tasks' newest notifications are kept for further listeners."""
LARGEST_KEPT: Final = 16 * 1024
"""Bytes. A larger one is made for each listener."""


def subscription_meta(subscription_id: str) -> dict[str, Any]:
    """The `_meta` of whatever is sent on a stream. `subscription_id`: the listening request's id, as JSON text."""
    return {SUBSCRIPTION_ID: orjson.Fragment(subscription_id)}


def acknowledgement(subscription_id: str, accepted: Mapping[str, Any]) -> Mapping[str, Any]:
    """What comes first: of what the client will be told."""
    params = {"_meta": subscription_meta(subscription_id), "notifications": accepted}
    return _notification("notifications/subscriptions/acknowledged", params)


def tools_changed(subscription_id: str) -> Mapping[str, Any]:
    """The list of tools may be another one."""
    return _notification("notifications/tools/list_changed", {"_meta": subscription_meta(subscription_id)})


def task_head(subscription_id: str) -> bytes:
    """How each `notifications/tasks` of a stream begins; a `TaskNotifications.tail_of` follows."""
    whole = orjson.dumps(_notification("notifications/tasks", {"_meta": subscription_meta(subscription_id)}))
    return one_line(whole.removesuffix(b"}}"))


class TaskNotifications:
    """What `notifications/tasks` say of tasks, each made once for all listeners that are told the same."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, bool], tuple[str, bytes]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def tail_of(self, task: McpTask, *, elicitation: bool) -> bytes:
        """The members of a DetailedTask, as what follows a `task_head`. `elicitation`: see `detailed_task`."""
        key, version = (task.metadata.name, elicitation), task.metadata.resource_version
        kept = self._kept.get(key)
        if kept is not None and kept[0] == version:
            return kept[1]
        members = detailed_task(task, elicitation=elicitation).members()
        del members["resultType"]  # it marks a result, which a notification is not
        tail = one_line(b"," + orjson.dumps(members)[1:] + b"}")
        self._kept.pop(key, None)
        if len(tail) <= LARGEST_KEPT:
            self._kept[key] = (version, tail)
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return tail


def task_notification(head: bytes, tail: bytes) -> Pieces:
    """A whole `notifications/tasks`."""
    return (head, tail)


def _notification(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}
