"""A tool's arguments from the command line, as JSON text. Pure.

`name=text` is a string; `name:=json` is what the JSON says, sent as it is written.
"""

import json
from collections.abc import Iterable

from mcptasks.errors import ArgumentsError
from mcptasks.wire import arguments_text, parse_json


def arguments_from(assignments: Iterable[str], *, document: str | None = None) -> str:
    """The arguments as JSON text.

    Args:
        assignments: `name=text` and `name:=json`, in order; the last one for a name counts.
        document: a JSON object that they are added to. Without assignments it is taken as it is written.

    Raises:
        ArgumentsError: something is not what it should be; the message says what.
    """
    texts = dict(_parse(assignment) for assignment in assignments)
    if document is None:
        return _object(texts)
    whole = arguments_text(document)
    if not texts:
        return whole
    return _object({name: json.dumps(value) for name, value in json.loads(whole).items()} | texts)


def _parse(assignment: str) -> tuple[str, str]:
    name, equals, value = assignment.partition("=")
    if not equals or not name.removesuffix(":"):
        raise ArgumentsError(f"{assignment!r} is neither name=text nor name:=json")
    if not name.endswith(":"):
        return name, json.dumps(value)
    name = name.removesuffix(":")
    try:
        parse_json(value)
    except ArgumentsError as error:
        raise ArgumentsError(f"{name}: {value!r} is not JSON (write {name}={value} for a string)") from error
    return name, value


def _object(texts: dict[str, str]) -> str:
    return "{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in texts.items()) + "}"
