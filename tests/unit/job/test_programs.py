"""Whole programs, run as a pod runs them: what they return, raise, and how they stop."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mcptasks.job.standin.bodies import Reply

SECONDS = 20.0
SECRET = "hunter2-marker"


def texts(bench: Any) -> list[str]:
    return [part.get("text", part["type"]) for part in bench.desk.whole_result["content"]]


def program(body: str, *, head: str = "def main(n: int):") -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"from mcptasks.job import *\nfrom mcptasks.job import task\n{head}\n{lines}\ntask.run(main)\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return f'{n} rows'", ["3 rows"]),
        ("return {'rows': n}", ['{"rows": 3}']),
        ("pass", []),
        ("return [text_part('a'), image(b'GIF89a')]", ["a", "image"]),
        ("task.complete('mine'); return None", ["mine"]),
        ("raise SystemExit", []),
    ],
)
def test_what_the_function_returns_is_the_result(bench: Any, body: str, expected: list[str]) -> None:
    ended = bench.run(program(body))

    assert (ended.code, ended.err, texts(bench)) == (0, "", expected)
    assert bench.desk.whole_result["isError"] is False


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise ValueError('no such city')", "ValueError: no such city"),
        ("raise ToolError('no such city')", "no such city"),
        ("raise KeyError", "KeyError"),
        ("raise SystemExit('no such city')", "no such city"),
        ("return object()", "the result cannot be written as JSON: Object of type object is not JSON serializable"),
        ("task.arguments_as(dict)", ""),
        ("task.ask('a', choice(['x']), key='?')", "key: must match [A-Za-z0-9_.-]{1,64}"),
    ],
)
def test_what_it_raises_is_a_tool_error_in_its_words(bench: Any, body: str, words: str) -> None:
    ended = bench.run(program(body))

    assert ended.code == 1
    assert bench.desk.whole_result["isError"] is True
    assert texts(bench)[0].startswith(words)
    assert "Traceback" not in texts(bench)[0]


def test_no_stack_trace_with_secrets_is_shown_anywhere(bench: Any) -> None:
    ended = bench.run(
        program(
            f"""
password = "{SECRET}"
try:
    raise LookupError(password)
except LookupError as error:
    raise RuntimeError("cannot log in") from error
"""
        )
    )

    assert texts(bench) == ["RuntimeError: cannot log in"]
    assert SECRET not in ended.err + ended.out
    assert "RuntimeError" in ended.err
    assert "tool.py:" in ended.err


def test_arguments_that_do_not_fit_are_a_tool_error(bench: Any) -> None:
    ended = bench.run(program("pass", head="def main(n: str, m: int):"))

    assert (ended.code, texts(bench)) == (1, ["/n: must be a string"])


def test_an_async_function_runs_too(bench: Any) -> None:
    bench.answers["Which?"] = {"action": "accept", "content": {"answer": "red"}}
    source = """
import asyncio
from mcptasks.job import text
from mcptasks.job.aio import task

async def main(n: int) -> str:
    for _ in task.track(range(n)):
        await asyncio.sleep(0)
    return await task.ask("Which?", text())

task.run(main)
"""
    ended = bench.run(source)

    assert (ended.code, ended.err, texts(bench)) == (0, "", ["red"])
    assert bench.desk.progress[-1] == {"progress": 3, "total": 3}


def test_what_fails_in_a_group_of_async_tasks_is_told_in_its_own_words(bench: Any) -> None:
    source = """
import asyncio
from mcptasks.job import ToolError
from mcptasks.job.aio import task

async def fail(error):
    raise error

async def main():
    async with asyncio.TaskGroup() as group:
        group.create_task(fail(ToolError("no such city")))
        group.create_task(fail(KeyError("x")))

task.run(main)
"""
    ended = bench.run(source)

    assert (ended.code, texts(bench)) == (1, ["no such city; KeyError: 'x'"])


def test_a_cancel_that_a_group_of_async_tasks_is_told_ends_it(bench: Any) -> None:
    bench.desk.cancel()
    source = """
import asyncio
from mcptasks.job import text
from mcptasks.job.aio import task

async def main():
    async with asyncio.TaskGroup() as group:
        group.create_task(task.ask("Which?", text()))

task.run(main)
"""
    ended = bench.run(source)

    assert (ended.code, ended.err, bench.desk.result) == (143, "cancelled\n", None)


WORKING = "import time\ntask.progress(1)\nwhile True: time.sleep(0.01)"
ASKING = "task.ask('Which?', text())"
SWALLOWING = """
import time
task.progress(1)
while True:
    try:
        time.sleep(0.01)
    except Exception:
        pass
"""
CLEANING_UP = """
import time
task.progress(1)
try:
    while True: time.sleep(0.01)
finally:
    print('cleaned up', flush=True)
