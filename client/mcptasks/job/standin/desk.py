"""What the task endpoint knows of one task, and what it answers. Threads may call it as they like."""

import json
import re
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from .bodies import (
    ProblemError,
    Reply,
    check_content,
    check_question,
    check_result,
    check_size,
    object_of,
    progress_of,
    reply,
)

MOST_WAIT_SECONDS: Final = 60.0
_KEY: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, kw_only=True)
class Question:
    """What the tool asked."""

    key: str
    message: str
    form: Mapping[str, Any]


Answers = Callable[[Question], Mapping[str, Any] | None]
"""Gives the answer (MCP's ElicitResult), for as long as it takes; None: it will be given by `Desk.answer`."""


class Desk:
    """The endpoint of one task."""

    def __init__(
        self,
        *,
        task_id: str,
        tool: str,
        arguments: str,
        answers: Answers = lambda _: None,
        told: Callable[[Mapping[str, Any]], None] = lambda _: None,
    ) -> None:
        """`arguments`: as JSON text. `told` gets each progress."""
        self.task_id, self.tool, self.token = task_id, tool, secrets.token_urlsafe(24)
        self.arguments_file: str | None = None
        """Where they are as a file."""
        self._arguments, self._answers, self._told = arguments, answers, told
        self._changed = threading.Condition()
        self._asked: dict[str, dict[str, Any]] = {}
        self._answered: dict[str, Mapping[str, Any]] = {}
        self._posts: set[str] = set()
        self._parts_bytes = 0
        self.progress: list[dict[str, Any]] = []
        """All that was sent, in order, without repetitions."""
        self.parts: list[dict[str, Any]] = []
        """Parts that come before the result's own."""
        self.result: dict[str, Any] | None = None
        """As it was given."""
        self.is_cancelled = False

    def cancel(self) -> None:
        """What a client's cancel does."""
        with self._changed:
            self.is_cancelled = True
            self._changed.notify_all()

    def answer(self, key: str, answer: Mapping[str, Any]) -> None:
        """Answer a question; the first answer stays."""
        with self._changed:
            self._answered.setdefault(key, answer)
            self._changed.notify_all()

    @property
    def questions(self) -> Mapping[str, Question]:
        """What was asked, by its keys."""
        with self._changed:
            return {key: _question(key, asked) for key, asked in self._asked.items()}

    @property
    def whole_result(self) -> dict[str, Any] | None:
        """The result as the client gets it; None while there is none."""
        with self._changed:
            if self.result is None:
                return None
            return {**self.result, "content": [*self.parts, *self.result["content"]]}

    def handle(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Answer one request. `headers`: by their names in small letters."""
        try:
            return self._handle(method, target, headers, body)
        except ProblemError as problem:
            return problem.reply()

    def _handle(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        if headers.get("authorization") != f"Bearer {self.token}":
            raise ProblemError(HTTPStatus.UNAUTHORIZED, "the token is not this task's")
        url = urlsplit(target)
        prefix, mine, path = url.path.partition(f"/v1/tasks/{self.task_id}")
        if prefix or not mine:
            raise ProblemError(HTTPStatus.FORBIDDEN, "that is another task")
        match method, path.strip("/").split("/"):
            case "GET", [""]:
                return self._task()
            case "PUT" | "POST", ["progress"]:
                return self._take_progress(body, parse_qs(url.query).get("wait", ["0"])[0])
            case "PUT" | "POST", ["questions", key]:
                return self._ask(unquote(key), body)
            case "GET", ["questions", key]:
                return self._await(unquote(key), parse_qs(url.query).get("wait", ["0"])[0])
            case "POST", ["content"]:
                return self._add(headers.get("idempotency-key"), body)
            case "PUT" | "POST", ["result"]:
                return self._take_result(body, headers.get("mcptask-progress"))
            case _:
                raise ProblemError(HTTPStatus.NOT_FOUND, f"there is no {method} {path or '/'}")

    def _task(self) -> Reply:
        with self._changed:
            self._check_going_on()
            told = {
                "taskId": self.task_id,
                "tool": self.tool,
                "argumentsFile": self.arguments_file,
                "answers": self._answered,
                "cancelRequested": self.is_cancelled,
            }
        members = json.dumps(told, ensure_ascii=False)
        return Reply(status=200, body=f'{members[:-1]}, "arguments": {self._arguments}}}'.encode())

    def _take_progress(self, body: bytes, wait: str) -> Reply:
        is_waited = self._waited(wait) > 0
        members = progress_of(body)
        with self._changed:
            self._check_going_on()
            is_news = self._keep(members)
            self._changed.notify_all()
        if is_news:
            self._told(members)
        return reply(HTTPStatus.OK if is_waited else HTTPStatus.ACCEPTED, {"cancelRequested": self.is_cancelled})

    def _keep(self, progress: dict[str, Any]) -> bool:
        """Whether it is another one than the last."""
        if progress in self.progress[-1:]:
            return False
        self.progress.append(progress)
        return True

    def _ask(self, key: str, body: bytes) -> Reply:
        if not _KEY.fullmatch(key):
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, f"key: must match {_KEY.pattern}", field="key")
        members = object_of(body, known=("message", "requestedSchema", "modelMayAnswer", "expirySeconds"))
        check_question(members)
        with self._changed:
            self._check_going_on()
            if key in self._asked:
                if self._asked[key] != members:
                    raise ProblemError(HTTPStatus.CONFLICT, f"the question {key} was asked in other words")
                return reply(HTTPStatus.OK, {})
            if self.is_cancelled:
                raise ProblemError(HTTPStatus.CONFLICT, "the task is being stopped")
            self._asked[key] = members
            self._changed.notify_all()
        threading.Thread(target=self._find_answer, args=[_question(key, members)], daemon=True).start()
        return reply(HTTPStatus.CREATED, {})

    def _find_answer(self, question: Question) -> None:
        answer = self._answers(question)
        if answer is not None:
            self.answer(question.key, answer)

    def _await(self, key: str, wait: str) -> Reply:
        seconds = self._waited(wait)
        with self._changed:
            self._check_going_on()
            if key not in self._asked:
                raise ProblemError(HTTPStatus.NOT_FOUND, f"nobody has asked {key}")
            self._changed.wait_for(lambda: key in self._answered or self.is_cancelled, seconds)
            if key in self._answered:
                return reply(HTTPStatus.OK, {"answer": self._answered[key]})
            if self.is_cancelled:
                return reply(HTTPStatus.OK, {"answer": {"action": "cancel"}})
        return reply(HTTPStatus.ACCEPTED, {"cancelRequested": False})

    def _waited(self, wait: str) -> float:
        try:
            seconds = float(wait)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds <= MOST_WAIT_SECONDS:
            raise ProblemError(
                HTTPStatus.UNPROCESSABLE_ENTITY, f"wait: must be from 0 to {MOST_WAIT_SECONDS:g}", field="wait"
            )
        return seconds

    def _add(self, post: str | None, body: bytes) -> Reply:
        members = object_of(body, known=("content",))
        check_content(members, may_be_empty=False)
        with self._changed:
            self._check_going_on()
            if post is None or post not in self._posts:
                size = _size(members["content"])
                check_size("content", size, before=self._parts_bytes)
                self._parts_bytes += size
                self.parts.extend(members["content"])
            if post is not None:
                self._posts.add(post)
        return Reply(status=int(HTTPStatus.NO_CONTENT))

    def _take_result(self, body: bytes, last: str | None) -> Reply:
        progress = None if last is None else progress_of(last.encode(), at="Mcptask-Progress")
        result = object_of(body)
        check_result(result)
        with self._changed:
            is_new = self.result is None
            if self.result is not None and self.result != result:
                raise ProblemError(HTTPStatus.CONFLICT, "another result was given")
            if self.result is None and self.is_cancelled:
                raise ProblemError(HTTPStatus.CONFLICT, "the task is being stopped")
            check_size("result", len(body), before=self._parts_bytes)
            self.result = result
            is_news = progress is not None and is_new and self._keep(progress)
            self._changed.notify_all()
        if progress is not None and is_news:
            self._told(progress)
        return Reply(status=int(HTTPStatus.NO_CONTENT))

    def _check_going_on(self) -> None:
        if self.result is not None:
            raise ProblemError(HTTPStatus.CONFLICT, "the task is over")

    def wait_for(self, condition: Callable[[], bool], *, seconds: float | None = None) -> bool:
        """Wait until something is so that this desk knows; whether it came to be in time."""
        with self._changed:
            return self._changed.wait_for(condition, seconds)


def _size(document: Any) -> int:
    return len(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())


def _question(key: str, asked: Mapping[str, Any]) -> Question:
    return Question(key=key, message=asked["message"], form=asked["requestedSchema"])
