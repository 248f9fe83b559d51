"""What a pack holds, as its author declared it: frozen, checked one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_types import Icon, ToolAnnotations

from mcptasks_crds.mirrored import MirroredParameter
from mcptasks_crds.schemas import Schema

from .results import Output
from .signatures import Signature
from .uri_templates import UriTemplate


@dataclass(frozen=True, kw_only=True)
class Described:
    """What everything in a pack has."""

    pack: str
    """The pack's name."""
    name: str
    title: str | None
    description: str | None
    icons: Sequence[Icon]
    signature: Signature
    seconds: float
    """How long a call may take."""
    meta: Mapping[str, Any] | None = None

    @property
    def where(self) -> str:
        """For errors and logs."""
        return f"tool pack {self.pack}: {self.name}"


@dataclass(frozen=True, kw_only=True)
class ToolEntry(Described):
    """A function that is a tool."""

    input_schema: Mapping[str, Any]
    input_schema_text: str
    """The same as it is listed."""
    arguments: Schema
    mirrored: tuple[MirroredParameter, ...]
    whole: str | None
    """The parameter that takes all arguments as one object, where the schema is the author's own."""
    output: Output | None
    annotations: ToolAnnotations | None


@dataclass(frozen=True, kw_only=True)
class PromptEntry(Described):
    """A function that is a prompt."""


@dataclass(frozen=True, kw_only=True)
class ResourceEntry(Described):
    """A function that is a resource."""

    uri: str
    mime_type: str | None


@dataclass(frozen=True, kw_only=True)
class TemplateEntry(Described):
    """A function that is many resources, by a template of their URIs."""

    template: UriTemplate
    mime_type: str | None


@dataclass(frozen=True, kw_only=True)
class CompletionEntry:
    """A function that completes an argument of a prompt or of a resource template."""

    pack: str
    ref: str
    """The prompt's name, or the template."""
    argument: str
    signature: Signature
    seconds: float

    @property
    def where(self) -> str:
        """For errors and logs."""
        return f"tool pack {self.pack}: completion of {self.argument} of {self.ref}"


@dataclass(kw_only=True)
class Entries:
    """All of a pack, while it is being written."""

    tools: dict[str, ToolEntry] = field(default_factory=dict)
    prompts: dict[str, PromptEntry] = field(default_factory=dict)
    resources: dict[str, ResourceEntry] = field(default_factory=dict)
    templates: dict[str, TemplateEntry] = field(default_factory=dict)
    completions: dict[tuple[str, str], CompletionEntry] = field(default_factory=dict)
