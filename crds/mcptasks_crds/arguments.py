"""A call's arguments as the pod gets them: one JSON file, and one environment variable for each property.

The operator computes the variables of arguments that stand in the task, the server those of arguments that go into a
Secret; both by these functions, so that a tool cannot tell which way its arguments came.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from . import jsontext, names
from .secretarguments import secret_properties

ARGUMENTS_KEY: Final = "arguments.json"
"""The file's name in the pod, and the Secret's key, of the whole arguments as JSON."""
ARGUMENTS_FILE: Final = f"{names.CONTRACT_PATH}/{ARGUMENTS_KEY}"
"""The file itself, which `$MCPTASK_ARGUMENTS` names."""

MAX_VALUE_BYTES: Final = 32 * 1024
"""Longest value of one variable. Linux refuses to start a program with a variable of 128 KiB or more."""
MAX_VARIABLES_BYTES: Final = 320 * 1024
"""All variables of a call together, names included: with 256 KiB of arguments they stay below a Secret's 1 MiB."""
MAX_NAME_LENGTH: Final = 253
"""A Secret's key is not longer, and each variable is a key of it."""

EMPTY: Final = "{}"
"""The arguments of a call that has none."""

_WRITE_ONLY: Final = "it is writeOnly, and a secret does not belong into the environment"


def argument_variables(input_schema: Mapping[str, Any], arguments: str = EMPTY) -> dict[str, str]:
    """The `ARG_<NAME>` variables of a call: one for each property of the tool's input schema.

    Its value is the argument, else the property's default in the schema, else empty. A string stands as it is;
    everything else as the JSON text that the caller wrote. Whatever cannot stand in an environment has no variable
    and is only in the file: `properties_without_variable` says which properties those always are.

    >>> schema = {"properties": {"branch": {"default": "main"}, "dry-run": {}, "depth": {}, "note": {}}}
    >>> argument_variables(schema, '{"dry-run": true, "depth": 1.0}')
    {'ARG_BRANCH': 'main', 'ARG_DRY_RUN': 'true', 'ARG_DEPTH': '1.0', 'ARG_NOTE': ''}

    Raises:
        JsonTextError: the arguments are not one JSON object.
    """
    return {found.name: found.value for found in _resolve(input_schema, arguments) if isinstance(found, _Variable)}


def properties_without_variable(input_schema: Mapping[str, Any], arguments: str = EMPTY) -> Mapping[str, str]:
    """The properties that have no variable, each with the reason; without arguments: those that have none by default.

    Raises:
        JsonTextError: the arguments are not one JSON object.
    """
    return MappingProxyType(
        {found.property: found.reason for found in _resolve(input_schema, arguments) if isinstance(found, _FileOnly)}
    )


def variable_names(input_schema: Mapping[str, Any]) -> Mapping[str, str]:
    """The properties that can have a variable, each with the variable's name. A value may still be none for one."""
    properties = _properties(input_schema)
    claims = _claims(properties)
    secrets = secret_properties(input_schema)
    return MappingProxyType(
        {
            each: variable
            for each in properties
            if each not in secrets
            and _name_problem(variable := names.argument_variable(each), claims=claims[variable]) is None
        }
    )


def arguments_secret_data(input_schema: Mapping[str, Any], arguments: str) -> dict[str, str]:
    """What a Secret holds for a call whose arguments are too large for the task: the file and each variable.

    Raises:
        JsonTextError: the arguments are not one JSON object.
    """
    return {ARGUMENTS_KEY: arguments, **argument_variables(input_schema, arguments)}


@dataclass(frozen=True, kw_only=True)
class _Variable:
    name: str
    value: str


@dataclass(frozen=True, kw_only=True)
class _FileOnly:
    property: str
    reason: str


def _resolve(input_schema: Mapping[str, Any], arguments: str) -> Iterator[_Variable | _FileOnly]:
    given = jsontext.members(arguments)
    properties = _properties(input_schema)
    claims = _claims(properties)
    secrets = secret_properties(input_schema)
    room = MAX_VARIABLES_BYTES
    for each, schema in properties.items():
        variable = names.argument_variable(each)
        value = _text(given[each]) if each in given else _default(schema)
        reason = _WRITE_ONLY if each in secrets else _name_problem(variable, claims=claims[variable])
        reason = reason or _value_problem(value, room=room)
        if reason is not None:
            yield _FileOnly(property=each, reason=reason)
            continue
        room -= len(variable) + len(value.encode())
        yield _Variable(name=variable, value=value)


def _properties(input_schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = input_schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _claims(properties: Mapping[str, Any]) -> Counter[str]:
    return Counter(names.argument_variable(each) for each in properties)


def _text(source: str) -> str:
    """A JSON value as a variable holds it."""
    return str(jsontext.parse(source)) if source.startswith('"') else source


def _default(schema: object) -> str:
    if not isinstance(schema, Mapping) or "default" not in schema:
        return ""
    default = schema["default"]
    return default if isinstance(default, str) else json.dumps(default, ensure_ascii=False)


def _name_problem(variable: str, *, claims: int) -> str | None:
    if not variable.removeprefix(names.ARGUMENT_VARIABLE_PREFIX).strip("_"):
        return "its name has no letter or digit that a variable's name may have"
    if len(variable) > MAX_NAME_LENGTH:
        return f"{variable[:32]}... would be longer than {MAX_NAME_LENGTH} characters"
    if claims > 1:
        return f"{variable} would be the variable of {claims} properties"
    return None


def _value_problem(value: str, *, room: int) -> str | None:
    if "\0" in value:
        return "its value holds a NUL character"
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return "its value holds half of a surrogate pair, which is not text"
    if size > MAX_VALUE_BYTES:
        return f"its value is longer than {MAX_VALUE_BYTES // 1024} KiB"
    if size > room:
        return f"the variables would be longer than {MAX_VARIABLES_BYTES // 1024} KiB together"
    return None
