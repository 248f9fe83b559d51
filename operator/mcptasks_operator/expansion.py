"""Kubernetes' own expansion of `$(NAME)` in `command`, `args` and `env`.

It is textual and knows no quoting. So what a caller gave is escaped before it becomes a variable's value, and a tool
that lets it expand inside a program's text is found out (`scripts`).

https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

_STEP: Final = re.compile(r"\$(?:(?P<escaped>\$)|\((?P<name>[^)]*)\))", re.DOTALL)


def escape(text: str) -> str:
    """A text that expands to the given one, whatever is in it.

    >>> escape("costs $5, $(DB)")
    'costs $$5, $$(DB)'
    """
    return text.replace("$", "$$")


def references(text: str) -> Iterator[str]:
    """The names that a text refers to, in order; `$$(NAME)` refers to nothing.

    >>> list(references("$(A)-$$(B)-$$$(C)-$D"))
    ['A', 'C']
    """
    for step in _STEP.finditer(text):
        if step["name"] is not None:
            yield step["name"]


def substitute(text: str, known: Mapping[str, str]) -> str:
    """The text with the known variables put in; other references and `$$` stay as they are.

    >>> substitute("$(A)-$$(A)-$(B)", {"A": "x"})
    'x-$$(A)-$(B)'
    """
    return _STEP.sub(lambda step: known.get(step["name"], step[0]) if step["name"] is not None else step[0], text)
