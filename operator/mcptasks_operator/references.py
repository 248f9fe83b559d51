"""Where a pod's own text refers to arguments: `$(ARG_...)` in commands and variables."""

from collections.abc import Iterator
from dataclasses import dataclass

from mcptasks_crds import names
from mcptasks_crds.base import Json

from .expansion import references
from .templates import containers


@dataclass(frozen=True, kw_only=True)
class ArgumentReference:
    """One `$(ARG_...)` that Kubernetes will expand."""

    field: str
    """Where it stands in the tool."""
    variable: str


def argument_references(pod: Json) -> Iterator[ArgumentReference]:
    """All references to arguments in a pod whose template was read by `templates.read_template`."""
    for field, container in containers(pod):
        for place, text in _texts(container):
            for name in references(text):
                if name.startswith(names.ARGUMENT_VARIABLE_PREFIX):
                    yield ArgumentReference(field=f"{field}.{place}", variable=name)


def _texts(container: Json) -> Iterator[tuple[str, str]]:
    """The texts of a container in which Kubernetes expands variables."""
    for group in ("command", "args"):
        for index, text in enumerate(container.get(group, ())):
            yield f"{group}[{index}]", text
    for index, variable in enumerate(container.get("env", ())):
        if isinstance(variable.get("value"), str):
            yield f"env[{index}].value", variable["value"]
