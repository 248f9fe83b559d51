"""Requests to a client: what it must have declared to be sent one, and whether its answer is one. Pure.

Source: both eras' "Elicitation", "Sampling", "Roots".
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from mcp_types import CreateMessageResultWithTools, ElicitResult, ListRootsResult
from pydantic import BaseModel, ValidationError

from mcptasks_crds.schemas import Schema

from .exchange import InputRequest

ELICIT: Final = "elicitation/create"
SAMPLE: Final = "sampling/createMessage"
LIST_ROOTS: Final = "roots/list"

_ANSWERS: Final[Mapping[str, type[BaseModel]]] = MappingProxyType(
    {ELICIT: ElicitResult, SAMPLE: CreateMessageResultWithTools, LIST_ROOTS: ListRootsResult}
)


def required_capability(request: InputRequest) -> Mapping[str, Any]:
    """The client capabilities that a request needs, as a client declares them."""
    params = request.params or {}
    match request.method:
        case "elicitation/create" if params.get("mode") == "url":
            return {"elicitation": {"url": {}}}
        case "elicitation/create":
            return {"elicitation": {}}
        case "sampling/createMessage" if "tools" in params or "toolChoice" in params:
            return {"sampling": {"tools": {}}}
        case "sampling/createMessage":
            return {"sampling": {}}
        case "roots/list":
            return {"roots": {}}
        case other:
            raise ValueError(f"{other} is no request that a client takes")


def is_declared(request: InputRequest, capabilities: Mapping[str, Any]) -> bool:
    """Whether a client with these capabilities may be sent a request. An empty `elicitation` means forms."""
    [(name, modes)] = required_capability(request).items()
    declared = capabilities.get(name)
    if not isinstance(declared, Mapping):
        return False
    if name == "elicitation" and not modes:
        return not declared or "form" in declared
    return all(isinstance(declared.get(mode), Mapping) for mode in modes)


def is_answer(request: InputRequest, answer: Any) -> bool:
    """Whether a client's answer is one to the request: of the right shape, and a form's content as it was asked for."""
    try:
        _ANSWERS[request.method].model_validate(answer)
    except ValidationError:
        return False
    params = request.params or {}
    if request.method != ELICIT or answer["action"] != "accept" or params.get("mode") == "url":
        return True
    return Schema(params["requestedSchema"]).violation(answer.get("content") or {}) is None
