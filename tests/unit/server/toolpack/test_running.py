"""Each call in its time; threads that are bounded; a client that goes away."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest
from mcp_types import ElicitResult

from mcptasks_server.exchange import Result
from mcptasks_server.metrics import Metrics
from mcptasks_server.toolpack import BlockingContext, CallEndedError, Context, ToolPack
from mcptasks_server.toolpack.allowance import Allowance
from mcptasks_server.toolpack.running import Runner

from .conftest import scripted, until

Call = Callable[..., Awaitable[Result]]
SOON = 0.05


def words_of(result: Result) -> str:
    """An error result's text."""
    assert result["isError"] is True
    text: str = result["content"][0]["text"]
    return text


def stuck_pack(release: threading.Event) -> ToolPack:
    """A pack whose sync tool takes longer than it may, until it is released."""
    pack = ToolPack("p")

    @pack.tool(seconds=SOON)
    def wait() -> str:
        release.wait(30)
        return "released"

    return pack


def threads_of(metrics: Metrics, state: str) -> float | None:
    """What the metric says."""
    return metrics.registry.get_sample_value("mcptasks_server_inline_threads", {"state": state})


async def test_an_async_call_ends_when_its_time_is_over(call: Call) -> None:
    pack = ToolPack("p")
    ended: list[str] = []

    @pack.tool(seconds=SOON)
    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    assert words_of(await call(pack)) == "The call took longer than 0.05 s, the most that this tool may take"
    await until(lambda: ended == ["cancelled"], "the function was cancelled")


async def test_an_async_function_that_will_not_end_does_not_hold_its_call(call: Call) -> None:
    pack = ToolPack("p")
    release = asyncio.Event()

    @pack.tool(seconds=SOON)
    async def deaf() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    assert "took longer" in words_of(await call(pack))
    release.set()


async def test_a_timeout_of_the_functions_own_is_not_taken_for_its_limit(call: Call) -> None:
    pack = ToolPack("p")

    @pack.tool()
    async def fail() -> None:
        raise TimeoutError("own")

    assert "failed unexpectedly" in words_of(await call(pack))


async def test_a_function_that_cancels_itself_has_failed(call: Call) -> None:
    pack = ToolPack("p")

    @pack.tool()
    async def fail() -> None:
        raise asyncio.CancelledError

    assert "failed unexpectedly" in words_of(await call(pack))


async def test_a_sync_function_runs_beside_the_event_loop(call: Call) -> None:
    pack = ToolPack("p")
    loop_thread = threading.get_ident()
    release = threading.Event()

    @pack.tool()
    def wait() -> str:
        assert release.wait(5)
        return str(threading.get_ident() != loop_thread)

    running = asyncio.ensure_future(call(pack))
    await asyncio.sleep(0)
    release.set()

    assert (await running)["content"][0]["text"] == "True"


async def test_a_stuck_thread_is_counted_until_its_function_returns(call: Call) -> None:
    release, metrics = threading.Event(), Metrics()
    runner = Runner(threads=2, counts=metrics)

    assert "took longer than 0.05 s" in words_of(await call(stuck_pack(release), runner=runner))
    assert (threads_of(metrics, "busy"), threads_of(metrics, "stuck")) == (0, 1)

    release.set()
    await until(lambda: threads_of(metrics, "stuck") == 0, "the thread has come back")
    assert threads_of(metrics, "busy") == 0


async def test_calls_are_refused_at_once_when_all_threads_are_stuck(call: Call) -> None:
    release = threading.Event()
    runner = Runner(threads=2)
    pack = stuck_pack(release)
    for _ in range(2):
        await call(pack, runner=runner)

    refused = words_of(await call(pack, runner=runner))

    assert refused.startswith("All 2 threads for tools are stuck in calls that ran over their time")
    release.set()


async def test_a_thread_whose_client_goes_away_is_busy_until_its_time_is_over(call: Call) -> None:
    release, began, metrics = threading.Event(), threading.Event(), Metrics()
    runner = Runner(threads=1, counts=metrics)
    pack = ToolPack("p")

    @pack.tool(seconds=10 * SOON)
    def wait() -> None:
        began.set()
        release.wait(30)

    running = asyncio.ensure_future(call(pack, runner=runner))
    await until(began.is_set, "the thread runs")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert (threads_of(metrics, "busy"), threads_of(metrics, "stuck")) == (1, 0)
    await until(lambda: threads_of(metrics, "stuck") == 1, "its time is over")
    release.set()
    await until(lambda: threads_of(metrics, "stuck") == 0, "the thread has come back")
    assert threads_of(metrics, "busy") == 0


