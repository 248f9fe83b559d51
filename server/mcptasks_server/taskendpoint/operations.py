"""What a pod may do with its task. Each of these may be done twice.

What must not be lost is written at once, into the very version of the task that was looked at, so that neither an old
pod nor another replica can come between. The API server's rules have the last word.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

import orjson

from mcptasks_crds import limits
from mcptasks_crds.answers import next_key
from mcptasks_crds.arguments import ARGUMENTS_FILE
from mcptasks_crds.asking import answer_for, asked_by_now, is_being_stopped, is_left_behind, pod_questions
from mcptasks_crds.limits import stored_bytes
from mcptasks_crds.task import McpTask, Progress, Question, Report
from mcptasks_server.errors import RefusedError, UnavailableError
from mcptasks_server.projection import is_over
from mcptasks_server.tasks import TaskNotFoundError

from .bodies import ContentBody, ProgressBody, QuestionBody, ResultBody
from .keeping import Keeping
from .patches import (
    content_key,
    progress_of,
    progress_patch,
    question_of,
    question_patch,
    result_patch,
    too_large_patch,
)
from .problems import (
    LaterProblem,
    MalformedProblem,
    NotCurrentProblem,
    NotThereProblem,
    OtherProblem,
    OverProblem,
    Problem,
    RefusedProblem,
    TooLargeProblem,
)
from .reporter import Reporter
from .store import NotTakenError, OvertakenError, ReportStore
from .toolarge import Sampled

MOST_TRIES: Final = 8
"""How often a write is made anew because others wrote to the task meanwhile."""

DoneT = TypeVar("DoneT")
_OVER: Final = "The task is over"


@dataclass(frozen=True, kw_only=True)
class Judged(Generic[DoneT]):
    """What a request comes to, as its task stands."""

    gives: DoneT
    report: Mapping[str, Any] | None = None
    """What has to be written for it, into that very version of the task; None: nothing."""


Judge = Callable[[McpTask], Awaitable[Judged[DoneT]]]
"""What a request comes to. Raises the `Problem` that it meets."""


@dataclass(frozen=True, kw_only=True)
class Operations:
    """What pods do, at this replica."""

    store: ReportStore
    reporter: Reporter
    keeping: Keeping
    clock: Callable[[], datetime]
    stopping: asyncio.Event
    """Set once the process was told to end."""

    async def task(self, task_id: str, *, pod: str) -> dict[str, Any]:
        """The task as its pod may know it."""
        task = await self._living(task_id, pod)
        arguments = task.spec.arguments
        keys = sorted({*task.spec.answers, *pod_questions(task)})
        answers = {key: text for key in keys if (text := answer_for(task, key)) is not None}
        return {
            "taskId": task_id,
            "tool": task.spec.tool.name,
            # Those in a Secret are not ours to read: they are in the pod's own file.
            "arguments": None if arguments is None else orjson.Fragment(arguments),
            "argumentsFile": ARGUMENTS_FILE,
            "answers": {key: orjson.Fragment(text) for key, text in answers.items()},
            **_seen(task),
        }

    async def progress(
        self, task_id: str, body: ProgressBody, *, seconds: float, pod: str
    ) -> tuple[bool, dict[str, Any]]:
        """Take the newest progress, to be written soon; waits for that so long at most, and says whether it is."""
        task = self.store.known(task_id)
        if task is None or _pod_uid(task) != pod:
            task = await self._fresh(task_id)
        _check_pod(task, pod)
        _check_alive(task)
        self.reporter.report(task_id, progress_of(body, pod_uid=pod))
        if not seconds:
            return False, _seen(task)
        try:
            is_written = await self.reporter.written(task_id, seconds=seconds)
        except RefusedError as error:
            raise RefusedProblem(error.message) from error
        task = self._seen_now(task_id)
        _check_pod(task, pod)
        _check_alive(task)  # whatever it was, the end has come before it
        return is_written, _seen(task)

    async def ask(self, task_id: str, key: str, body: QuestionBody, *, pod: str) -> bool:
        """Ask a question. Says whether it is new."""

        async def judge(task: McpTask) -> Judged[bool]:
            _check_pod(task, pod)
            asked_as = asked_by_now(task, key)
            known = pod_questions(task).get(asked_as)
            if known is not None and not is_left_behind(task, asked_as):
                if known == question_of(body, now=known.asked_at):
                    return Judged(gives=False)
                raise OtherProblem("The question was asked in other words: take another key", field="key")
            if key in task.spec.questions:
                raise OtherProblem("The tool itself asks a question with this key: take another one", field="key")
            if key in {seen.asked_again_as for seen in task.status.answers.values()}:
                raise OtherProblem("Another question is asked again with this key: take another one", field="key")
            _check_alive(task)
            if is_being_stopped(task):
                raise OverProblem("The task is being stopped: nobody answers any more")
            question = question_of(body, now=self.clock())
            _check_room_for(question, pod_questions(task))
            asked = _key_of(task, key, is_again=known is not None)
            return Judged(gives=True, report=question_patch(asked, question))

        return await self._settled(task_id, judge)

    async def answer(self, task_id: str, key: str, *, seconds: float, pod: str) -> dict[str, Any]:
        """The answer to a question, waited for so long; without it where there is none yet."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        task = await self._living(task_id, pod)
        if key not in pod_questions(task) and key not in task.spec.questions:
            raise NotThereProblem("No such question was asked", field="key")
        with self.store.watch([task_id]) as changes:
            news, stop = loop.create_task(changes.next()), loop.create_task(self.stopping.wait())
            try:
                while True:
                    text = answer_for(task, key)
                    if text is not None:
                        return {"answer": orjson.Fragment(text), **_seen(task)}
                    if loop.time() >= until or stop.done():
                        return _seen(task)
                    await asyncio.wait({news, stop}, timeout=until - loop.time(), return_when=asyncio.FIRST_COMPLETED)
                    if news.done():
                        news = loop.create_task(changes.next())
                        task = self._seen_now(task_id)
                        _check_pod(task, pod)
                        _check_alive(task)
            finally:
                for waiting in (news, stop):
                    waiting.cancel()
                await asyncio.gather(news, stop, return_exceptions=True)

    async def add_content(self, task_id: str, body: ContentBody, *, key: str | None, pod: str) -> None:
        """Add parts that come before those of the result. `key`: by which a repetition is known."""
        hashed = content_key(secrets.token_hex() if key is None else key)

        async def judge(task: McpTask) -> Judged[None]:
            _check_pod(task, pod)
            report = task.status.report or Report()
            if hashed in report.content_keys:
                return Judged(gives=None)
            _check_alive(task)
            if report.has_result:
                raise OtherProblem("The result was given: nothing is put before it any more")
            if len(report.content_keys) >= limits.MAX_CONTENT_POSTS:
                raise TooLargeProblem(f"At most {limits.MAX_CONTENT_POSTS} times parts are added: give more at once")
            return Judged(gives=None, report=await self.keeping.content(task, report, body, key=hashed))

        await self._settled(task_id, judge)

    async def give_result(
        self, task_id: str, body: ResultBody | Sampled, *, progress: ProgressBody | None, pod: str
    ) -> None:
        """Give the result, once. One that is too large is remembered, for where the program ends without another.

        `progress`: the last one, which is written with it.
        """
        said = None if progress is None else progress_of(progress, pod_uid=pod)

        async def judge(task: McpTask) -> Judged[Problem | None]:
            _check_pod(task, pod)
            report = task.status.report or Report()
            if report.has_result:
                if await self.keeping.is_given(task, report, body):
                    return Judged(gives=None)
                raise OtherProblem("Another result was given")
            _check_alive(task)
            if task.status.stopping is not None:
                raise OverProblem("The task is being stopped: no result is taken any more")
            refusal = self.keeping.refusal(report, body)
            if refusal is not None:
                problem = TooLargeProblem(self.keeping.words_of(refusal, report), field="result")
                if refusal == report.too_large:
                    raise problem
                kept = {**too_large_patch(refusal), **self._last_progress(task, pod, said)}
                return Judged(gives=problem, report=kept)
            assert isinstance(body, ResultBody)  # a body that was not read as a whole never fits
            given = await self.keeping.result(task, report, body)
            return Judged(gives=None, report={**result_patch(given), **self._last_progress(task, pod, said)})

        problem = await self._settled(task_id, judge)
        if problem is not None:
            raise problem

    def _last_progress(self, task: McpTask, pod: str, said: Progress | None) -> dict[str, Any]:
        """What is to be written of progress that is not written yet, whichever replica was told it."""
        report = task.status.report
        stands = None if report is None else report.progress
        last = stands if stands is not None and stands.pod_uid == pod else None
        for each in (self.reporter.taken(task.metadata.name), said):
            if each is not None and each.pod_uid == pod and (last is None or each.progress >= last.progress):
                last = each
        return {} if last is None or last == stands else progress_patch(last)

    async def _settled(self, task_id: str, judge: Judge[DoneT]) -> DoneT:
        """What a request comes to, judged anew as long as others come between."""
        with _as_problems():
            done = await self._settled_unseen(task_id, judge)
            if done is not None:
                return done.gives
            refusal = ""
            for _ in range(MOST_TRIES):
                task = await self.store.fresh(task_id)
                try:
                    return await self._made_so(task, await judge(task))
                except OvertakenError:
                    continue
                except NotTakenError as error:
                    # A rule may have spoken before the version was compared; if it speaks again, it means our write.
                    if refusal:
                        raise MalformedProblem(f"The cluster does not take it: {refusal}") from error
                    refusal = str(error)
            raise LaterProblem("Others keep writing to the task")

    async def _settled_unseen(self, task_id: str, judge: Judge[DoneT]) -> Judged[DoneT] | None:
        """The same, by what is known of the task; None where that may be old.

        Only a write proves that it is not: it is taken into the version that was judged, or not at all. So a request
        that writes is spared the look, and one that does not, or is refused, is judged by the task as it is.
        """
        known = self.store.whole(task_id)
        if known is None:
            return None
        try:
            judged = await judge(known)
            if judged.report is None:
                return None
            await self._made_so(known, judged)
        except (Problem, OvertakenError, NotTakenError):
            return None
        return judged

    async def _made_so(self, task: McpTask, judged: Judged[DoneT]) -> DoneT:
        if judged.report is not None:
            await self.store.write(task.metadata.name, dict(judged.report), version=task.metadata.resource_version)
        return judged.gives

    async def _living(self, task_id: str, pod: str) -> McpTask:
        task = await self._fresh(task_id)
        _check_pod(task, pod)
        _check_alive(task)
        return task

    async def _fresh(self, task_id: str) -> McpTask:
        with _as_problems():
            return await self.store.fresh(task_id)

    def _seen_now(self, task_id: str) -> McpTask:
        known = self.store.known(task_id)
        if known is None:
            raise OverProblem(f"{_OVER}: it is not there any more")
        return known


