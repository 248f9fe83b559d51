"""A task endpoint's stand-in that can be made to fail, tasks that speak to it, and programs that are run against it."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from mcptasks.job import Task
from mcptasks.job.standin import Desk, StandIn
from mcptasks.job.standin.bodies import Reply

PROGRAM_SECONDS: Final = 30.0
OUTSIDE: Final = {name: value for name, value in os.environ.items() if not name.startswith(("ARG_", "MCPTASK_"))}
"""The tests may run in a task's pod themselves, whose endpoint is not theirs."""


class TroubledDesk(Desk):
    """A desk that fails as often as it is told to, and remembers what it was asked."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.troubles: list[Reply] = []
        self.after: list[Reply] = []
        """Sent in place of an answer, once the request was done."""
        self.refused: set[str] = set()
        """At these paths it is away."""
        self.seen: list[tuple[str, str]] = []

    def handle(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Fail first."""
        path = target.partition(f"/v1/tasks/{self.task_id}")[2]
        with self._changed:
            self.seen.append((method, path))
            self._changed.notify_all()
        if path in self.refused:
            return Reply(status=503)
        if self.troubles:
            return self.troubles.pop(0)
        reply = super().handle(method, target, headers, body)
        return self.after.pop(0) if self.after else reply


@dataclass(kw_only=True)
class Ended:
    """How a program ended."""

    code: int
    out: str
    err: str


@dataclass(kw_only=True)
class Bench:
    """A task with its endpoint's stand-in."""

    desk: TroubledDesk
    stand_in: StandIn
    directory: Path
    answers: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """By the question's words; others wait for `desk.answer`."""

    def environment(self, **more: str) -> dict[str, str]:
        """A pod's variables."""
        arguments = self.directory / "arguments.json"
        return {**self.stand_in.environment(), "MCPTASK_ARGUMENTS": str(arguments), **more}

    def task(self) -> Task:
        """The task, in this process."""
        return Task(self.environment())

    def run(self, source: str, **environment: str) -> Ended:
        """Run a program as the tool."""
        process = self.start(source, **environment)
        out, err = process.communicate(timeout=PROGRAM_SECONDS)
        return Ended(code=process.returncode, out=out, err=err)

    def start(self, source: str, **environment: str) -> subprocess.Popen[str]:
        """The same, without waiting for its end."""
        program = self.directory / "tool.py"
        program.write_text(source, "utf-8")
        return subprocess.Popen(
            [sys.executable, str(program)],
            env={**OUTSIDE, **self.environment(**environment)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A task whose endpoint listens."""
    answers: dict[str, Mapping[str, Any]] = {}
    desk = TroubledDesk(
        task_id="mt-bench", tool="bench", arguments='{"n": 3}', answers=lambda question: answers.get(question.message)
    )
    (tmp_path / "arguments.json").write_text('{"n": 3}')
    stand_in = StandIn(desk, directory=tmp_path)
    with stand_in.serving():
        yield Bench(desk=desk, stand_in=stand_in, directory=tmp_path, answers=answers)


@pytest.fixture
def in_background() -> Iterator[Callable[[Callable[[], Any]], "Background"]]:
    """Runs something in a thread, and gives what came of it."""
    started: list[Background] = []

    def start(work: Callable[[], Any]) -> Background:
        started.append(Background(work))
        return started[-1]

    yield start
    for each in started:
        each.thread.join(PROGRAM_SECONDS)
        assert not each.thread.is_alive()


class Background:
    """Work in a thread."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._outcome: list[Any] = []
        self.thread = threading.Thread(target=self._run, args=[work])
        self.thread.start()

    def _run(self, work: Callable[[], Any]) -> None:
        try:
            self._outcome.append(work())
        except BaseException as error:  # noqa: BLE001  # whatever it is, the test looks at it
            self._outcome.append(error)

    def outcome(self) -> Any:
        """What it gave or raised."""
        self.thread.join(PROGRAM_SECONDS)
        return self._outcome[0]
