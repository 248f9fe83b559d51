"""Judges of a whole answer: what came before what, and what must not have come at all."""

from collections.abc import Mapping
from typing import Any, Final

from .judges import Asked, judge_notification, judge_request, judge_response
from .strict_shapes import SUBSCRIPTION_META_KEY

_META: Final = "_meta"
_LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
_LISTEN: Final = "subscriptions/listen"
_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
_ASKED_FOR_BY: Final = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    "notifications/resources/updated": "resourceSubscriptions",
    "notifications/tasks": "taskIds",
}


class AnswerJudge:
    """Takes the messages of one HTTP response in their order."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self._answered = False
        self._progress: dict[tuple[type, Any], float] = {}
        self._accepted: Mapping[str, Any] | None = None

    def take(self, message: Mapping[str, Any]) -> None:
        """Judge the next message.

        Raises:
            ValueError, AssertionError: it must not have been sent, or not so.
        """
        assert not self._answered, f"a message after the answer: {message}"
        if "method" not in message:
            self._answered = True
            judge_response(self.asked, message)
            if self.asked.method == _LISTEN and "result" in message:
                self._must_name_subscription(message["result"])
        elif "id" in message:
            judge_request(self.asked, message)
        else:
            judge_notification(self.asked, message)
            if self.asked.method == _LISTEN:
                self._take_told(message)
            else:
                self._take_related(message)

    def _take_related(self, message: Mapping[str, Any]) -> None:
        """A notification on the stream of a request: it belongs to that request."""
        params = message.get("params", {})
        asked = self.asked.params.get(_META) or {}
        match message["method"]:
            case "notifications/progress":
                if self.asked.method != "tasks/result":  # there it is the token of the call that made the task
                    token, given = params["progressToken"], asked.get("progressToken")
                    assert (type(token), token) == (type(given), given), f"progress under {token!r}, not {given!r}"
                key = (type(params["progressToken"]), params["progressToken"])
                last = self._progress.get(key)
                assert last is None or params["progress"] > last, f"progress {params['progress']} after {last}"
                self._progress[key] = params["progress"]
            case "notifications/message":
                assert _LOG_LEVEL in asked or not self.asked.is_modern, "a log message that nobody asked for"
            case method:
                assert not self.asked.is_modern, f"{method} belongs to no request"

    def _take_told(self, message: Mapping[str, Any]) -> None:
        """A notification on a subscription's stream."""
        method, params = message["method"], message["params"]
        self._must_name_subscription(params)
        if method == _ACKNOWLEDGED:
            assert self._accepted is None, "acknowledged twice"
            self._accepted = params["notifications"]
            asked = self.asked.params.get("notifications") or {}
            assert set(self._accepted) <= set(asked), "more is acknowledged than was asked for"
            assert set(self._accepted.get("taskIds", ())) <= set(asked.get("taskIds") or ())
            return
        assert self._accepted is not None, f"{method} before the acknowledgement"
        kind = _ASKED_FOR_BY.get(method)
        assert kind is not None, f"{method} has no place on a subscription"
        accepted = self._accepted.get(kind)
        assert accepted, f"{method} was not acknowledged"
        if kind == "taskIds":
            assert params["taskId"] in accepted, "a task that was not acknowledged"

    def _must_name_subscription(self, holder: Mapping[str, Any]) -> None:
        found = holder[_META][SUBSCRIPTION_META_KEY]
        assert (type(found), found) == (type(self.asked.id), self.asked.id), f"of the subscription {found!r}"
