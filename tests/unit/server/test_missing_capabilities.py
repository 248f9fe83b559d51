"""A client that lacks what a tool needs is told so, in words that reach it."""

from types import MappingProxyType

import orjson

from mcptasks_server.errors import MissingCapabilityError
from mcptasks_server.jsonrpc import error_response


def test_what_is_missing_is_written_whatever_kind_of_mapping_named_it() -> None:
    error = MissingCapabilityError(MappingProxyType({"elicitation": {}}), why="it asks")

    written = orjson.loads(error_response("7", error))

    assert written["error"]["data"] == {"requiredCapabilities": {"elicitation": {}}}
    assert written["id"] == 7
