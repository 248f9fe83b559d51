"""What a tool can do with its task, against the endpoint's stand-in."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcptasks.job import (
    ArgumentsError,
    DeclinedError,
    JobError,
    NoEndpointError,
    OvertakenError,
    RefusedError,
    Task,
    TaskCancelled,
    TooLargeError,
    boolean,
    choice,
    image,
    integer,
    text,
)
from mcptasks.job.standin.bodies import Reply

SECONDS = 20.0
ACCEPTED = {"action": "accept", "content": {"answer": "red"}}

Background = Callable[[Callable[[], Any]], Any]


@dataclass
class Arguments:
    n: int


def test_it_knows_what_it_is_and_what_was_asked_of_it(bench: Any) -> None:
    task = bench.task()

    assert (task.id, task.tool, task.arguments) == ("mt-bench", "bench", {"n": 3})
    assert task.arguments_as(Arguments) == Arguments(n=3)
    assert task.answers == {}


def test_the_arguments_come_from_the_endpoint_where_there_is_no_file(bench: Any) -> None:
    assert Task(bench.environment(MCPTASK_ARGUMENTS="")).arguments == {"n": 3}


def test_arguments_that_the_endpoint_does_not_have_are_in_the_file_that_it_names(bench: Any, tmp_path: Path) -> None:
    """Those of a tool with secrets are in no answer; and a program may have lost the variable that names the file."""
    (tmp_path / "secret.json").write_text('{"password": "hunter2"}')
    told = {"arguments": None, "argumentsFile": str(tmp_path / "secret.json")}
    bench.desk.after.append(Reply(status=200, body=json.dumps(told).encode()))

    assert Task(bench.environment(MCPTASK_ARGUMENTS="")).arguments == {"password": "hunter2"}


def test_a_file_of_arguments_that_cannot_be_read_is_an_error_that_names_it(bench: Any, tmp_path: Path) -> None:
    with pytest.raises(ArgumentsError, match=r"gone\.json cannot be read: FileNotFoundError"):
        _ = Task(bench.environment(MCPTASK_ARGUMENTS=str(tmp_path / "gone.json"))).arguments


def test_answers_that_were_given_before_the_start_are_there(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "answers.json").write_text('{"sure": {"action": "accept", "content": {"sure": true}}}')
    task = Task(bench.environment(MCPTASK_ANSWERS=str(tmp_path / "answers.json")))

    assert task.answers["sure"]["content"] == {"sure": True}


def test_progress_arrives_as_it_was_given(bench: Any) -> None:
    task = bench.task()
    task.progress(3, 10, "reading")
    task.flush(SECONDS)

    assert bench.desk.progress == [{"progress": 3, "total": 10, "message": "reading"}]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((-1,), "progress: must be a number from 0 on and is -1"),
        ((float("nan"),), "progress: must be"),
        ((float("inf"),), "progress: must be"),
        ((1, float("nan")), "total: must be"),
        ((3, 2), "total: 2 is less than the progress, 3"),
    ],
)
def test_progress_that_is_none_is_refused_at_once(bench: Any, values: tuple[float, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        bench.task().progress(*values)


def test_a_tracked_loop_gives_its_items_and_tells_how_many_are_done(
    bench: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    task = bench.task()

    assert list(task.track("abc", "letters")) == ["a", "b", "c"]
    task.flush(SECONDS)
    assert bench.desk.progress[-1] == {"progress": 3, "total": 3, "message": "letters"}
    assert capsys.readouterr() == ("", "")


def test_a_tracked_iterator_has_no_total_unless_it_is_said_and_true(bench: Any) -> None:
    task = bench.task()
    assert list(task.track(iter("abc"))) == ["a", "b", "c"]
    task.flush(SECONDS)
    assert bench.desk.progress[-1] == {"progress": 3}

    assert list(task.track(iter("abc"), total=2)) == ["a", "b", "c"]
    task.flush(SECONDS)
    assert bench.desk.progress[-1] == {"progress": 3}


def test_an_answer_is_waited_for_and_given_back_as_its_type(bench: Any, in_background: Background) -> None:
    task = bench.task()
    asked = in_background(lambda: task.ask("Which colour?", choice(["red", "green"]), key="colour"))
    assert bench.desk.wait_for(lambda: "colour" in bench.desk.questions, seconds=SECONDS)

    bench.desk.answer("colour", ACCEPTED)

    assert asked.outcome() == "red"
    assert bench.desk.questions["colour"].message == "Which colour?"


def test_several_fields_are_answered_together(bench: Any) -> None:
    bench.answers["Who?"] = {"action": "accept", "content": {"name": "fox", "age": 3.0}}

    assert bench.task().ask("Who?", {"name": text(), "age": integer(), "tame": boolean(default=False)}) == {
        "name": "fox",
        "age": 3,
        "tame": False,
    }


@pytest.mark.parametrize(("action", "words"), [("decline", "declined: Why?"), ("cancel", "not answered: Why?")])
def test_a_decline_is_the_tools_to_handle(bench: Any, action: str, words: str) -> None:
    bench.answers["Why?"] = {"action": action}

    with pytest.raises(DeclinedError, match=words) as raised:
        bench.task().ask("Why?", text())
    assert raised.value.action == action


@pytest.mark.parametrize(
    ("answer", "sure"),
    [
        ({"action": "accept", "content": {"answer": True}}, True),
        ({"action": "accept", "content": {"answer": False}}, False),
        ({"action": "accept", "content": {}}, False),
        ({"action": "accept"}, False),
        ({"action": "decline"}, False),
        ({"action": "cancel"}, False),
    ],
)
def test_only_a_ticked_box_confirms(bench: Any, answer: dict[str, Any], sure: bool) -> None:
    bench.answers["Sure?"] = answer

    assert bench.task().confirm("Sure?") is sure


def test_a_program_that_runs_again_finds_the_answers_it_got(bench: Any) -> None:
    bench.answers["Sure?"] = {"action": "accept", "content": {"answer": True}}
    for _ in range(2):
        task = bench.task()
        assert [task.confirm("Sure?"), task.confirm("Sure?")] == [True, True]

    assert len(bench.desk.questions) == 2  # it asks twice, and each time the second time too


def test_the_same_key_in_other_words_is_a_mistake(bench: Any) -> None:
    bench.answers["One?"] = {"action": "accept", "content": {"answer": "x"}}
    task = bench.task()
    task.ask("One?", text(), key="k")

    with pytest.raises(OvertakenError, match="in other words"):
        task.ask("Two?", text(), key="k")


def test_a_key_that_is_none_is_named(bench: Any) -> None:
    with pytest.raises(RefusedError, match="key: must match") as raised:
        bench.task().ask("One?", text(), key="not a key")
    assert raised.value.field == "key"


def test_nothing_is_asked_or_said_twice_where_answers_get_lost(bench: Any) -> None:
    bench.answers["Which?"] = ACCEPTED
    task = bench.task()
    bench.desk.after = [Reply(status=502)] * 2
    assert task.ask("Which?", text()) == "red"

    bench.desk.after = [Reply(status=502)] * 2
    task.add("one part")
    bench.desk.after = [Reply(status=502)] * 2
    task.complete("done")

    assert len(bench.desk.questions) == 1
    assert [part["text"] for part in bench.desk.whole_result["content"]] == ["one part", "done"]


def test_a_result_has_all_its_parts(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n")
    task = bench.task()
    task.add("first", image(b"\x89PNG\r\n"))
    task.complete("done", structured={"rows": 1}, images=[b"GIF89a"], files=[tmp_path / "rows.csv"])

    result = bench.desk.whole_result
    assert [part["type"] for part in result["content"]] == ["text", "image", "text", "image", "resource"]
    assert result["structuredContent"] == {"rows": 1}


def test_the_last_progress_goes_before_the_result(bench: Any) -> None:
    task = bench.task()
    for number in range(100):
        task.progress(number)
    task.complete("done")

    assert bench.desk.progress[-1] == {"progress": 99}
    assert bench.desk.seen[-1] == ("PUT", "/result")


def test_the_last_progress_goes_with_the_result_where_the_endpoint_was_away_for_it(bench: Any) -> None:
    """Whichever of the two comes through first: the result does not overtake the progress."""
    task = bench.task()
    task.progress(1)
    task.flush(SECONDS)
    bench.desk.refused = {"/progress"}
    task.progress(2, 3, 'läuft "noch" ' + "é" * 2000)
    task.complete("done")

    assert bench.desk.result is not None
    last = bench.desk.progress[-1]
    assert (last["progress"], last["total"]) == (2, 3)
    assert last["message"].startswith('läuft "noch" éé')
    assert len(last["message"].encode()) <= 1024


def test_a_second_result_is_the_tools_mistake(bench: Any) -> None:
    task = bench.task()
    task.complete("done")

    with pytest.raises(JobError, match="the result was given before"):
        task.complete("done")
    with pytest.raises(JobError, match="the result was given before"):
        task.progress(1)
    with pytest.raises(OvertakenError, match="another result was given"):
        bench.task().complete("something else")


def test_a_result_that_is_too_large_names_the_limit(bench: Any) -> None:
    bench.task().add("x" * 300_000)
    with pytest.raises(TooLargeError, match=r"takes 1100[0-9]{3} bytes; at most 1048576"):
        bench.task().complete("x" * 800_000)
    bench.task().complete("x" * 700_000)

    assert [len(part["text"]) for part in bench.desk.whole_result["content"]] == [300_000, 700_000]


def test_parts_that_are_too_large_together_are_refused(bench: Any) -> None:
    bench.task().add("x" * 600_000)

    with pytest.raises(TooLargeError, match=r"content.*at most 1048576"):
        bench.task().add("x" * 600_000)


def test_a_cancel_is_told_at_the_next_call(bench: Any) -> None:
    task = bench.task()
    assert not task.cancelled
    bench.desk.cancel()
    task.progress(1)
    task.flush(SECONDS)

    assert task.cancelled
    calls: list[Callable[[], Any]] = [
        lambda: task.progress(2),
        lambda: task.ask("?", text()),
        lambda: task.add("x"),
        lambda: task.complete("done"),
    ]
    for call in calls:
        with pytest.raises(TaskCancelled):
            call()
    with pytest.raises(TaskCancelled):
        next(task.track([1]))


def test_a_cancel_is_seen_by_who_only_looks(bench: Any) -> None:
    task = bench.task()
    bench.desk.cancel()
    assert not task.cancelled  # it never waits: the look is under way
    task.flush(SECONDS)

    assert task.cancelled


def test_a_cancel_ends_the_wait_for_an_answer(bench: Any, in_background: Background) -> None:
    task = bench.task()
    asked = in_background(lambda: task.ask("Which?", text(), key="k"))
    assert bench.desk.wait_for(lambda: "k" in bench.desk.questions, seconds=SECONDS)

    bench.desk.cancel()

    assert isinstance(asked.outcome(), TaskCancelled)


def test_a_question_of_a_task_that_is_being_stopped_is_not_asked(bench: Any) -> None:
    bench.desk.cancel()

    with pytest.raises(TaskCancelled):
        bench.task().ask("Which?", text())
    assert bench.desk.questions == {}


def test_what_a_task_says_that_is_over_does_not_count(bench: Any) -> None:
    bench.task().complete("done")
    late = bench.task()

    with pytest.raises(TaskCancelled, match="the task is over"):
        late.ask("Which?", text())
    with pytest.raises(TaskCancelled, match="the task is over"):
        late.add("more")


def test_progress_of_a_task_that_is_over_tells_the_program(bench: Any) -> None:
    bench.task().complete("done")
    late = bench.task()
    late.progress(1)
    late.flush(SECONDS)

    assert late.cancelled
    with pytest.raises(TaskCancelled):
        late.progress(2)


def test_an_error_is_no_exception_that_a_loop_swallows() -> None:
    assert not issubclass(TaskCancelled, Exception)


def test_an_endpoint_that_is_away_is_waited_for(bench: Any, tmp_path: Path, in_background: Background) -> None:
    bench.answers["Which?"] = ACCEPTED
    task = bench.task()
    task.progress(1)
    task.flush(SECONDS)
    bench.desk.troubles = [Reply(status=503, headers={"Retry-After": "0"})] * 4

    assert task.ask("Which?", text()) == "red"
    task.complete("done")
    assert bench.desk.result is not None


def test_without_an_endpoint_only_questions_and_parts_are_missing(tmp_path: Path) -> None:
    (tmp_path / "arguments.json").write_text('{"n": 3}')
    task = Task({"MCPTASK_ARGUMENTS": str(tmp_path / "arguments.json"), "MCPTASK_RESULT": str(tmp_path / "result")})

    assert task.arguments == {"n": 3}
    assert list(task.track("ab")) == ["a", "b"]
    assert not task.cancelled
    calls: list[Callable[[], Any]] = [
        lambda: task.ask("?", text()),
        lambda: task.confirm("?"),
        lambda: task.add("x"),
    ]
    for call in calls:
        with pytest.raises(NoEndpointError, match=r"needs the task endpoint, and \$MCPTASK_URL is not set"):
            call()
    task.complete("done")
    assert (tmp_path / "result").read_text() == "done"


def test_a_program_outside_of_a_task_is_told_how_to_run_it() -> None:
    with pytest.raises(ArgumentsError, match=r"python -m mcptasks\.job\.run"):
        _ = Task({}).arguments


def test_a_tool_error_without_an_endpoint_is_an_exit_code(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as raised:
        Task({"MCPTASK_RESULT": str(tmp_path / "result")}).complete("no such city", is_error=True)

    assert raised.value.code == 1
    assert (tmp_path / "result").read_text() == "no such city"


def test_threads_that_begin_at_once_report_by_one_way(bench: Any) -> None:
    task = bench.task()
    before = threading.active_count()
    together = threading.Barrier(8)

    def report(number: int) -> None:
        together.wait(SECONDS)
        task.progress(number)

    threads = [threading.Thread(target=report, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    task.progress(8)
    task.flush(SECONDS)

    assert bench.desk.progress[-1] == {"progress": 8}
    assert threading.active_count() <= before + 2  # the reporter's, and perhaps one of the stand-in's
