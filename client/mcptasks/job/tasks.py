"""The task that this program runs for."""

import atexit
import math
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from threading import Event, Lock
from typing import Any, Final, NoReturn, TypeVar, overload

from . import arguments, fields
from .asking import answer_to, end_if_over, is_being_stopped
from .endpoint import Endpoint, Request, json_body
from .environment import Environment, read_environment
from .errors import (
    ArgumentsError,
    DeclinedError,
    JobError,
    NoEndpointError,
    OvertakenError,
    TaskCancelled,
    UnreachableError,
)
from .fields import Field
from .files import write_result
from .parts import Part, Source, file, image, text_part
from .questions import Question, accepted, derived_key
from .reporter import LOOK, Reporter
from .results import result_of
from .running import run_tool
from .saying import PROGRESS_HEADER, header_of, progress_of
from .termination import Termination
from .way import Way

T = TypeVar("T")
LOOK_SECONDS: Final = 1.0
"""How old what is known of a cancel may become while a tool asks for it."""
FLUSH_SECONDS: Final = 60.0
EXIT_SECONDS: Final = 12.0
"""How long a program that ends without a result waits until its last progress is written."""
STOPPED_SECONDS: Final = 2.0
"""The same, where it is being stopped."""
ANSWER_FIELD: Final = "answer"
"""The field's name in a form that has only one."""

abandoned: Final[ContextVar[Event | None]] = ContextVar("abandoned", default=None)
"""Set where whoever waits for what this thread does has given up."""


