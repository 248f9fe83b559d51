"""Finds an argument that Kubernetes would expand into the text of a program: code injection by whoever calls the tool.

`["sh", "-c", "git checkout $(ARG_BRANCH)"]` runs whatever is in the branch's name. As an element of its own, or as part
of one that is no program, the same reference is harmless: `["git", "checkout", "$(ARG_BRANCH)"]`.

This finds what is written down in the tool. It cannot know what an image's own entry point does with its arguments.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from mcptasks_crds import names
from mcptasks_crds.base import Json

from .expansion import references
from .templates import containers


@dataclass(frozen=True, kw_only=True)
class UnsafeExpansion:
    """A reference that would become part of a program."""

    field: str
    """Where it stands in the tool."""
    variable: str
    """The `ARG_` variable that gets in; where it comes by a variable of the author's own, that one."""
    program: str
    """What would run it."""


@dataclass(frozen=True, kw_only=True)
class _Language:
    """How a program takes code on its command line."""

    code: str
    """The option whose value is code or the name of a file of code; short ones may stand together, as in `-euc`."""
    valued: str = r"(?!)"
    """Options that take the next element, which is neither."""
    operand_is_code: bool = False
    """Whether the first element that is no option is code, as in awk, unless an option gave some."""
    code_is_operand: bool = False
    """Whether the code is not the option's value but the first operand, as in `sh -c -e CODE`."""


_SHELL: Final = _Language(code=r"-[A-Za-z]*c[A-Za-z]*", valued=r"[-+][A-Za-z]*[oO]", code_is_operand=True)
_LANGUAGES: Final[Mapping[str, _Language]] = MappingProxyType(
    {
        **dict.fromkeys(("sh", "bash", "ash", "dash", "zsh", "ksh", "mksh", "fish"), _SHELL),
        "python": _Language(code=r"-[A-Za-z]*c", valued=r"-[A-Za-z]*[WX]"),
        "perl": _Language(code=r"-[A-Za-z0-9]*[eE]", valued=r"-I"),
        "ruby": _Language(code=r"-[A-Za-z0-9]*e", valued=r"-[Ir]"),
        "node": _Language(code=r"-[pe]+|--eval|--print", valued=r"-r|--require|--import"),
        "php": _Language(code=r"-[rBRE]", valued=r"-[cdz]"),
        "pwsh": _Language(code=r"(?i:-c(ommand)?)"),
        "env": _Language(code=r"-[A-Za-z0]*S|--split-string", valued=r"-[uC]"),
        **dict.fromkeys(
            ("awk", "gawk", "mawk"),
            _Language(code=r"-[ef]|--source|--file", valued=r"-[Fv]", operand_is_code=True),
        ),
        "sed": _Language(code=r"-[A-Za-z]*[ef]|--expression|--file", operand_is_code=True),
    }
)
_VERSION: Final = re.compile(r"[-.0-9]+$")
_LOOKS_LIKE_SCRIPT: Final = re.compile(r"[\s;|&<>`]")


def unsafe_expansions(pod: Json) -> Iterator[UnsafeExpansion]:
    """The unsafe references of a pod whose template was read by `templates.read_template`."""
    for field, container in containers(pod):
        tainted = _tainted_variables(container)
        for words in _commands(field, container):
            for word, program in _programs_in(words):
                variable = next((name for name in references(word.text) if _is_tainted(name, tainted)), None)
                if variable is not None:
                    yield UnsafeExpansion(field=word.field, variable=variable, program=program)


@dataclass(frozen=True, kw_only=True)
class _Word:
    field: str
    text: str


def _commands(field: str, container: Json) -> Iterator[Sequence[_Word]]:
    """The command lines of a container in which Kubernetes expands variables."""
    command = _words(f"{field}.command", container.get("command"))
    arguments = _words(f"{field}.args", container.get("args"))
    if not command and _is_for_shell(arguments):
        command = [_Word(field=f"{field}.command", text="sh")]
    yield [*command, *arguments]
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        execution = _member(container.get(probe), "exec")
        yield _words(f"{field}.{probe}.exec.command", _member(execution, "command"))


def _is_for_shell(words: Sequence[_Word]) -> bool:
    """Whether this is how one speaks to a shell; what the image's own entry point is, is not known."""
    return (
        len(words) > 1
        and re.fullmatch(_SHELL.code, words[0].text) is not None
        and _LOOKS_LIKE_SCRIPT.search(words[1].text) is not None
    )


def _words(field: str, texts: Any) -> list[_Word]:
    if not isinstance(texts, list):
        return []
    return [_Word(field=f"{field}[{index}]", text=text) for index, text in enumerate(texts) if isinstance(text, str)]


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _tainted_variables(container: Json) -> frozenset[str]:
    """The author's variables that hold an argument's text. Kubernetes expands only what was defined before."""
    tainted: set[str] = set()
    for variable in container.get("env", ()):
        value = variable.get("value")
        if isinstance(value, str) and any(_is_tainted(name, tainted) for name in references(value)):
            tainted.add(variable["name"])
    return frozenset(tainted)


def _is_tainted(name: str, tainted: set[str] | frozenset[str]) -> bool:
    return name.startswith(names.ARGUMENT_VARIABLE_PREFIX) or name in tainted


def _programs_in(words: Sequence[_Word]) -> Iterator[tuple[_Word, str]]:
    """The words that are code, each with the program that runs it.

    A program may be wrapped in others (`timeout 5 sh -c ...`), so each word that is an interpreter's name counts.
    """
    for index, word in enumerate(words):
        program = word.text.rsplit("/", 1)[-1]
        language = _LANGUAGES.get(program) or _LANGUAGES.get(_VERSION.sub("", program))
        if language is not None:
            yield from ((code, program) for code in _code(words[index + 1 :], language))


def _code(words: Sequence[_Word], language: _Language) -> Iterator[_Word]:
    """The words that a program of the language takes as code."""
    rest = iter(words)
    operand_is_code = language.operand_is_code
    for word in rest:
        if re.fullmatch(language.valued, word.text):
            next(rest, None)
        elif re.fullmatch(language.code, word.text):
            operand_is_code = language.code_is_operand
            if not operand_is_code:
                yield from islice(rest, 1)
        elif len(word.text) > 1 and word.text[0] in "-+":
            if _holds_code(word.text, language):
                yield word
        else:
            if operand_is_code:
                yield word
            return


def _holds_code(option: str, language: _Language) -> bool:
    """Whether code is glued to its option: `--eval=CODE`, `-eCODE`."""
    glued = re.search(r"[=$]", option)
    return glued is not None and any(
        re.fullmatch(language.code, option[:length]) for length in range(2, glued.start() + 1)
    )
