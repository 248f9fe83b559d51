"""Multi round-trip requests: a result that asks, and the retry that brings the answers. Pure.

Between the two the server keeps nothing: what it must know again goes to the client in `requestState`, signed and bound
to the caller and to the request. It can be read by its bearer, who wrote all that is in it: answers, arguments' hash.
Source: specification 2026-07-28, "Multi Round-Trip Requests".
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from mcptasks_crds import jsontext
from mcptasks_server.caller import Caller
from mcptasks_server.dispatch import Services
from mcptasks_server.errors import InvalidParamsError
from mcptasks_server.exchange import InputRequest, InputRequired, Result
from mcptasks_server.jsonrpc import Message
from mcptasks_server.signing import Purpose, SealError, SealExpiredError

METHODS: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
"""The only methods whose result may ask."""
STATE_SECONDS: Final = 24 * 3600.0
"""For how long a retry is taken: people are asked, so it is not short."""

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_NOT_THE_REQUEST: Final = frozenset({"_meta", "inputResponses", "requestState"})
"""What a retry may have otherwise than the request that it repeats."""


@dataclass(frozen=True, kw_only=True)
class Retry:
    """What a request brings of an earlier round."""

    claims: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    """What the server gave it to bring back: verified."""
    responses: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    """The client's answers by key: not verified."""
    sources: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    """Each of them as the client wrote it."""


FIRST: Final = Retry()
"""Of a request that repeats none."""


def retry_of(message: Message, *, caller: Caller, services: Services) -> Retry:
    """What a request brings of an earlier round; of a method that never asks, nothing.

    Raises:
        InvalidParamsError: it is malformed, was changed, is over, or belongs to another caller or request.
    """
    params = message.params or {}
    if message.method not in METHODS or not ("requestState" in params or "inputResponses" in params):
        return FIRST
    responses = params.get("inputResponses", {})
    if not isinstance(responses, Mapping):
        raise InvalidParamsError("Invalid params: inputResponses: must be a JSON object")
    state = params.get("requestState")
    if state is not None and not isinstance(state, str):
        raise InvalidParamsError("Invalid params: requestState: must be a string")
    return Retry(
        claims=_NOTHING if state is None else _claims(state, message, caller=caller, services=services),
        responses=responses,
        sources=jsontext.members(message.sources["inputResponses"]) if responses else _NOTHING,
    )


def input_required(asked: InputRequired, message: Message, *, caller: Caller, services: Services) -> Result:
    """The result that asks."""
    state = {
        "caller": caller.name,
        "method": message.method,
        "request": _digests(message, services)[0],
        "claims": asked.claims,
    }
    expires_at = services.clock().timestamp() + STATE_SECONDS
    return {
        "resultType": "input_required",
        "inputRequests": {key: _written(request) for key, request in asked.requests.items()},
        "requestState": services.signer.seal(Purpose.REQUEST_STATE, state, expires_at=expires_at),
    }


def _claims(state: str, message: Message, *, caller: Caller, services: Services) -> Mapping[str, Any]:
    try:
        sealed = services.signer.open(Purpose.REQUEST_STATE, state, now=services.clock().timestamp())
    except SealExpiredError as error:
        raise InvalidParamsError("Invalid params: requestState: its time is over; please make the call anew") from error
    except SealError as error:
        raise InvalidParamsError("Invalid params: requestState: it is none that this server has given") from error
    if sealed["caller"] != caller.name:
        # Not told apart from one that was forged: whose it is concerns nobody else.
        raise InvalidParamsError("Invalid params: requestState: it is none that this server has given")
    if sealed["method"] != message.method or sealed["request"] not in _digests(message, services):
        raise InvalidParamsError(
            "Invalid params: requestState: it was given to another request; repeat that one as it was"
        )
    claims: Mapping[str, Any] = sealed["claims"]
    return claims


def _digests(message: Message, services: Services) -> tuple[str, ...]:
    """What names the request, whatever the order and the blanks of its JSON: keyed, for arguments may be guessed."""
    salient = {name: value for name, value in (message.params or {}).items() if name not in _NOT_THE_REQUEST}
    return services.signer.digests(Purpose.REQUEST_STATE, message.method, json.dumps(salient, sort_keys=True))


def _written(request: InputRequest) -> Mapping[str, Any]:
    written: dict[str, Any] = {"method": request.method}
    if request.params is not None:
        written["params"] = request.params
    return written