class Task:
    """The task that this program runs for. `mcptasks.job.task` is the one of this process.

    Every method but `arguments` may raise `TaskCancelled`. Without a task endpoint (`$MCPTASK_URL` is not set) progress
    goes nowhere, results go by file, and whoever asks is told that there is nobody to ask.
    """

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        """`variables`: the environment; None: this process' own, read when it is first needed."""
        self._variables = variables
        self.termination = Termination()
        self.is_run = False
        """Whether `run` will end the process."""
        self._found: Way | None = None
        self._finding = Lock()
        self._looked_at = -math.inf
        self._asked: dict[str, int] = {}
        self._progress: bytes | None = None
        """The newest, as it is sent."""
        self._is_settled = False
        self.is_completed = False
        """Whether the result was given."""

    @property
    def id(self) -> str | None:
        """The task's id, by which its client knows it."""
        return self._environment.task_id

    @property
    def tool(self) -> str | None:
        """The tool's name."""
        return self._environment.tool

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """The call's arguments, as the client sent them; defaults of the schema are not filled in.

        Raises:
            ArgumentsError: there are none, or they cannot be read.
        """
        file, endpoint = self._environment.arguments_file, self._endpoint
        if file is None and endpoint is not None:  # somebody has taken the variable away
            told = endpoint.request(Request(method="GET")).body
            found, path = told.get("arguments"), told.get("argumentsFile")
            if isinstance(found, dict):
                return found
            file = Path(path) if isinstance(path, str) else None
        if file is None:
            raise ArgumentsError("$MCPTASK_ARGUMENTS is not set: on your own machine, use python -m mcptasks.job.run")
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ArgumentsError(f"the arguments' file {file} cannot be read: {type(error).__name__}") from error
        return arguments.read_arguments(text)

    def arguments_as(self, model: type[T]) -> T:
        """The arguments as a dataclass or pydantic model of your own.

        Raises:
            ArgumentsError: they do not fit; names the argument.
        """
        return arguments.as_model(self.arguments, model)

    @cached_property
    def answers(self) -> dict[str, Any]:
        """The answers to what the tool asked before it started: MCP's form, by the questions' keys."""
        file = self._environment.answers_file
        return {} if file is None else arguments.read_arguments(file.read_text("utf-8"))

    @property
    def cancelled(self) -> bool:
        """Whether the task is being stopped. Never waits: what it says may be a second old."""
        endpoint, reporter = self._endpoint, self._reporter
        if endpoint is None or reporter is None:
            return self.termination.is_wanted
        now = time.monotonic()
        if now - self._looked_at > LOOK_SECONDS:
            self._looked_at = now
            reporter.put(LOOK)
        return self.termination.is_wanted or endpoint.is_stopping

    def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the work is. Never waits; of many values the newest is sent, and the last one always.

        Raises:
            ValueError: a number is negative or not finite, or the total is less than the progress.
        """
        self._go_on()
        said = progress_of(progress, total, message)
        if self._reporter is not None:
            self._progress = json_body(said)
            self._looked_at = time.monotonic()  # its answer tells whether the task is being stopped
            self._reporter.put(Request(method="PUT", path="/progress", body=self._progress))

    def track(self, items: Iterable[T], message: str | None = None, *, total: float | None = None) -> Iterator[T]:
        """Give one item after the other, and tell how many are done. Draws nothing.

        `total` is found by `len` where it can be.
        """
        if total is None:
            size = getattr(items, "__len__", None)
            total = None if size is None else size()
        done = 0
        self.progress(done, total, message)
        for item in items:
            yield item
            done += 1
            total = None if total is None or done > total else total
            self.progress(done, total, message)

    @overload
    def ask(
        self,
        message: str,
        form: Field[T],
        *,
        key: str | None = None,
        model_may_answer: bool = False,
        expiry_seconds: int | None = None,
    ) -> T: ...
    @overload
    def ask(
        self,
        message: str,
        form: Mapping[str, Field[Any]],
        *,
        key: str | None = None,
        model_may_answer: bool = False,
        expiry_seconds: int | None = None,
    ) -> dict[str, Any]: ...
    def ask(
        self,
        message: str,
        form: Field[Any] | Mapping[str, Field[Any]],
        *,
        key: str | None = None,
        model_may_answer: bool = False,
        expiry_seconds: int | None = None,
    ) -> Any:
        """Ask the person at the client, and wait for the answer, be it for days.

        Args:
            message: the question.
            form: one field (`text`, `number`, `integer`, `boolean`, `choice`, `choices`), whose value is given back; or
                several by their names, given back as a dictionary.
            key: the question's name in the task, up to 64 of `A-Z a-z 0-9 _ . -`; made of the question if left out.
            model_may_answer: whether a model may answer by itself.
            expiry_seconds: how long to wait (7 days unless it is said).

        Raises:
            DeclinedError: it was declined, put aside, or not answered in time.
            RefusedError: the question itself is refused: the form, the key, its length.
            NoEndpointError: there is nobody to ask.
        """
        whole = {ANSWER_FIELD: form} if isinstance(form, Field) else form
        schema = fields.form_of(whole)
        question = Question(
            key=self._key(message, schema) if key is None else key,
            message=message,
            form=schema,
            model_may_answer=model_may_answer,
            expiry_seconds=expiry_seconds,
        )
        self._go_on()
        answer = answer_to(question, self._needed("a question"), go_on=self._go_on)
        answers = fields.answers_of(whole, accepted(question, answer))
        return answers[ANSWER_FIELD] if isinstance(form, Field) else answers

    def confirm(
        self,
        message: str,
        *,
        key: str | None = None,
        model_may_answer: bool = False,
        expiry_seconds: int | None = None,
    ) -> bool:
        """Ask for a yes. Everything else is a no: an empty box, a decline, silence.

        Raises:
            NoEndpointError: there is nobody to ask.
        """
        try:
            return self.ask(
                message,
                fields.boolean("Yes", default=False),
                key=key,
                model_may_answer=model_may_answer,
                expiry_seconds=expiry_seconds,
            )
        except DeclinedError:
            return False

    def add(self, *added: Part | str) -> None:
        """Put parts into the result already now, before those that it is completed with.

        Raises:
            TooLargeError: together they are more than a task can keep.
            NoEndpointError: there is nobody to give them to.
        """
        self._go_on()
        content = [dict((text_part(each) if isinstance(each, str) else each).block) for each in added]
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        request = Request(method="POST", path="/content", body=json_body({"content": content}), headers=headers)
        endpoint = self._needed("a result in parts")
        try:
            endpoint.request(request, goes_on=self._go_on)
        except OvertakenError:
            end_if_over(endpoint, go_on=self._go_on)
            raise

    def complete(
        self,
        text: str | None = None,
        *,
        structured: Any = None,
        images: Sequence[Source | Part] = (),
        files: Sequence[Source | Part] = (),
        parts: Sequence[Part] = (),
        is_error: bool = False,
    ) -> None:
        """Give the result, and with it end the task: the pod is stopped soon after.

        Args:
            text: for people and models.
            structured: a mapping, dataclass or model, as the tool's `outputSchema` says.
            images: pictures: bytes, or paths of files.
            files: paths of files that are put into the result whole.
            parts: more of them (`audio`, `link`, ...).
            is_error: whether the tool failed.

        Raises:
            OvertakenError: another result was given before.
            TooLargeError: it is more than a task can keep.
            JobError: it cannot be written as JSON.
        """
        shown = [each if isinstance(each, Part) else image(each) for each in images]
        attached = [each if isinstance(each, Part) else file(each) for each in files]
        self.give(result_of(text, structured=structured, parts=[*shown, *attached, *parts], is_error=is_error))

    def give(self, result: Mapping[str, Any]) -> None:
        """Give a whole CallToolResult; see `complete`. A SIGTERM raises nothing any more from then on."""
        if self.is_completed:
            raise JobError("the result was given before")
        with self.termination.held_back():
            if self._endpoint is None:
                self._write(result)
            else:
                self._put(result, self._endpoint)
            self.is_completed = True
            self.termination.hold_back()
        if self._endpoint is None and result.get("isError") is True and not self.is_run:
            raise SystemExit(1)  # an exit code is all that says so without the endpoint

    def run(self, main: Callable[..., Any]) -> NoReturn:
        """Run a function, async or not, give what it returns as the result, and end the process.

        Its parameters are the arguments: each by its name, or all of them as one dictionary, dataclass or pydantic
        model. What it raises becomes a tool error with the exception's words; where in the program it was is printed.
        """
        raise SystemExit(run_tool(self, main))

    def flush(self, seconds: float = FLUSH_SECONDS) -> None:
        """Wait until the last progress is sent, for so long at most."""
        if self._reporter is not None:
            self._reporter.flush(seconds)

    def settle(self) -> None:
        """Before the program ends: see that its last progress is written. A result has taken it along."""
        if self._is_settled or self.is_completed or self._reporter is None:
            return
        self._is_settled = True
        self._reporter.flush(STOPPED_SECONDS if self._is_being_stopped else EXIT_SECONDS, is_last=True)

    @cached_property
    def _environment(self) -> Environment:
        if self._variables is not None:
            return read_environment(self._variables)
        self.termination.listen()
        return read_environment(os.environ)

    @property
    def _endpoint(self) -> Endpoint | None:
        way = self._way
        return None if way is None else way.endpoint

    @property
    def _reporter(self) -> Reporter | None:
        way = self._way
        return None if way is None else way.reporter

    @property
    def _way(self) -> Way | None:
        """To the endpoint; the same one, whichever thread asks first."""
        if self._found is None and self._environment.url is not None:
            with self._finding:
                if self._found is None:
                    self._found = Way(self._environment.url, self._environment.token_file)
                    atexit.register(self.settle)
        return self._found

    def _needed(self, what: str) -> Endpoint:
        if self._endpoint is None:
            raise NoEndpointError(f"{what} needs the task endpoint, and $MCPTASK_URL is not set")
        return self._endpoint

    def _go_on(self) -> None:
        """Raise where the tool should not."""
        given_up = abandoned.get()
        if given_up is not None and given_up.is_set():
            raise JobError("nobody waits for it any more")
        if self.is_completed:
            raise JobError("the result was given before")
        if self._is_being_stopped:
            raise TaskCancelled("the task is being stopped")

    @property
    def _is_being_stopped(self) -> bool:
        """As far as is known."""
        return self.termination.is_wanted or (self._endpoint is not None and self._endpoint.is_stopping)

    def _key(self, message: str, form: Mapping[str, Any]) -> str:
        first = derived_key(message, form, times=0)
        times = self._asked.get(first, 0)
        self._asked[first] = times + 1
        return derived_key(message, form, times=times)

    def _put(self, result: Mapping[str, Any], endpoint: Endpoint) -> None:
        # The last progress goes with it, so that neither overtakes the other, whichever replica gets them.
        last = {} if self._progress is None else {PROGRESS_HEADER: header_of(self._progress)}
        request = Request(method="PUT", path="/result", body=json_body(result), headers=last)
        try:
            endpoint.request(request)
        except OvertakenError as error:
            if is_being_stopped(endpoint):
                raise TaskCancelled(str(error)) from error
            raise  # another result was given
        except UnreachableError as error:
            # Whichever of the two arrives first counts, so nothing can be said twice.
            try:
                self._write(result)
            except NoEndpointError:
                raise error from None

    def _write(self, result: Mapping[str, Any]) -> None:
        write_result(result, self._environment.result_file)
