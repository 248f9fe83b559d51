"""Progress on its way: the newest only, the last one always, and never in the way of the work."""

import threading

import pytest

from mcptasks.job.endpoint import Answer, NotNowError, Request
from mcptasks.job.errors import RefusedError
from mcptasks.job.reporter import LOOK, Reporter

SECONDS = 20.0


def value(number: int) -> Request:
    return Request(method="PUT", path="/progress", body=str(number).encode())


class Wire:
    """Takes requests one at a time, each only when the test lets it."""

    def __init__(self) -> None:
        self.sent: list[Request] = []
        self.let = threading.Semaphore(0)
        self.arrived = threading.Semaphore(0)
        self.fails: list[Exception] = []
        self.statuses: list[int] = []
        """Of the next answers; else 202."""

    def __call__(self, request: Request) -> Answer:
        self.arrived.release()
        assert self.let.acquire(timeout=SECONDS)
        self.sent.append(request)
        if self.fails:
            raise self.fails.pop(0)
        return Answer(status=self.statuses.pop(0) if self.statuses else 202, body={})


@pytest.fixture
def wire() -> Wire:
    return Wire()


def free(wire: Wire) -> None:
    for _ in range(1000):
        wire.let.release()


def test_a_thousand_values_wait_for_nobody_and_the_last_one_arrives(wire: Wire) -> None:
    reporter = Reporter(wire)
    reporter.put(value(0))
    assert wire.arrived.acquire(timeout=SECONDS)  # the first one is under way, and nothing comes back

    for number in range(1, 1001):
        reporter.put(value(number))
    free(wire)

    assert reporter.flush(SECONDS)
    assert wire.sent[0] == value(0)
    assert wire.sent[-1] == value(1000)
    assert len(wire.sent) < 10


def test_a_value_that_was_not_taken_gives_way_to_a_newer_one(wire: Wire) -> None:
    wire.fails = [NotNowError("503"), NotNowError("503")]
    reporter = Reporter(wire)
    reporter.put(value(1))
    assert wire.arrived.acquire(timeout=SECONDS)
    reporter.put(value(2))
    free(wire)

    assert reporter.flush(SECONDS)
    assert wire.sent[-1] == value(2)
    assert wire.sent.count(value(1)) == 1


def test_a_flush_gives_up_in_time_where_nothing_is_taken(wire: Wire) -> None:
    reporter = Reporter(wire)
    reporter.put(value(1))

    assert not reporter.flush(0.05)
    free(wire)
    assert reporter.flush(SECONDS)


def test_a_refused_value_is_told_once_and_does_not_come_again(wire: Wire, capsys: pytest.CaptureFixture[str]) -> None:
    refused = RefusedError("progress: must be a number", status=422)
    wire.fails = [refused, RefusedError("over", status=409), refused]
    free(wire)
    reporter = Reporter(wire)

    for number in (1, 2, 3):
        reporter.put(value(number))
        assert reporter.flush(SECONDS)

    assert wire.sent == [value(1), value(2), value(3)]
    assert capsys.readouterr().err == "mcptasks.job: progress is not taken: progress: must be a number\n"


def test_a_look_does_not_replace_a_value(wire: Wire) -> None:
    free(wire)
    reporter = Reporter(wire)
    reporter.put(LOOK)
    assert reporter.flush(SECONDS)
    reporter.put(value(1))
    reporter.put(LOOK)

    assert reporter.flush(SECONDS)
    assert wire.sent[0] == LOOK
    assert value(1) in wire.sent


def test_nothing_runs_before_the_first_value(wire: Wire) -> None:
    before = threading.active_count()
    reporter = Reporter(wire)

    assert reporter.flush(SECONDS)
    assert threading.active_count() == before


def test_at_the_end_the_last_value_is_sent_again_until_it_is_written(wire: Wire) -> None:
    wire.statuses = [202, 202, 202, 200]
    free(wire)
    reporter = Reporter(wire)
    reporter.put(value(1))
    assert reporter.flush(SECONDS)
    reporter.put(LOOK)

    assert reporter.flush(SECONDS, is_last=True)
    waited = [request for request in wire.sent if request.path == "/progress?wait=10"]
    assert wire.statuses == []
    assert {request.body for request in waited} == {b"1"}
    assert waited[-1].wait_seconds == 10


def test_a_server_that_does_not_wait_is_not_asked_without_a_pause(wire: Wire) -> None:
    free(wire)
    reporter = Reporter(wire)
    reporter.put(value(1))

    assert not reporter.flush(1.0, is_last=True)
    assert reporter.flush(SECONDS)
    assert wire.sent[-1] == value(1)  # nobody waits any more for it to be written
    assert len(wire.sent) <= 6


def test_what_is_known_to_be_written_is_not_sent_again(wire: Wire) -> None:
    wire.statuses = [200]
    free(wire)
    reporter = Reporter(wire)
    reporter.put(value(1))

    assert reporter.flush(SECONDS, is_last=True)
    assert reporter.flush(SECONDS, is_last=True)
    assert len(wire.sent) == 1


def test_at_the_end_what_is_refused_is_not_waited_for(wire: Wire) -> None:
    wire.fails = [RefusedError("over", status=409)]
    free(wire)
    reporter = Reporter(wire)
    reporter.put(value(1))

    assert reporter.flush(SECONDS, is_last=True)
    assert reporter.flush(SECONDS, is_last=True)
    assert len(wire.sent) == 1
