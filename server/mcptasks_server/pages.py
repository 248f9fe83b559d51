"""A tool's result in pages that a model can take. Pure."""

import json
from typing import Any, Final

import orjson

from mcptasks_crds import jsontext

PAGE_CHARACTERS: Final = 20_000
"""Text in one page. Common clients cut off a result at some ten thousand words, without saying so."""


class PastTheEndError(ValueError):
    """The page begins where there is nothing any more."""


def page_of(result: str, *, offset: int, next_call: dict[str, Any]) -> dict[str, Any]:
    """One page of a result (a CallToolResult as JSON text), as its members.

    `offset`: where the page begins, in characters of all its text. `next_call`: the arguments by which this page was
    asked for; the page says with which ones to ask for the next. A result that fits one page stays as it is.
    Whatever is no text comes with the first page.

    Raises:
        PastTheEndError: the text ends before the offset.
    """
    members = jsontext.members(result)
    members.pop("resultType", None)
    texts, others = _blocks(jsontext.parse(members.get("content", "[]")))
    structured = members.get("structuredContent", "")
    if len(structured) > PAGE_CHARACTERS:
        del members["structuredContent"]
        if not any(_says(text, structured) for text in texts):
            texts.append(structured)
    whole = "\n\n".join(texts)
    if offset and offset >= len(whole):
        raise PastTheEndError(f"the result has {len(whole)} characters of text, fewer than the offset {offset}")
    if len(whole) <= PAGE_CHARACTERS and not offset:
        return {name: orjson.Fragment(text) for name, text in members.items()}
    end = min(offset + PAGE_CHARACTERS, len(whole))
    blocks = [{"type": "text", "text": whole[offset:end]}, *([] if offset else others)]
    blocks.append({"type": "text", "text": _note(offset, end, len(whole), next_call)})
    kept = members if not offset else {name: members[name] for name in members.keys() & {"isError"}}
    page = {**kept, "content": json.dumps(blocks)}
    return {name: orjson.Fragment(text) for name, text in page.items()}


def _blocks(content: Any) -> tuple[list[str], list[Any]]:
    """The texts of a content, and what else is in it."""
    texts, others = [], []
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
            texts.append(block["text"])
        else:
            others.append(block)
    return texts, others


def _says(text: str, structured: str) -> bool:
    """Whether a text is the structured content once more, as the specification advises."""
    try:
        return bool(jsontext.parse(text) == jsontext.parse(structured))
    except jsontext.JsonTextError:
        return False


def _note(offset: int, end: int, total: int, next_call: dict[str, Any]) -> str:
    where = f"[Characters {offset} to {end} of {total}."
    if end == total:
        return f"{where} This is the end.]"
    return f"{where} The result goes on: call `task_get` with {json.dumps({**next_call, 'offset': end})} for more.]"
