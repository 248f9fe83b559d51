"""What counts where a tool gives something and its task is to be stopped: what was first, at whichever door."""

import pytest

from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import Report, Stopping
from mcptasks_operator.decide import decide
from mcptasks_operator.observation import PodSeen
from mcptasks_operator.samples import ago, ended, job, log, observation, pod, running, status, task

RESULT = '{"content": [{"type": "text", "text": "done"}]}'
GIVEN = Report(result=RESULT)
CANCELLING = Stopping(reason=Reason.CANCELLED, at=ago(3))
TOO_LONG = Stopping(reason=Reason.RUN_LIMIT, at=ago(3))
BY_FILE = pod(container=ended(exit_code=0, message=RESULT))
BY_EXIT = pod(container=ended(exit_code=0))
BY_FAILURE = pod(container=ended(exit_code=7))


@pytest.mark.parametrize(
    ("report", "ends", "reason"),
    [
        pytest.param(GIVEN, pod(container=running()), Reason.SUCCEEDED, id="over the endpoint"),
        pytest.param(None, BY_FILE, Reason.SUCCEEDED, id="by file"),
        pytest.param(None, BY_EXIT, Reason.SUCCEEDED, id="by exit"),
        pytest.param(None, BY_FAILURE, Reason.EXIT_CODE, id="by failure"),
    ],
)
def test_what_was_given_before_the_stop_was_written_counts_though_the_cancel_was_acknowledged(
    report: Report | None, ends: PodSeen, reason: Reason
) -> None:
    seen = observation(task=task(status(report=report), cancel_requested=True), pods=(ends,), log=log("done\n"))

    decided = decide(seen).status

    assert (decided.phase, decided.reason) == (Phase.COMPLETED, reason)


@pytest.mark.parametrize("stop", [CANCELLING, TOO_LONG], ids=["cancel", "run limit"])
@pytest.mark.parametrize("ends", [BY_FILE, BY_EXIT, BY_FAILURE], ids=["by file", "by exit", "by failure"])
def test_an_end_that_is_seen_after_the_stop_was_written_is_no_result(stop: Stopping, ends: PodSeen) -> None:
    stopping = status(Phase.STOPPING, stopping=stop, reason=stop.reason)
    seen = observation(task=task(stopping, cancel_requested=True), pods=(ends,), log=log("done\n"))

    assert decide(seen).status.reason is stop.reason


@pytest.mark.parametrize("stop", [CANCELLING, TOO_LONG], ids=["cancel", "run limit"])
def test_a_result_that_the_api_server_has_taken_is_the_tasks_whatever_was_begun(stop: Stopping) -> None:
    """It takes none once a stop is written, so this one was there before."""
    stopping = status(Phase.STOPPING, stopping=stop, reason=stop.reason, report=GIVEN)
    seen = observation(task=task(stopping, cancel_requested=True), pods=(pod(container=running()),))

    decided = decide(seen).status

    assert (decided.phase, decided.reason) == (Phase.COMPLETED, Reason.SUCCEEDED)


def test_a_cancel_of_a_running_tool_is_written_before_anything_is_stopped() -> None:
    decision = decide(observation(task=task(status(), cancel_requested=True), job=job()))

    assert decision.status.stopping is not None
    assert decision.status.phase is Phase.STOPPING
