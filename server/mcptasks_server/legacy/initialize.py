"""`initialize`: a version, capabilities, and the session that all that follows refers to. Source: "Lifecycle"."""

from collections.abc import Mapping
from typing import Any

from mcptasks_server.caller import Caller
from mcptasks_server.companions import INSTRUCTIONS
from mcptasks_server.dispatch import SERVER_INFO, Answer, Services
from mcptasks_server.errors import InvalidParamsError
from mcptasks_server.methods.packs import capabilities_of, takes_subscriptions
from mcptasks_server.toolpack.packs import Packs

from .sessions import SESSION_ID, Session, begin, sealed


def initialize(params: Mapping[str, Any], services: Services, *, caller: Caller, knows_callers: bool) -> Answer:
    """Agree on a version, and begin a session.

    Raises:
        InvalidParamsError: the client does not say what it speaks, or says it in a wrong way.
    """
    requested, capabilities = params.get("protocolVersion"), params.get("capabilities", {})
    if not isinstance(requested, str):
        raise InvalidParamsError("Invalid params: protocolVersion: must be a string")
    if not isinstance(capabilities, Mapping):
        raise InvalidParamsError("Invalid params: capabilities: must be a JSON object")
    session = begin(requested=requested, capabilities=capabilities, caller=caller)
    result = {
        "protocolVersion": session.version,
        "capabilities": server_capabilities(session, services.packs, knows_callers=knows_callers),
        "serverInfo": SERVER_INFO,
        "instructions": INSTRUCTIONS,
    }
    now = services.clock().timestamp()
    return Answer(result=result, headers={SESSION_ID: sealed(session, services.signer, now=now)})


def server_capabilities(session: Session, packs: Packs, *, knows_callers: bool) -> dict[str, Any]:
    """What this server does in a session.

    `knows_callers`: whether callers are told apart. Where they are not, tasks are not listed: everybody would see all.
    """
    found: dict[str, Any] = {"tools": {}, "logging": {}, **capabilities_of(packs)}
    if takes_subscriptions(packs):
        found["resources"] = {**found["resources"], "subscribe": True}
    if session.has_tasks:
        found["tasks"] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
        if knows_callers:
            found["tasks"]["list"] = {}
    return found
