"""The legacy era as a whole: versions, sessions, and which method runs."""

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import structlog

from mcptasks_crds import jsontext
from mcptasks_server.caller import Caller
from mcptasks_server.dispatch import Answer, Services
from mcptasks_server.era import SUPPORTED_VERSIONS
from mcptasks_server.errors import (
    HeaderMismatchError,
    MethodNotFoundError,
    ResourceNotFoundError,
    RpcError,
    UnsupportedVersionError,
)
from mcptasks_server.headers import PROTOCOL_VERSION, Headers, value_of
from mcptasks_server.jsonrpc import Message, Response
from mcptasks_server.outbox import Outbox
from mcptasks_server.signing import Purpose

from .answers import take_response
from .errors import SessionGoneError, SessionRequiredError, UnknownResourceError, WrongAnswerError
from .exchange import exchange_of
from .initialize import initialize
from .methods import INITIALIZE, Operation, methods_of
from .replica import Replica
from .sessions import SESSION_ID, VERSIONS, Session, opened
from .underway import WithdrawnError

_BY_STATUS: Final = (
    HeaderMismatchError,
    SessionGoneError,
    SessionRequiredError,
    UnsupportedVersionError,
    WrongAnswerError,
)
"""Errors of the transport, told by the HTTP status. All others stand in the body of a 200: clients read no other."""


class LegacyEra:
    """Answers legacy messages."""

    name: Final = "legacy"

    def __init__(self, *, services: Services, knows_callers: bool) -> None:
        """`knows_callers`: whether callers are told apart."""
        self._services, self._knows_callers = services, knows_callers
        self._replica = Replica.new(services.signer)
        self._log: Any = structlog.get_logger()

    @cached_property
    def methods(self) -> frozenset[str]:
        """The names of the methods that it has."""
        return frozenset({INITIALIZE, *self._methods[True]})

    @cached_property
    def _methods(self) -> Mapping[bool, Mapping[str, Operation]]:
        """The methods of sessions with tasks, and without."""
        return {
            has_tasks: methods_of(self._services.packs, has_tasks=has_tasks, knows_callers=self._knows_callers)
            for has_tasks in (True, False)
        }

    async def answer(self, message: Message, headers: Headers, *, caller: Caller, outbox: Outbox) -> Answer:
        """The answer to a request.

        Raises:
            RpcError: it failed.
        """
        _check_version(headers)
        if message.method == INITIALIZE:
            return initialize(message.params or {}, self._services, caller=caller, knows_callers=self._knows_callers)
        session = self._session_of(headers, caller)
        operation = self._methods[session.has_tasks].get(message.method)
        if operation is None:
            raise MethodNotFoundError
        key = self._request_keys(session, message.id or "null")[0]
        exchange = exchange_of(
            message,
            headers,
            session=session,
            caller=caller,
            outbox=outbox,
            replica=self._replica,
            request_key=key,
        )
        try:
            async with self._replica.under_way.request(key):
                return Answer(result=await operation(self._services, exchange))
        except WithdrawnError:
            return Answer(result=None)
        except ResourceNotFoundError as error:
            raise UnknownResourceError(error.message, data=error.data) from error

    async def take(self, message: Message | Response, headers: Headers, *, caller: Caller) -> None:
        """Take a notification, or a client's answer to a request.

        Raises:
            RpcError: it is not taken.
        """
        _check_version(headers)
        session = self._session_of(headers, caller)
        if isinstance(message, Response):
            await take_response(message, self._services, session=session, caller=caller, replica=self._replica)
        elif message.method == "notifications/cancelled":
            await self._withdraw(message, session, caller)

    def status_of(self, error: RpcError) -> int:
        """200 with the error in the body, but for errors of the transport itself."""
        return error.status if isinstance(error, _BY_STATUS) else 200

    def _session_of(self, headers: Headers, caller: Caller) -> Session:
        value = value_of(headers, SESSION_ID)
        if value is None:
            raise SessionRequiredError(
                f"Bad Request: the {SESSION_ID} header is required: it is given by the answer to initialize. "
                f"Clients of {SUPPORTED_VERSIONS[0]} have no sessions: they send {PROTOCOL_VERSION} with each request"
            )
        return opened(value, self._services.signer, caller=caller, now=self._services.clock().timestamp())

    async def _withdraw(self, message: Message, session: Session, caller: Caller) -> None:
        """Stop a request: the task that it made, wherever, and the work on it, here. An unknown one is passed over."""
        request_id = (message.params or {}).get("requestId")
        if isinstance(request_id, bool) or not isinstance(request_id, str | int):
            return
        keys = self._request_keys(session, message.sources["requestId"])
        is_here = False
        for key in keys:
            is_here = self._replica.under_way.withdraw(key) or is_here
            await self._services.tasks.cancel_request(key, caller=caller)
        self._log.info("request withdrawn", caller=caller.name, is_here=is_here)

    def _request_keys(self, session: Session, request_id: str) -> tuple[str, ...]:
        """By what a request of a session is found again: a new one by the first. `request_id`: as JSON text."""
        as_read = json.dumps(jsontext.parse(request_id))  # however its client writes it the second time
        return self._services.signer.digests(Purpose.HELD_REQUEST, session.nonce, as_read)


def _check_version(headers: Headers) -> None:
    version = value_of(headers, PROTOCOL_VERSION)
    if version is not None and version not in VERSIONS:
        raise UnsupportedVersionError(version[:64], supported=SUPPORTED_VERSIONS)
