"""Tools of each kind, and an application whose cut calls need not be waited for."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from mcptasks_crds.policy import TaskSupport, WithoutTasks
from mcptasks_server.app import create_app
from mcptasks_server.caller import NoAuthentication
from mcptasks_server.dispatch import Services
from mcptasks_server.guards import Guards
from mcptasks_server.health import Health
from mcptasks_server.metrics import Metrics
from mcptasks_server.testing import FixedCatalogue, InMemoryTaskStore, ready_tool
from mcptasks_server.testing.background import CountingBackground
from mcptasks_server.tools import JobTool

NUMBERS = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
SURE = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}


def question(key: str, when: str = "beforeStart", *, model: bool = False) -> dict[str, Any]:
    """A question of a McpTool."""
    return {"key": key, "message": f"{key}?", "requestedSchema": SURE, "when": when, "modelMayAnswer": model}


def held_for(tool: JobTool, seconds: float) -> JobTool:
    """The tool, whose calls are held for a shorter time than a McpTool can say."""
    return replace(tool, hold_seconds=seconds)


@pytest.fixture
def catalogue() -> FixedCatalogue:
    """A tool of each kind, by what it does."""
    return FixedCatalogue(
        ready_tool("required", task_support=TaskSupport.REQUIRED),
        ready_tool("forbidden", task_support=TaskSupport.FORBIDDEN),
        ready_tool("patient", without_tasks=WithoutTasks.HOLD),
        ready_tool("held"),
        held_for(ready_tool("quick"), 0.0),
        held_for(ready_tool("typed", output_schema=NUMBERS), 0.0),
        held_for(ready_tool("asks", questions=[question("start")]), 0.0),
        held_for(ready_tool("asksfirst", questions=[question("first", "beforeTask"), question("start")]), 0.0),
        ready_tool("asksmodel", questions=[question("first", "beforeTask", model=True)]),
        ready_tool("waits", questions=[question("start")]),
    )


@pytest.fixture
def background() -> CountingBackground:
    """What goes on without a request."""
    return CountingBackground()


@pytest.fixture
def services(catalogue: FixedCatalogue, store: InMemoryTaskStore, background: CountingBackground) -> Services:
    """What the application works with."""
    return Services(catalogue=catalogue, tasks=store, background=background)


@pytest.fixture
def make_app() -> Callable[[Services], web.Application]:
    """Makes an application."""

    def make(services: Services) -> web.Application:
        return create_app(
            services,
            callers=NoAuthentication(),
            guards=Guards(hosts=frozenset(), origins=frozenset()),
            health=Health(ready=lambda: "", live=lambda: ""),
            metrics=Metrics(),
            max_body_bytes=300 * 1024,
        )

    return make


@pytest.fixture
def app(services: Services, make_app: Callable[[Services], web.Application]) -> web.Application:
    """The application over the doubles."""
    return make_app(services)
