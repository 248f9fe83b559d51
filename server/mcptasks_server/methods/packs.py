"""Which methods and capabilities both eras have beside tools and tasks: those that packs bring, and resources."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from mcptasks_server.dispatch import Services
from mcptasks_server.exchange import Exchange, Result
from mcptasks_server.toolpack.packs import Packs

from . import completion, prompts, resources

Operation = Callable[[Services, Exchange], Awaitable[Result]]
"""A method without what an era adds to each result (`resultType`, hints for caches)."""

CACHED: Final = frozenset({"prompts/list", "resources/list", "resources/templates/list", "resources/read"})
"""Methods whose results the modern era gives hints for caches."""
LEGACY_ONLY: Final = frozenset({"resources/subscribe", "resources/unsubscribe"})
"""Methods that the modern era has no more."""


def operations_of(packs: Packs) -> dict[str, Operation]:
    """The methods that there is something for, by name. All others are unknown. Tasks are resources always."""
    found: dict[str, Operation] = {
        "resources/list": resources.list_resources,
        "resources/templates/list": resources.list_templates,
        "resources/read": resources.read_resource,
    }
    if packs.prompts:
        found |= {"prompts/list": prompts.list_prompts, "prompts/get": prompts.get_prompt}
    if takes_subscriptions(packs):
        found |= {"resources/subscribe": resources.subscribe, "resources/unsubscribe": resources.subscribe}
    if packs.completions:
        found["completion/complete"] = completion.complete
    return found


def capabilities_of(packs: Packs) -> Mapping[str, Any]:
    """What a server has beside tools and tasks, in both eras. Nothing of it changes while the process lives."""
    found: dict[str, Any] = {"resources": {}}
    if packs.tools:
        found["logging"] = {}  # only functions of packs send log messages
    if packs.prompts:
        found["prompts"] = {}
    if packs.completions:
        found["completions"] = {}
    return found


def takes_subscriptions(packs: Packs) -> bool:
    """Whether there are resources of packs, whose legacy clients may subscribe to them."""
    return bool(packs.resources or packs.templates)
