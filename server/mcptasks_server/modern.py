"""The modern era (2026-07-28): one request in, one result out, nothing remembered."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .caller import CallerPolicy
from .dispatch import Method, Request, Result, Services, with_server_info
from .doors import require_tasks
from .era import TASKS_EXTENSION, check_notification, envelope_of
from .errors import MethodNotFoundError
from .headers import Headers
from .jsonrpc import Message
from .methods import MODERN


@dataclass(frozen=True, kw_only=True)
class ModernEra:
    """Answers modern messages."""

    services: Services
    callers: CallerPolicy
    methods: Mapping[str, Method] = field(default_factory=lambda: MODERN)
    require_task_name: bool = True
    """Whether requests about tasks must carry `Mcp-Name`, as the extension says."""

    async def answer(self, message: Message, headers: Headers) -> Result:
        """The result of a request. What is wrong with it is said in the order of its meaning (see `era`).

        Raises:
            RpcError: it failed.
        """
        envelope = envelope_of(message, headers, require_task_name=self.require_task_name)
        method = self.methods.get(message.method)
        if method is None:
            raise MethodNotFoundError
        caller = await self.callers.caller_of(headers)
        if method.needs_tasks:
            require_tasks(envelope, why=f"{message.method} belongs to {TASKS_EXTENSION}")
        request = Request(
            caller=caller,
            envelope=envelope,
            params=message.params or {},
            sources=message.sources,
            headers=headers,
        )
        return with_server_info(await method.run(self.services, request))

    def take(self, _message: Message, headers: Headers) -> None:
        """Take a notification. This revision has none from clients that would mean anything here.

        Raises:
            UnsupportedVersionError: it is of a version that is not served.
        """
        check_notification(headers)
