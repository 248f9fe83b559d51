"""What a function can do with its request."""

import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from pydantic import BaseModel
from structlog.testing import capture_logs

from mcptasks_server.exchange import InputRequest, Result
from mcptasks_server.outbox import Outbox
from mcptasks_server.progress import ProgressLine
from mcptasks_server.toolpack import BlockingContext, Context, Elicitation, Roots, Sampling, ToolPack

from .conftest import scripted

Call = Callable[..., Awaitable[Result]]
ANSWERS: Mapping[str, Any] = {
    "name": {"action": "accept", "content": {"name": "Ann"}},
    "model": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "42"}},
    "roots": {"roots": [{"uri": "file:///home"}]},
}
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
REQUESTS = {
    "name": Elicitation(message="Who?", schema=FORM),
    "model": Sampling(messages="Why?", max_tokens=5, options={"temperature": 0.5}),
    "roots": Roots(),
}


class Name(BaseModel):
    """A form."""

    name: str


@pytest.fixture(params=[True, False], ids=["sync", "async"])
def asking(request: pytest.FixtureRequest) -> ToolPack:
    """A pack whose tool asks for all three kinds at once."""
    pack = ToolPack("p")

    async def ask(context: Context) -> list[str]:
        return [type(answer).__name__ for answer in (await context.ask(REQUESTS)).values()]

    def ask_in_a_thread(context: BlockingContext) -> list[str]:
        return [type(answer).__name__ for answer in context.ask(REQUESTS).values()]

    pack.tool(name="ask")(ask_in_a_thread if request.param else ask)
    return pack


async def test_any_mix_is_asked_at_once_and_answered_by_mcps_own_types(call: Call, asking: ToolPack) -> None:
    exchange = scripted(answers=ANSWERS)

    result = await call(asking, exchange=exchange)

    assert [block["text"] for block in result["content"]] == [
        "ElicitResult",
        "CreateMessageResultWithTools",
        "ListRootsResult",
    ]
    assert exchange.asked == [
        {
            "name": InputRequest(
                method="elicitation/create", params={"mode": "form", "message": "Who?", "requestedSchema": FORM}
            ),
            "model": InputRequest(
                method="sampling/createMessage",
                params={
                    "messages": [{"role": "user", "content": {"type": "text", "text": "Why?"}}],
                    "maxTokens": 5,
                    "temperature": 0.5,
                },
            ),
            "roots": InputRequest(method="roots/list"),
        }
    ]


async def test_a_form_may_be_a_model(call: Call) -> None:
    pack = ToolPack("p")

    @pack.tool()
    async def ask(context: Context) -> str:
        answer = await context.elicit("name", "Who?", Name)
        return Name.model_validate(answer.content).name

    exchange = scripted(answers=ANSWERS)

    assert (await call(pack, exchange=exchange))["content"][0]["text"] == "Ann"
    (asked,) = exchange.asked
    assert (asked["name"].params or {})["requestedSchema"] == FORM


async def test_a_schema_that_is_no_form_is_told_to_the_packs_author(call: Call) -> None:
    pack = ToolPack("p")

    @pack.tool()
    async def ask(context: Context) -> None:
        await context.elicit("k", "Where?", {"type": "object", "properties": {"place": {"type": "object"}}})

    with capture_logs() as logs:
        result = await call(pack)

    assert "failed unexpectedly" in result["content"][0]["text"]
    assert "the schema of the form 'Where?' is none that MCP has: /properties/place" in logs[0]["error"]


async def test_a_model_may_answer_in_several_blocks(call: Call) -> None:
    pack = ToolPack("p")

    @pack.tool()
    async def ask(context: Context) -> int:
        content = (await context.sample("model", "Why?", max_tokens=3)).content
        return len(content) if isinstance(content, list) else -1

    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    exchange = scripted(answers={"model": {"role": "assistant", "model": "m", "content": blocks}})

    assert (await call(pack, exchange=exchange))["content"][0]["text"] == "2"


async def test_a_function_knows_its_caller_and_what_the_client_can_do(call: Call) -> None:
    pack = ToolPack("p")

    @pack.tool()
    def look(context: BlockingContext) -> str:
        return f"{context.caller.name} {context.abilities.sampling}"

    assert (await call(pack))["content"][0]["text"] == "anonymous True"


async def test_log_messages_reach_the_client(call: Call) -> None:
    pack = ToolPack("p")

    @pack.tool()
    def work(context: BlockingContext) -> None:
        context.log("info", {"step": 1})
        context.log("error", "two")

    exchange = scripted()
    await call(pack, exchange=exchange)

    assert exchange.logged == [("info", {"step": 1}), ("error", "two")]


async def test_each_report_of_progress_is_sent_where_the_client_reads(call: Call) -> None:
    pack = ToolPack("p")
    taken: list[object] = []

    class Taking(Outbox):
        """An outbox whose reader takes each message at once."""

        async def sent(self, slot: str) -> None:
            taken.append(await self.next())

    @pack.tool()
    async def work(context: Context) -> None:
        for step in range(3):
            await context.progress(step, total=2)

    outbox = Taking()
    await call(pack, exchange=scripted(outbox=outbox, progress=ProgressLine(outbox, token='"t"')))

    assert len(taken) == 3
    assert outbox.replaced == 0


async def test_a_client_that_does_not_read_holds_nobody(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcptasks_server.toolpack.context.PROGRESS_SECONDS", 0.01)
    pack = ToolPack("p")

    @pack.tool()
    async def work(context: Context) -> str:
        for step in range(3):
            await context.progress(step)
        return "done"

    outbox = Outbox()
    exchange = scripted(outbox=outbox, progress=ProgressLine(outbox, token="1"))

    assert (await call(pack, exchange=exchange))["content"][0]["text"] == "done"
    assert outbox.replaced == 2


async def test_a_sync_function_reports_progress_too(call: Call) -> None:
    pack = ToolPack("p")
    threads: set[int] = set()

    @pack.tool()
    def work(context: BlockingContext) -> None:
        threads.add(threading.get_ident())
        context.progress(1, total=2, message="half")

    exchange = scripted()
    await call(pack, exchange=exchange)

    assert threads
    assert threads != {threading.get_ident()}
