"""Finds an argument that Kubernetes would expand into the text of a program: code injection by whoever calls the tool.

`["sh", "-c", "git checkout $(ARG_BRANCH)"]` runs whatever is in the branch's name. As an element of its own, or as part
of one that is no program, the same reference is harmless: `["git", "checkout", "$(ARG_BRANCH)"]`.

This finds what is written down in the tool, by what is known of programs (`interpreters`). It is a help and no proof:
it cannot know what an image's own entry point does with its arguments.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from mcptasks_crds import names
from mcptasks_crds.base import Json

from .commandlines import Word, command_lines, variables
from .interpreters import (
    CODE_OPTION,
    CODE_VARIABLE,
    COMMAND_LINES,
    GIT_CODE,
    GLUED_CODE,
    LANGUAGES,
    PLAIN,
    WRAPPERS,
    Language,
)
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


_VERSION: Final = re.compile(r"[-.0-9]+$")
_REFERENCE: Final = re.compile(r"\$\(([^)]*)\)")
_ITSELF: Final = "the container"
_ENTRY_POINT: Final = "the image's entry point"


def unsafe_expansions(pod: Json) -> Iterator[UnsafeExpansion]:
    """The unsafe references of a pod whose template was read by `templates.read_template`; each place once."""
    for field, container in containers(pod):
        yield from _variables(field, container)
        for words, chosen in command_lines(field, container):
            found: set[str] = set()
            for word, program in _programs_in(words, chosen=chosen):
                if word.tainted is not None and word.field not in found:
                    found.add(word.field)
                    yield UnsafeExpansion(field=word.field, variable=word.tainted, program=program)


def _variables(field: str, container: Json) -> Iterator[UnsafeExpansion]:
    """The variables of the container that programs take code from, where an argument gets in."""
    for name, word in variables(field, container):
        if word.tainted is not None and re.fullmatch(CODE_VARIABLE, name):
            yield UnsafeExpansion(field=word.field, variable=word.tainted, program=f"what reads ${name}")


def _programs_in(words: Sequence[Word], *, chosen: bool) -> Iterator[tuple[Word, str]]:
    """The words that are code, each with the program that runs it.

    A program may be wrapped in others (`timeout 5 sh -c ...`), so each word that is an interpreter's name counts.
    """
    position, runner = _program(words)
    if position < len(words) and (chosen or position > 0):
        yield words[position], runner
    first_language = len(words)
    for index, word in enumerate(words):
        program = _base(word)
        if program == "timeit":
            yield from ((code, program) for code in words[index + 1 :])
        language = _language(program)
        if language is not None:
            yield from ((code, program) for code in _code(words[index + 1 :], language, runs=index == position))
            if program != "env":
                first_language = min(first_language, index)
    yield from _by_any_program(words[:first_language], position)
    yield from _after_what_is_not_known(words)


def _base(word: Word) -> str:
    return word.literal.rsplit("/", 1)[-1]


def _language(program: str) -> Language | None:
    return LANGUAGES.get(program) or LANGUAGES.get(_VERSION.sub("", program))


def _program(words: Sequence[Word]) -> tuple[int, str]:
    """Where the name of the program stands that is run in the end, and what starts it."""
    position, runner = 0, _ITSELF
    while position < len(words) and (wrapper := WRAPPERS.get(_base(words[position]))) is not None:
        runner = _base(words[position])
        left = wrapper.operands
        position += 1
        while position < len(words):
            text = words[position].literal
            if re.fullmatch(wrapper.valued, text):
                position += 1
            elif text.startswith("-") or re.match(r"\w+=", text):
                pass
            elif left:
                left -= 1
            else:
                break
            position += 1
    return position, runner


def _by_any_program(words: Sequence[Word], position: int) -> Iterator[tuple[Word, str]]:
    """The words that are code by the look of their options, whatever the program: `-c CODE`, `--eval=CODE`."""
    program = _base(words[position]) if position < len(words) else ""
    runner = _ENTRY_POINT if program.startswith("-") else program
    previous = ""
    for index, word in enumerate(words):
        before = _REFERENCE.split(word.literal, maxsplit=1)[0]
        name, assigned, _ = before.partition("=")
        if (
            (program in COMMAND_LINES and index > position)
            or (assigned and re.fullmatch(CODE_VARIABLE, name))
            or (program not in PLAIN and _is_code(before, previous, program))
        ):
            yield word, runner
        # What follows `eval` may have options before it.
        if not (previous == "eval" and word.literal.startswith("-")):
            previous = word.literal


def _is_code(before: str, previous: str, program: str) -> bool:
    """Whether what comes after that text, in an element after that one, is code."""
    if program == "git":
        if previous == "-c":
            return "=" not in before or re.fullmatch(GIT_CODE, before) is not None
        short = re.fullmatch(r"-[A-Za-z]+", previous) is not None
        return (before.startswith("--") and _is_glued(before)) or (not short and _follows(previous))
    return _is_glued(before) or _follows(previous)


def _is_glued(before: str) -> bool:
    return re.fullmatch(GLUED_CODE, before, re.DOTALL) is not None


def _follows(previous: str) -> bool:
    return re.fullmatch(CODE_OPTION, previous) is not None


def _after_what_is_not_known(words: Sequence[Word]) -> Iterator[tuple[Word, str]]:
    """The texts with an argument after an element that may be `-c`: it comes by a variable of unknown value."""
    for previous, word in zip(words, islice(words, 1, None), strict=False):
        reference = _REFERENCE.fullmatch(previous.literal)
        is_unknown = reference is not None and not names.is_own_variable(reference[1])
        if is_unknown and not word.literal.startswith("-") and not _REFERENCE.fullmatch(word.text):
            yield word, f"what {previous.literal} stands for"


def _code(words: Sequence[Word], language: Language, *, runs: bool) -> Iterator[Word]:
    """The words that a program of the language takes as code.

    Where it `runs` for sure, that is also a caller's word in the place of the script's name: it could be `-c`.
    """
    rest = iter(words)
    operand_is_code = language.operand_is_code
    is_given = False
    for word in rest:
        if re.fullmatch(language.valued, word.literal):
            next(rest, None)
        elif re.fullmatch(language.code, word.literal):
            is_given = True
            operand_is_code = language.code_is_operand
            if not operand_is_code:
                yield from islice(rest, 1)
        elif len(word.literal) > 1 and word.literal[0] in "-+":
            if _holds_code(word.literal, language):
                yield word
        else:
            if operand_is_code or (runs and not is_given and _REFERENCE.match(word.literal)):
                yield word
            return


def _holds_code(option: str, language: Language) -> bool:
    """Whether code is glued to its option: `--eval=CODE`, `-eCODE`."""
    glued = re.search(r"[=$]", option)
    return glued is not None and any(
        re.fullmatch(language.code, option[:length]) for length in range(2, glued.start() + 1)
    )
