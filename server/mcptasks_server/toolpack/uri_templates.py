"""URI templates of resources (RFC 6570), as far as a URI can be read back by them: `{name}` and `{+name}`. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

_EXPRESSION: Final = re.compile(r"\{(\+?)([A-Za-z_][A-Za-z0-9_]*)\}")
_ENCODED: Final = r"(?:[A-Za-z0-9\-._~]|%[0-9A-Fa-f]{2})"
"""What simple expansion makes of any value."""


@dataclass(frozen=True, kw_only=True)
class UriTemplate:
    """A template that URIs can be matched with."""

    text: str
    names: tuple[str, ...]
    pattern: re.Pattern[str]

    def match(self, uri: str) -> Mapping[str, str] | None:
        """The variables' values in a URI, decoded; None where the URI is not of this template."""
        found = self.pattern.fullmatch(uri)
        if found is None:
            return None
        try:
            return {name: unquote(value, errors="strict") for name, value in found.groupdict().items()}
        except UnicodeDecodeError:
            return None


def uri_template(text: str) -> UriTemplate:
    """A template, ready for matching.

    Raises:
        ValueError: it holds an expression of another kind, one name twice, or two expressions side by side.
    """
    names = tuple(name for _, name in _EXPRESSION.findall(text))
    if len(set(names)) != len(names):
        raise ValueError("a variable stands in it twice")
    if re.search(r"[{}]", _EXPRESSION.sub("", text)):
        raise ValueError("only {name} and {+name} (a value that may hold slashes) are served")
    if "}{" in text:
        raise ValueError("two variables stand side by side: where one ends cannot be told")
    return UriTemplate(text=text, names=names, pattern=re.compile("".join(_parts(text))))


def _parts(text: str) -> Iterator[str]:
    at = 0
    for expression in _EXPRESSION.finditer(text):
        yield re.escape(text[at : expression.start()])
        operator, name = expression.groups()
        yield f"(?P<{name}>{'.+' if operator else _ENCODED + '+'})"
        at = expression.end()
    yield re.escape(text[at:])
