"""One call of one function of a pack: its context, its time, and what is said when it fails."""

import asyncio
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import structlog

from mcptasks_crds.watchdog import places
from mcptasks_server.errors import RpcError
from mcptasks_server.exchange import Exchange, InputRequired

from .allowance import Allowance
from .context import BlockingContext, Context
from .errors import PackError, ToolError
from .running import NotRunError, Runner
from .signatures import Signature


class Callee(Protocol):
    """Something of a pack that can be called."""

    @property
    def signature(self) -> Signature:
        """How."""
        ...

    @property
    def seconds(self) -> float:
        """How long it may take."""
        ...

    @property
    def where(self) -> str:
        """Its name, for the log."""
        ...


class FailedError(Exception):
    """The function failed in a way that its author did not mean for clients. The log has told what."""


@dataclass(frozen=True, kw_only=True)
class Calls:
    """Calls functions of packs."""

    runner: Runner
    log: Any = field(default_factory=structlog.get_logger)

    async def call(self, callee: Callee, exchange: Exchange, arguments: Mapping[str, Any]) -> Any:
        """What the function gives for these arguments (by the names of its parameters, as `Signature.bind` gives them).

        Raises:
            ToolError: the function said so.
            NotRunError: it did not run to its end.
            InputRequired: it asks its client, who comes again.
            RpcError: it asks for what its client has not declared, or for a resource that is not there.
            FailedError: anything else that it raised.
        """
        allowance = Allowance(callee.seconds)
        context = Context(exchange, allowance)
        try:
            return await self._run(callee.signature, context, exchange, arguments, allowance)
        except (ToolError, NotRunError, InputRequired, RpcError):
            raise
        except PackError as error:  # the pack's own fault, in words that hold nothing of a client's
            self.log.error("a function failed", function=callee.where, error=str(error))
            raise FailedError from error
        except Exception as error:  # the boundary to foreign code: its client gets no text of it, the log no value
            frames = places(traceback.extract_tb(error.__traceback__))
            self.log.error("a function failed", function=callee.where, error=type(error).__name__, frames=frames)
            raise FailedError from error
        finally:
            context.end()

    async def _run(
        self,
        signature: Signature,
        context: Context,
        exchange: Exchange,
        arguments: Mapping[str, Any],
        allowance: Allowance,
    ) -> Any:
        if signature.is_async:
            return await self.runner.run_async(_bound(signature, arguments, context=context), allowance=allowance)
        blocking = BlockingContext(context, exchange, asyncio.get_running_loop())
        try:
            return await self.runner.run_sync(_bound(signature, arguments, context=blocking), allowance=allowance)
        finally:
            blocking.end()


def _bound(signature: Signature, arguments: Mapping[str, Any], *, context: object) -> Callable[[], Any]:
    extra = {} if signature.context is None else {signature.context: context}
    return lambda: signature.function(**arguments, **extra)
