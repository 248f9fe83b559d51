"""The task endpoint, put together from its collaborators. No behaviour."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

from aiohttp import web

from mcptasks_server.largeresults import LargeResults
from mcptasks_server.metrics import Metrics
from mcptasks_server.tools import Catalogue

from .endpoint import TaskEndpoint
from .keeping import Keeping
from .newcomers import Attempts, Newcomers
from .operations import Operations
from .reporter import Reporter
from .store import ReportStore
from .tokens import PodTokens


def create_task_app(
    reports: ReportStore,
    *,
    reporter: Reporter,
    results: LargeResults | None,
    tools: Catalogue,
    tokens: PodTokens,
    attempts: Attempts,
    metrics: Metrics,
    stopping: asyncio.Event,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> web.Application:
    """The application that tasks' pods talk to, on a port of its own. Run it with `handler_cancellation=True`.

    `results`: where large results are kept; None: nowhere. `attempts`: who knows the tasks' pods. `stopping`: set once
    the process was told to end, so that nobody waits any longer.
    """
    keeping = Keeping(results=results, tools=tools)
    operations = Operations(store=reports, reporter=reporter, keeping=keeping, clock=clock, stopping=stopping)
    newcomers = Newcomers(attempts)
    return TaskEndpoint(operations=operations, tokens=tokens, newcomers=newcomers, metrics=metrics).app()
