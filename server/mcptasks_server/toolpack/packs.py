"""All packs of a process together, ready to be served. They do not change while it lives."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from mcptasks_server.exchange import Exchange
from mcptasks_server.tools import InlineTool

from .calls import Callee, Calls
from .entries import CompletionEntry, PromptEntry, ResourceEntry, TemplateEntry
from .errors import PackError
from .pack import ToolPack
from .running import Runner
from .tools import inline_tool


@dataclass(frozen=True, kw_only=True)
class Packs:
    """What all packs have, in their own order."""

    names: tuple[str, ...] = ()
    calls: Calls = field(default_factory=lambda: Calls(runner=Runner()))
    tools: tuple[InlineTool, ...] = ()
    prompts: Mapping[str, PromptEntry] = field(default_factory=dict)
    """By name."""
    resources: Mapping[str, ResourceEntry] = field(default_factory=dict)
    """By URI."""
    templates: Mapping[str, TemplateEntry] = field(default_factory=dict)
    """By template."""
    completions: Mapping[tuple[str, str], CompletionEntry] = field(default_factory=dict)
    """By the prompt's name, or the template, and the argument."""
    has_threads: bool = False
    """Whether any function runs in a thread."""

    async def call(self, callee: Callee, exchange: Exchange, arguments: Mapping[str, Any]) -> Any:
        """See `Calls.call`."""
        return await self.calls.call(callee, exchange, arguments)


def packs_of(loaded: Iterable[ToolPack], *, runner: Runner) -> Packs:
    """Packs, ready to be served.

    Raises:
        PackError: two of them have one name for a tool, a prompt or a resource; or what is completed is nowhere.
    """
    packs = tuple(loaded)
    calls = Calls(runner=runner)
    tools = _merged(pack.entries.tools for pack in packs)
    prompts = _merged(pack.entries.prompts for pack in packs)
    resources = _merged(pack.entries.resources for pack in packs)
    templates = _merged(pack.entries.templates for pack in packs)
    completions = _merged(pack.entries.completions for pack in packs)
    for entry in completions.values():
        owner = prompts.get(entry.ref) or templates.get(entry.ref)
        if owner is None or entry.argument not in owner.signature.parameters:
            raise PackError(f"{entry.where}: there is no such prompt or template with this argument")
    everything = (*tools.values(), *prompts.values(), *resources.values(), *templates.values(), *completions.values())
    return Packs(
        names=tuple(pack.name for pack in packs),
        calls=calls,
        tools=tuple(inline_tool(entry, calls) for entry in tools.values()),
        prompts=prompts,
        resources=resources,
        templates=templates,
        completions=completions,
        has_threads=any(not entry.signature.is_async for entry in everything),
    )


def _merged(parts: Iterable[Mapping[Any, Any]]) -> dict[Any, Any]:
    merged: dict[Any, Any] = {}
    for key, entry in chain.from_iterable(part.items() for part in parts):
        if key in merged:
            raise PackError(f"{entry.where}: the tool pack {merged[key].pack} has one of this name too")
        merged[key] = entry
    return merged
