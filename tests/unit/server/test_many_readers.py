"""While the API server is silent, nobody waits for the tries of others beside their own."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest

from mcptasks_crds.metadata import Metadata
from mcptasks_crds.names import new_task_id
from mcptasks_crds.task import McpTask, TaskSpec, ToolReference
from mcptasks_server.cluster.patience import persist
from mcptasks_server.cluster.secret_results import SecretResults
from mcptasks_server.cluster.task_reads import TaskReads
from mcptasks_server.errors import UnavailableError
from mcptasks_server.metrics import Metrics

READERS: Final = 50
TASK: Final = McpTask(
    metadata=Metadata(name=new_task_id()), spec=TaskSpec(tool=ToolReference(name="t"), arguments="{}")
)


class Silence:
    """An API server that never answers, and the watch on it."""

    def __init__(self) -> None:
        self.asked = 0

    async def get(self, *_: Any) -> Any:
        """Wait for ever."""
        self.asked += 1
        await asyncio.Event().wait()

    def suspect(self) -> None:
        """The watch is told of each read."""


def of_task(silence: Any) -> Callable[[], Awaitable[Any]]:
    reads = TaskReads(silence, namespace="here", reflector=silence, metrics=Metrics())
    return lambda: reads.fresh(TASK.metadata.name)


def of_large_result(silence: Any) -> Callable[[], Awaitable[Any]]:
    results = SecretResults(silence, namespace="here")
    return lambda: results.read("result", task=TASK)


@pytest.mark.parametrize("reader", [of_task, of_large_result])
async def test_who_waits_for_their_turn_is_given_up_in_time_too(
    reader: Callable[[Any], Callable[[], Awaitable[Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(persist.__kwdefaults__ or {}, "seconds", 0.05)
    silence = Silence()
    read = reader(silence)

    told = await asyncio.gather(*(read() for _ in range(READERS)), return_exceptions=True)

    assert {type(each) for each in told} == {UnavailableError}
    assert silence.asked < READERS / 2  # each had the same time: there was none left for a try of its own
