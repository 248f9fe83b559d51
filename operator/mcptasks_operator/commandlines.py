"""The command lines of a container as words, each with what Kubernetes and the author's own variables make of it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcptasks_crds import names
from mcptasks_crds.base import Json

from .expansion import references, substitute
from .interpreters import SHELL

_LOOKS_LIKE_SCRIPT: Final = re.compile(r"[\s;|&<>`]")


@dataclass(frozen=True, kw_only=True)
class Word:
    """One element of a command line, or one variable's value."""

    field: str
    """Where it stands in the tool."""
    text: str
    """As the author wrote it, for the references; elsewhere `literal` counts."""
    literal: str
    """With the author's own variables put in."""
    tainted: str | None
    """The first variable in it that holds what a caller gave."""


def variables(field: str, container: Json) -> Iterator[tuple[str, Word]]:
    """The author's own variables by name. Kubernetes expands in each what was defined before it."""
    known: dict[str, str] = {}
    tainted: set[str] = set()
    for index, variable in enumerate(container.get("env", ())):
        word = _word(f"{field}.env[{index}].value", variable.get("value"), known, tainted)
        if word is None:
            continue
        yield variable["name"], word
        known[variable["name"]] = word.literal
        if word.tainted is not None:
            tainted.add(variable["name"])


def _word(field: str, text: Any, known: Mapping[str, str], tainted: set[str] | frozenset[str]) -> Word | None:
    if not isinstance(text, str):
        return None
    variable = next((name for name in references(text) if _is_argument(name) or name in tainted), None)
    return Word(field=field, text=text, literal=substitute(text, known), tainted=variable)


def _is_argument(name: str) -> bool:
    return name.startswith(names.ARGUMENT_VARIABLE_PREFIX)


def command_lines(field: str, container: Json) -> Iterator[tuple[Sequence[Word], bool]]:
    """The command lines of a container in which Kubernetes expands variables, and whether each begins with a program.

    `args` alone may do so or not: that is the image's affair.
    """
    defined = dict(variables(field, container))
    own = (
        {name: word.literal for name, word in defined.items()},
        frozenset(name for name, word in defined.items() if word.tainted is not None),
    )
    command = _words(f"{field}.command", container.get("command"), *own)
    arguments = _words(f"{field}.args", container.get("args"), *own)
    chosen = bool(command)
    if not command and _is_for_shell(arguments):
        command = [Word(field=f"{field}.command", text="sh", literal="sh", tainted=None)]
    yield [*command, *arguments], chosen
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        execution = _member(container.get(probe), "exec")
        yield _words(f"{field}.{probe}.exec.command", _member(execution, "command"), *own), True


def _is_for_shell(words: Sequence[Word]) -> bool:
    """Whether this is how one speaks to a shell; what the image's own entry point is, is not known."""
    return (
        len(words) > 1
        and re.fullmatch(SHELL.code, words[0].literal) is not None
        and _LOOKS_LIKE_SCRIPT.search(words[1].literal) is not None
    )


def _words(field: str, texts: Any, known: Mapping[str, str], tainted: frozenset[str]) -> list[Word]:
    if not isinstance(texts, list):
        return []
    words = (_word(f"{field}[{index}]", text, known, tainted) for index, text in enumerate(texts))
    return [word for word in words if word is not None]


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None
