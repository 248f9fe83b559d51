"""What the operator says of itself: logs, probes, metrics, events."""

import json
import logging
import subprocess
import sys
from datetime import UTC, datetime

import aiohttp
import pytest
from structlog.testing import capture_logs

from mcptasks_crds.kube import RetryableError
from mcptasks_crds.metadata import Metadata
from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import McpTask, TaskSpec, ToolReference
from mcptasks_operator.decision import RecordEvent
from mcptasks_operator.events import event_manifest
from mcptasks_operator.journal import EpisodeFilter, Journal
from mcptasks_operator.keys import Key
from mcptasks_operator.metrics import Metrics
from mcptasks_operator.probes import Checks, create_app, listening


def record(name: str, *, line: int = 1, created: float = 1000.0, level: int = logging.ERROR) -> logging.LogRecord:
    made = logging.LogRecord(name, level, "client.py", line, "attempt failed", None, None)
    made.created = created
    return made


def test_a_librarys_complaint_is_told_once_a_minute() -> None:
    episode = EpisodeFilter()

    told = [episode.filter(record("kopf._cogs.clients.api", created=1000.0 + second)) for second in (0, 1, 59, 61)]

    assert told == [True, False, False, True]


def test_another_complaint_and_our_own_words_are_not_held_back() -> None:
    episode = EpisodeFilter()
    episode.filter(record("kopf.a"))

    assert episode.filter(record("kopf.a", line=2))
    assert episode.filter(record("mcptasks_operator.x"))
    assert episode.filter(record("mcptasks_operator.x"))


def test_failures_in_a_row_are_one_episode() -> None:
    journal = Journal(Metrics())
    key = Key("task", "mt-a")
    with capture_logs() as logs:
        for failures in (1, 2, 3):
            journal.failed(key, RetryableError("503"), failures=failures, delay_seconds=0.1)
        journal.recovered(key, failures=3)

    told = [(log["event"], log["log_level"]) for log in logs if log["log_level"] != "debug"]
    assert told == [("reconcile_failed", "warning"), ("reconcile_recovered", "info")]


def test_a_fault_of_ours_is_an_error_with_its_traceback() -> None:
    with capture_logs() as logs:
        Journal(Metrics()).failed(Key("task", "mt-a"), KeyError("x"), failures=1, delay_seconds=0.1)

    assert logs[0]["log_level"] == "error"
    assert isinstance(logs[0]["exc_info"], KeyError)


def test_all_that_is_logged_is_one_json_object_a_line() -> None:
    program = (
        "import logging, structlog\n"
        "from mcptasks_operator.journal import configure_logging\n"
        "configure_logging('info')\n"
        "structlog.get_logger('ours').info('task_ended', task='mt-a')\n"
        "logging.getLogger('kopf.x').warning('a %s', 'complaint')\n"
        "logging.getLogger('kopf.x').info('chatter')\n"
        "try:\n    raise ValueError('broken')\n"
        "except ValueError:\n    structlog.get_logger('ours').exception('crashed')\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    lines = [json.loads(line) for line in ran.stderr.splitlines()]
    assert [line["event"] for line in lines] == ["task_ended", "a complaint", "crashed"]
    assert lines[0]["task"] == "mt-a"
    assert "ValueError: broken" in lines[2]["exception"]
    assert all({"timestamp", "level", "logger"} <= line.keys() for line in lines)


@pytest.mark.parametrize("wrong", [None, "a watch is dead"])
async def test_probes_answer_with_what_is_wrong(wrong: str | None) -> None:
    app = create_app(checks=Checks(alive=lambda: wrong, ready=lambda: None), metrics=Metrics())
    async with listening(app, host="127.0.0.1", port=0) as port, aiohttp.ClientSession() as session:
        async with session.get(f"http://127.0.0.1:{port}/livez") as answer:
            alive = (answer.status, (await answer.text()).strip())
        async with session.get(f"http://127.0.0.1:{port}/readyz", headers={"Host": "[fd00::5]:8081"}) as answer:
            ready = answer.status

    assert alive == ((200, "ok") if wrong is None else (503, wrong))
    assert ready == 200


def test_labels_come_from_closed_sets() -> None:
    metrics = Metrics()
    metrics.ended(Phase.COMPLETED, Reason.EXIT_CODE)
    with pytest.raises(RetryableError), metrics.request("create", "jobs"):
        raise RetryableError("no answer")

    text = metrics.text().decode()

    assert 'mcptasks_operator_tasks_ended_total{phase="Completed",reason="ExitCode"} 1.0' in text
    assert 'mcptasks_operator_api_requests_total{code="0",resource="jobs",verb="create"} 1.0' in text


def test_an_event_is_about_the_task_and_its_note_is_bounded_in_bytes() -> None:
    task = McpTask(
        metadata=Metadata(name="mt-a", namespace="ns", uid="u"), spec=TaskSpec(tool=ToolReference(name="echo"))
    )
    event = RecordEvent(type="Warning", reason=Reason.EXIT_CODE, message="\N{GRINNING FACE}" * 1000)

    manifest = event_manifest(task, event, now=datetime(2026, 11, 30, tzinfo=UTC), instance="op-0")

    assert manifest["regarding"]["uid"] == "u"
    assert manifest["metadata"]["name"] == "mt-a.exitcode"
    assert len(manifest["note"].encode()) <= 1024
    assert manifest["eventTime"] == "2026-11-30T00:00:00.000000Z"
