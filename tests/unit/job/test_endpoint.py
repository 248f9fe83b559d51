"""Requests to the task endpoint: repeated until they are done, and refused with words where they never will be."""

import json
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from mcptasks.job.backoff import delay_seconds
from mcptasks.job.endpoint import Endpoint, Request, json_body
from mcptasks.job.errors import JobError, OvertakenError, RefusedError, TooLargeError, UnreachableError
from mcptasks.job.standin.bodies import ProblemError, Reply

LOOK = Request(method="GET")


class Time:
    """Time that passes by waiting alone."""

    def __init__(self) -> None:
        self.now, self.pauses = 0.0, list[float]()

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def endpoint(bench: Any, time: Time) -> Endpoint:
    return Endpoint(bench.stand_in.url, bench.stand_in.token_file, clock=time, pause=time.pause)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_request_that_is_not_done_now_is_repeated(bench: Any, endpoint: Endpoint, time: Time, status: int) -> None:
    bench.desk.troubles = [Reply(status=status)] * 5

    assert endpoint.request(LOOK).body["taskId"] == "mt-bench"
    assert len(time.pauses) == 5
    assert time.pauses == sorted(time.pauses)


def test_it_waits_as_long_as_it_is_asked_to(bench: Any, endpoint: Endpoint, time: Time) -> None:
    bench.desk.troubles = [Reply(status=503, headers={"Retry-After": "7"})]

    endpoint.request(LOOK)

    assert time.pauses == [7.0]


def test_an_answer_that_is_no_json_is_asked_for_again(bench: Any, endpoint: Endpoint) -> None:
    bench.desk.after = [Reply(status=200, body=b"<html>"), Reply(status=200, body=b"[1]")]

    assert endpoint.request(LOOK).body["taskId"] == "mt-bench"


def test_nobody_there_is_told_once_patience_ends(tmp_path: Path, time: Time, unused_tcp_port: int) -> None:
    endpoint = Endpoint(f"http://127.0.0.1:{unused_tcp_port}/v1/tasks/x", None, clock=time, pause=time.pause)

    with pytest.raises(UnreachableError, match="Connection refused"):
        endpoint.request(LOOK, patience=60)
    assert 50 < time.now <= 60
    assert max(time.pauses) <= 5


def test_what_has_become_pointless_is_not_repeated(bench: Any, endpoint: Endpoint) -> None:
    bench.desk.troubles = [Reply(status=503)] * 9
    asked: list[int] = []

    def goes_on() -> None:
        asked.append(1)
        if len(asked) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        endpoint.request(LOOK, goes_on=goes_on)
    assert len(bench.desk.seen) == 2


def test_the_token_is_read_anew_for_each_request(bench: Any, endpoint: Endpoint) -> None:
    token = bench.stand_in.token_file.read_text()
    bench.stand_in.token_file.write_text("the old one\n")

    def rotated(seconds: float) -> None:
        bench.stand_in.token_file.write_text(token)

    endpoint._pause = rotated

    assert endpoint.request(LOOK).body["taskId"] == "mt-bench"


def test_a_token_that_stays_unknown_is_told(bench: Any, endpoint: Endpoint) -> None:
    bench.stand_in.token_file.write_text("foreign")

    with pytest.raises(RefusedError, match="401: the token is not this task's") as raised:
        endpoint.request(LOOK)
    assert raised.value.status == 401


def test_a_token_file_that_is_not_there_is_waited_for(bench: Any, endpoint: Endpoint) -> None:
    bench.stand_in.token_file.unlink()

    with pytest.raises(UnreachableError, match="token cannot be read: FileNotFoundError"):
        endpoint.request(LOOK, patience=30)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (HTTPStatus.FORBIDDEN, RefusedError),
        (HTTPStatus.NOT_FOUND, RefusedError),
        (HTTPStatus.CONFLICT, OvertakenError),
        (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, TooLargeError),
        (HTTPStatus.UNPROCESSABLE_ENTITY, RefusedError),
        (HTTPStatus.FAILED_DEPENDENCY, RefusedError),
    ],
)
def test_a_refusal_is_told_in_the_endpoints_words(
    bench: Any, endpoint: Endpoint, status: HTTPStatus, kind: type[RefusedError]
) -> None:
    bench.desk.troubles = [ProblemError(status, "so and so", field="progress").reply()]

    with pytest.raises(kind, match=r"^so and so$") as raised:
        endpoint.request(LOOK)
    assert (raised.value.status, raised.value.field) == (status, "progress")
    assert len(bench.desk.seen) == 1


def test_a_refusal_without_words_has_its_status(bench: Any, endpoint: Endpoint) -> None:
    bench.desk.troubles = [Reply(status=404, body=b"<html>", content_type="text/html")]

    with pytest.raises(RefusedError, match="Not Found"):
        endpoint.request(LOOK)


def test_an_answer_that_tells_of_a_cancel_is_remembered(bench: Any, endpoint: Endpoint) -> None:
    endpoint.request(LOOK)
    assert not endpoint.is_stopping
    bench.desk.cancel()
    endpoint.request(LOOK)

    assert endpoint.is_stopping


@pytest.mark.parametrize("url", ["", "tasks.ns.svc/v1", "ftp://tasks/v1", "http:///v1"])
def test_a_url_that_is_none_is_named(url: str) -> None:
    with pytest.raises(JobError, match=r"\$MCPTASK_URL is not an http URL"):
        Endpoint(url, None)


def test_the_wait_grows_to_five_seconds_and_is_never_the_same_for_all() -> None:
    shortest = [delay_seconds(failures, chance=0) for failures in range(1, 100)]
    longest = [delay_seconds(failures, chance=0.999) for failures in range(1, 100)]

    assert shortest == sorted(shortest)
    assert max(longest) <= 5
    assert all(low < high for low, high in zip(shortest, longest, strict=True))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_cannot_hold_never_leaves(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        json_body({"progress": value})


def test_integers_stay_whole() -> None:
    assert json.loads(json_body({"n": 2**80})) == {"n": 2**80}


MINUTE = 60.0
FORM: dict[str, Any] = {"type": "object", "properties": {"sure": {"type": "boolean"}}}
SAID = [
    Request(method="PUT", path="/progress", body=json_body({"progress": 3, "total": 10})),
    Request(method="PUT", path="/questions/sure", body=json_body({"message": "Sure?", "requestedSchema": FORM})),
    Request(
        method="POST",
        path="/content",
        body=json_body({"content": [{"type": "text", "text": "first"}]}),
        headers={"Idempotency-Key": "one"},
    ),
    Request(method="PUT", path="/result", body=json_body({"content": [{"type": "text", "text": "done"}]})),
]


@pytest.mark.parametrize("is_done", [False, True], ids=["nothing arrives", "all arrives and no answer comes back"])
def test_an_endpoint_that_is_away_for_a_minute_is_told_everything_once(
    bench: Any, endpoint: Endpoint, time: Time, is_done: bool
) -> None:
    away = [Reply(status=502)] * 10_000

    def pause(seconds: float) -> None:
        time.pause(seconds)
        if time.now >= until:
            bench.desk.troubles, bench.desk.after = [], []

    endpoint._pause = pause
    for request in SAID:
        until = time.now + MINUTE
        bench.desk.troubles, bench.desk.after = ([], list(away)) if is_done else (list(away), [])
        endpoint.request(request)
        assert until <= time.now < until + 6

    assert [each["progress"] for each in bench.desk.progress][-1] == 3
    assert list(bench.desk.questions) == ["sure"]
    assert bench.desk.whole_result["content"] == [{"type": "text", "text": "first"}, {"type": "text", "text": "done"}]
