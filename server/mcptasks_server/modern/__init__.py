"""The modern era (2026-07-28): one request in, one result out, nothing remembered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mcptasks_server.caller import Caller
from mcptasks_server.dispatch import Answer, Method, Services, with_server_info
from mcptasks_server.era import check_notification, envelope_of
from mcptasks_server.errors import InvalidRequestError, MethodNotFoundError, RpcError
from mcptasks_server.exchange import InputRequired
from mcptasks_server.headers import Headers
from mcptasks_server.jsonrpc import Message, Response
from mcptasks_server.outbox import Outbox

from . import mrtr
from .exchange import exchange_of, lacking_tasks
from .table import METHODS

__all__ = ["ModernEra"]


@dataclass(frozen=True, kw_only=True)
class ModernEra:
    """Answers modern messages."""

    services: Services
    methods: Mapping[str, Method] = field(default_factory=lambda: METHODS)
    require_task_name: bool = True
    """Whether requests about tasks must carry `Mcp-Name`, as the extension says."""

    name: Final = "modern"

    async def answer(self, message: Message, headers: Headers, *, caller: Caller, outbox: Outbox) -> Answer:
        """The result of a request. What is wrong with it is said in the order of its meaning (see `era`).

        Raises:
            RpcError: it failed.
        """
        envelope = envelope_of(message, headers, require_task_name=self.require_task_name)
        method = self.methods.get(message.method)
        if method is None:
            raise MethodNotFoundError
        if method.needs_tasks and not envelope.declares_tasks:
            raise lacking_tasks(f"{message.method} belongs to the tasks extension")
        retry = mrtr.retry_of(message, caller=caller, services=self.services)
        exchange = exchange_of(message, headers, envelope=envelope, caller=caller, outbox=outbox, retry=retry)
        try:
            result = await method.run(self.services, exchange)
        except InputRequired as asked:
            result = mrtr.input_required(asked, message, caller=caller, services=self.services)
        return Answer(result=with_server_info(result))

    async def take(self, message: Message | Response, headers: Headers, *, caller: Caller) -> None:
        """Take a notification. This revision has none from clients that would mean anything here.

        Raises:
            InvalidRequestError: it is a response, and nothing was asked.
            UnsupportedVersionError: it is of a version that is not served.
        """
        if isinstance(message, Response):
            raise InvalidRequestError("The server sends no requests, so it takes no responses")
        check_notification(headers)

    def status_of(self, error: RpcError) -> int:
        """The error's own."""
        return error.status
