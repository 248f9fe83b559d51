"""A tool's structured output, held against its output schema."""

import json
from dataclasses import dataclass

from mcptasks_crds.jsontext import JsonTextError, parse
from mcptasks_crds.schemas import Schema, SchemaError


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """Why a text is not the structured output that the schema asks for."""

    why: str


def check(text: str, schema: str) -> Rejected | None:
    """Hold a text against an output schema, both JSON as text; None if it conforms.

    It must be an object: MCP's structured content is one.
    """
    try:
        value = parse(text)
    except JsonTextError as error:
        return Rejected(why=f"it is not JSON: {error}")
    if not isinstance(value, dict):
        return Rejected(why=f"it must be a JSON object and is {_kind(value)}")
    try:
        violation = Schema(parse(schema)).violation(value)
    except (JsonTextError, SchemaError, TypeError) as error:
        return Rejected(why=f"the outputSchema itself is not valid: {error}")
    return None if violation is None else Rejected(why=str(violation))


def last_json_line(log: str) -> str | None:
    """The last line of a log that is not empty, if it is JSON: what a tool without `$MCPTASK_RESULT` may give."""
    line = log.rstrip().rpartition("\n")[2].strip()  # not splitlines(): a JSON string may hold U+2028 as it is
    try:
        parse(line)
    except JsonTextError:
        return None
    return line


def _kind(value: object) -> str:
    words = {list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return words.get(type(value), json.dumps(value))