@contextmanager
def _as_problems() -> Iterator[None]:
    """What goes wrong with a task, as its pod is told it."""
    try:
        yield
    except TaskNotFoundError as error:
        raise OverProblem(f"{_OVER}: it is not there any more") from error
    except UnavailableError as error:
        raise LaterProblem(error.message) from error
    except RefusedError as error:
        raise RefusedProblem(error.message) from error


def _seen(task: McpTask) -> dict[str, Any]:
    return {"cancelRequested": is_being_stopped(task)}


def _pod_uid(task: McpTask) -> str | None:
    return None if task.status.job is None else task.status.job.pod_uid


def _check_pod(task: McpTask, pod: str) -> None:
    """That it is the pod of the task's current attempt who speaks.

    Raises:
        LaterProblem: which pod that is, is not recorded yet.
        NotCurrentProblem: it is another one, or the last one was another.
    """
    job, current = task.status.job, _pod_uid(task)
    if current is None and is_over(task):
        raise OverProblem(_OVER)
    if current is None and (job is None or job.pod_name is None):
        raise LaterProblem("The pod is not recorded yet: try again")
    if current != pod:
        raise NotCurrentProblem("The pod is not the task's current one", task=task)


def _key_of(task: McpTask, key: str, *, is_again: bool) -> str:
    """The key that a question gets: a new one where the pod of an earlier attempt has left it behind."""
    if not is_again:
        return key
    taken = {*pod_questions(task), *task.spec.questions, *task.spec.answers, *task.status.answers}
    again = next_key(key, taken=taken)
    if again is None:
        raise OtherProblem("The question was asked too often by earlier attempts: take another key", field="key")
    return again


def _check_alive(task: McpTask) -> None:
    if is_over(task):
        raise OverProblem(_OVER)
    if task.status.report is not None and task.status.report.has_result:
        raise OverProblem("The task has its result")


def _check_room_for(question: Question, asked: Any) -> None:
    if len(asked) >= limits.MAX_QUESTIONS:
        raise TooLargeProblem(f"A task asks at most {limits.MAX_QUESTIONS} questions")
    texts = sum(
        stored_bytes(each.message) + stored_bytes(each.requested_schema) for each in (*asked.values(), question)
    )
    if texts > limits.QUESTIONS_STORED_BYTES:
        raise TooLargeProblem(
            f"All questions of a task take at most {limits.QUESTIONS_STORED_BYTES} bytes as stored; these take {texts}"
        )
