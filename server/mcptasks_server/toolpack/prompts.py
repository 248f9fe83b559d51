"""A pack's function as a prompt: how it is listed, and what it gives. Source: both eras' "Prompts"."""

from collections.abc import Iterator
from typing import Any

from mcp_types import GetPromptResult, Prompt, PromptArgument, PromptMessage

from mcptasks_server.exchange import Result

from .entries import PromptEntry
from .results import blocks, dumped


def listed_prompt(entry: PromptEntry) -> Result:
    """Its entry in `prompts/list`."""
    prompt = Prompt(
        name=entry.name,
        title=entry.title,
        description=entry.description,
        arguments=list(_arguments(entry)) or None,
        icons=list(entry.icons) or None,
    )
    return dumped(prompt)


def prompt_result(entry: PromptEntry, value: Any) -> Result:
    """What its function gave, as the members of a GetPromptResult."""
    if isinstance(value, GetPromptResult):
        result = dumped(value)
        result.pop("resultType", None)
        return result
    described = {} if entry.description is None else {"description": entry.description}
    return {**described, "messages": list(_messages(value))}


def _arguments(entry: PromptEntry) -> Iterator[PromptArgument]:
    schema = entry.signature.schema
    required = schema.get("required", [])
    for name, property_schema in schema["properties"].items():
        yield PromptArgument(name=name, description=property_schema.get("description"), required=name in required)


def _messages(value: Any) -> Iterator[Result]:
    if isinstance(value, PromptMessage):
        yield dumped(value)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _messages(each)
    else:
        for block in blocks(value):
            yield {"role": "user", "content": block}