async def test_a_stuck_thread_that_comes_back_is_used_again(call: Call) -> None:
    release, metrics = threading.Event(), Metrics()
    runner = Runner(threads=1, counts=metrics)
    pack = stuck_pack(release)
    await call(pack, runner=runner)
    release.set()
    await until(lambda: threads_of(metrics, "stuck") == 0, "the thread has come back")

    assert await call(pack, runner=runner) == {"content": [{"type": "text", "text": "released"}]}


async def test_a_call_that_finds_no_thread_in_its_time_says_that_the_server_is_busy(call: Call) -> None:
    release, began = threading.Event(), threading.Event()
    runner = Runner(threads=1)
    pack, quick = ToolPack("p"), ToolPack("q")

    @pack.tool(seconds=30)
    def work() -> str:
        began.set()
        release.wait(30)
        return "worked"

    @quick.tool(seconds=SOON)
    def look() -> str:
        return "looked"

    working = asyncio.ensure_future(call(pack, runner=runner))
    await until(began.is_set, "the thread is taken")

    assert words_of(await call(quick, runner=runner)) == "The server is busy: no thread came free within 0.05 s"
    release.set()
    assert (await working)["content"][0]["text"] == "worked"


async def test_a_client_that_goes_away_ends_an_async_call(call: Call) -> None:
    pack = ToolPack("p")
    began, ended = asyncio.Event(), asyncio.Event()

    @pack.tool()
    async def wait() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    running = asyncio.ensure_future(call(pack))
    await began.wait()
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    async with asyncio.timeout(5):
        await ended.wait()


async def test_time_stands_still_while_a_person_is_asked(call: Call) -> None:
    pack = ToolPack("p")

    @pack.tool(seconds=SOON)
    async def ask(context: Context) -> str:
        return (await context.elicit("k", "Sure?", {"type": "object", "properties": {}})).action

    exchange = scripted(answers={"k": {"action": "accept", "content": {}}})
    exchange.answering.clear()
    running = asyncio.ensure_future(call(pack, exchange=exchange))
    limit = Allowance(2 * SOON)
    with pytest.raises(TimeoutError):
        async with limit.limit():
            await asyncio.Event().wait()
    exchange.answering.set()

    assert (await running)["content"][0]["text"] == "accept"


async def test_time_goes_on_once_the_person_has_answered(call: Call) -> None:
    pack = ToolPack("p")

    @pack.tool(seconds=SOON)
    async def ask(context: Context) -> None:
        await context.elicit("k", "Sure?", {"type": "object", "properties": {}})
        await asyncio.Event().wait()

    exchange = scripted(answers={"k": ElicitResult(action="decline")})

    assert "took longer" in words_of(await call(pack, exchange=exchange))


async def test_a_thread_that_waits_for_an_answer_is_woken_when_its_client_goes_away(call: Call) -> None:
    pack = ToolPack("p")
    ended: list[BaseException] = []

    @pack.tool()
    def ask(context: BlockingContext) -> str:
        try:
            return context.sample("k", "Hello", max_tokens=1).model
        except BaseException as error:
            ended.append(error)
            raise

    exchange = scripted()
    exchange.answering.clear()
    running = asyncio.ensure_future(call(pack, exchange=exchange))
    await until(lambda: exchange.asked, "the client is asked")
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: ended, "the thread was woken")
    assert isinstance(ended[0], CallEndedError)


async def test_a_thread_sees_that_its_call_is_over_and_can_send_nothing_more(call: Call) -> None:
    pack = ToolPack("p")
    seen: list[object] = []

    @pack.tool(seconds=SOON)
    def work(context: BlockingContext) -> None:
        while not context.has_ended:
            threading.Event().wait(0.005)
        try:
            context.log("info", "too late")
        except CallEndedError as error:
            seen.append(error)

    exchange = scripted()

    assert "took longer" in words_of(await call(pack, exchange=exchange))
    await until(lambda: seen, "the function has seen its end")
    assert exchange.logged == []
