"""An independent judge of the legacy wire: the Python SDK's own client, in its handshake mode."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    ListRootsResult,
    LoggingMessageNotificationParams,
    Root,
    TextContent,
)
from pydantic import FileUrl

from mcptasks_server.caller import ANONYMOUS
from mcptasks_server.exchange import Exchange
from mcptasks_server.testing import InMemoryTaskStore
from mcptasks_server.testing.contract import over, questions
from mcptasks_server.testing.wire import Wire

from .conftest import ELICIT, ROOTS, SAMPLE, Inline, created, write

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")


class Person:
    """Who sits at the client: answers what it is asked."""

    def __init__(self) -> None:
        self.logged: list[Any] = []
        self.asked: list[str] = []

    async def elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params.message)
        return ElicitResult(action="accept", content={"sure": True, "yes": True})

    async def sample(self, context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="Hello"), model="m")

    async def roots(self, context: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl("file:///home"))])

    async def log(self, params: LoggingMessageNotificationParams) -> None:
        self.logged.append(params.data)

    def client(self, wire: Wire) -> Client:
        return Client(
            wire.url,
            mode="legacy",
            elicitation_callback=self.elicit,
            sampling_callback=self.sample,
            list_roots_callback=self.roots,
            logging_callback=self.log,
        )


async def test_the_client_is_told_how_to_use_the_server(replicas: tuple[Wire, Wire]) -> None:
    async with Client(replicas[0].url, mode="legacy") as client:
        assert client.protocol_version == "2025-11-25"
        assert "task_get" in (client.instructions or "")
        await client.send_ping()
        names = [tool.name for tool in (await client.list_tools()).tools]

    assert names[0] == "inline"
    assert "long" in names


async def test_an_inline_tool_asks_logs_and_tells_progress(replicas: tuple[Wire, Wire], inline: Inline) -> None:
    async def run(exchange: Exchange, _arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        answers = await exchange.ask({"form": ELICIT, "model": SAMPLE, "folders": ROOTS})
        await exchange.log("debug", "asked")
        exchange.progress.report(1, total=2)
        await exchange.outbox.sent("progress")
        exchange.progress.report(2, total=2)
        text = (
            f"{answers['form']['action']} {answers['model']['content']['text']} {answers['folders']['roots'][0]['uri']}"
        )
        return {"content": [{"type": "text", "text": text}]}

    inline.run, person, told = run, Person(), []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async with person.client(replicas[0]) as client:
        await client.set_logging_level("debug")
        result = await client.call_tool("inline", {}, progress_callback=progress)

    assert isinstance(result, CallToolResult)
    assert isinstance(result.content[0], TextContent)
    assert result.content[0].text == "accept Hello file:///home"
    assert (person.asked, person.logged, told) == (["Sure?"], ["asked"], [1, 2])


async def test_a_held_call_asks_its_person_and_comes_back_with_the_result(
    replicas: tuple[Wire, Wire], store: InMemoryTaskStore
) -> None:
    person = Person()

    async with person.client(replicas[0]) as client:
        calling = asyncio.create_task(client.call_tool("held", {}))
        task_id = await created(store)
        await write(store, task_id, **questions("approve"))
        with store.watch([task_id]) as changes:
            while "approve" not in (await store.get(task_id, caller=ANONYMOUS)).spec.answers:
                await changes.next()
        await write(store, task_id, **over())
        result = await calling

    assert isinstance(result, CallToolResult)
    assert result.content == [TextContent(type="text", text="1.0")]
    assert person.asked == ["Sure?"]


async def test_a_client_that_gives_up_cancels_the_task(replicas: tuple[Wire, Wire], store: InMemoryTaskStore) -> None:
    async with Client(replicas[0].url, mode="legacy") as client:
        with pytest.raises(MCPError):
            await client.call_tool("held", {}, read_timeout_seconds=0.3)
        task_id = await created(store)
        with store.watch([task_id]) as changes:
            while not (await store.get(task_id, caller=ANONYMOUS)).spec.cancel_requested:
                await changes.next()


async def test_the_client_that_looks_for_the_newest_wire_finds_it(replicas: tuple[Wire, Wire]) -> None:
    async with Client(replicas[0].url) as client:
        assert client.protocol_version == "2026-07-28"


@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_a_person_is_asked_before_there_is_a_task(
    replicas: tuple[Wire, Wire], store: InMemoryTaskStore, action: str
) -> None:
    there_were: list[int] = []

    class Asked(Person):
        async def elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
            there_were.append(len(store.objects))
            given = await super().elicit(context, params)
            return given if action == "accept" else ElicitResult(action="decline")

    person = Asked()
    async with person.client(replicas[0]) as client:
        calling = asyncio.create_task(client.call_tool("first-held", {}))
        if action == "accept":
            await write(store, await created(store), **over())
        result = await calling

    assert isinstance(result, CallToolResult)
    assert (person.asked, there_were) == (["one?"], [0])
    assert bool(result.is_error) is (action == "decline")
    assert len(store.objects) == (1 if action == "accept" else 0)