"""
ASYNC = "import asyncio\ntask.progress(1)\nawait asyncio.sleep(60)"


@pytest.mark.parametrize("body", [WORKING, ASKING, SWALLOWING, CLEANING_UP])
def test_a_sigterm_stops_it_at_once_wherever_it_is(bench: Any, body: str) -> None:
    process = bench.start(program(body))
    assert stopped(bench, process) == (143, "cleaned up\n" if body is CLEANING_UP else "", "cancelled\n")
    assert bench.desk.result is None


def test_a_sigterm_cancels_an_async_function(bench: Any) -> None:
    process = bench.start(program(ASYNC, head="async def main(n: int):"))

    assert stopped(bench, process) == (143, "", "cancelled\n")


def test_a_tool_without_run_stops_too(bench: Any) -> None:
    process = bench.start("from mcptasks.job import task\nimport time\ntask.progress(1)\nwhile True: time.sleep(0.01)")

    code, _, err = stopped(bench, process)
    assert code == 1
    assert err.splitlines()[-1].endswith("TaskCancelled: SIGTERM")


def test_a_handler_of_the_tools_own_stays(bench: Any) -> None:
    process = bench.start(
        "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        "from mcptasks.job import task\ntask.progress(1)\nwhile True: time.sleep(0.01)"
    )

    assert stopped(bench, process) == (7, "", "")


def test_a_forked_child_is_stopped_like_any_process_and_may_report(bench: Any) -> None:
    source = """
import os, signal, time
from mcptasks.job import task
task.progress(1)
child = os.fork()
if child == 0:
    task.progress(2, message="child")
    task.flush()
    time.sleep(60)
while not os.waitpid(child, os.WNOHANG)[0]:
    time.sleep(0.01)
    if os.path.exists("kill"):
        os.kill(child, signal.SIGTERM)
print("child ended")
"""
    process = bench.start(source.replace('"kill"', repr(str(bench.directory / "kill"))))
    assert bench.desk.wait_for(lambda: {"progress": 2, "message": "child"} in bench.desk.progress, seconds=SECONDS)
    (bench.directory / "kill").touch()

    out, _ = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (0, "child ended\n")


def stopped(bench: Any, process: subprocess.Popen[str]) -> tuple[int, str, str]:
    assert bench.desk.wait_for(lambda: bench.desk.progress or bench.desk.questions, seconds=SECONDS)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=SECONDS)
    return process.returncode, out, err


def test_a_sigterm_while_the_result_is_given_does_not_lose_it(bench: Any) -> None:
    bench.desk.troubles = [Reply(status=503)] * 3
    process = bench.start(program("return 'done'"))
    assert bench.desk.wait_for(lambda: bool(bench.desk.seen), seconds=SECONDS)
    os.kill(process.pid, signal.SIGTERM)
    _, err = process.communicate(timeout=SECONDS)

    assert (process.returncode, err, texts(bench)) == (0, "", ["done"])


def test_a_cancel_that_came_first_wins_over_the_result(bench: Any) -> None:
    bench.desk.cancel()
    ended = bench.run(program("return 'done'"))

    assert ended.code != 0
    assert bench.desk.result is None


def test_a_result_that_is_too_large_is_a_tool_error_with_its_ends(bench: Any) -> None:
    ended = bench.run(program("return 'begin ' + 'x' * 1_100_000 + ' end'"))

    assert ended.code == 1
    (text,) = texts(bench)
    assert text.startswith("the result was refused: ")
    assert "1048576" in text
    assert "begin x" in text
    assert text.endswith("x end")
    assert len(text) < 3000


def test_an_exit_code_is_the_programs_own_word(bench: Any) -> None:
    ended = bench.run(program("task.progress(1); raise SystemExit(7)"))

    assert (ended.code, bench.desk.result) == (7, None)
    assert bench.desk.progress == [{"progress": 1}]
    assert bench.desk.seen[-1] == ("PUT", "/progress?wait=10")


def test_the_last_progress_of_a_program_without_run_arrives(bench: Any) -> None:
    ended = bench.run("from mcptasks.job import task\nfor i in task.track(range(500)): pass")

    assert ended.code == 0
    assert bench.desk.progress[-1] == {"progress": 500, "total": 500}
    assert bench.desk.seen[-1] == ("PUT", "/progress?wait=10")


def test_without_an_endpoint_the_result_goes_by_the_file(bench: Any) -> None:
    result = bench.directory / "result"
    source = program("list(task.track(range(n)))\nreturn {'rows': n}")
    ended = bench.run(source, MCPTASK_URL="", MCPTASK_RESULT=str(result))

    assert (ended.code, ended.out, ended.err, result.read_text()) == (0, "", "", '{"rows": 3}')


def test_without_an_endpoint_an_error_is_an_exit_code(bench: Any) -> None:
    result = bench.directory / "result"
    ended = bench.run(program("raise ToolError('no such city')"), MCPTASK_URL="", MCPTASK_RESULT=str(result))

    assert (ended.code, result.read_text()) == (1, "no such city")


def test_the_endpoint_may_go_away_and_come_back_at_any_moment(bench: Any, tmp_path: Path) -> None:
    bench.answers["Which?"] = {"action": "accept", "content": {"answer": "red"}}
    source = program("list(task.track(range(n)))\ntask.add('part')\nreturn task.ask('Which?', text())")
    # Each request is answered at the third try, the second of which was done all the same.
    failing, lost = Reply(status=503, headers={"Retry-After": "0"}), Reply(status=502)

    class Flaky(type(bench.desk)):  # type: ignore[misc]
        def handle(self, method: str, target: str, headers: Any, body: bytes) -> Reply:
            tries = self.__dict__.setdefault("tries", {})
            tries[method, target] = tries.get((method, target), 0) + 1
            reply: Reply = super().handle(method, target, headers, body)
            return failing if tries[method, target] == 1 else lost if tries[method, target] == 2 else reply

    bench.desk.__class__ = Flaky
    ended = bench.run(source)

    assert (ended.code, texts(bench)) == (0, ["part", "red"])
    assert bench.desk.progress[-1] == {"progress": 3, "total": 3}
