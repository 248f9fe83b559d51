"""What a service needs of its cluster, against what the cluster says of itself: kinds as new as the code, and rights.

A custom resource definition that is older than the code drops the fields that it does not know without a word, so a
service looks before it works. It may not read the definition itself (that is the cluster's), but everybody may read
the schema that the API server publishes of it. What it asks for is said in the words that mend it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .base import Json

MOST_NAMED: Final = 5
"""How many of the things that are missing are named; the rest is counted."""
_ROOM: Final = ("maxLength", "maxItems", "maxProperties", "maximum")
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_RULES: Final = "x-kubernetes-validations"


@dataclass(frozen=True, kw_only=True, order=True)
class Right:
    """A verb that a service needs in the tasks' namespace."""

    group: str
    resource: str
    """With its subresource, as `pods/log`."""
    verb: str
    name: str = ""
    """The one object that it needs it for; empty: any."""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.verb, f"{self.resource}.{self.group}".rstrip("."), self.name)))

    def attributes(self, namespace: str) -> Json:
        """As a SelfSubjectAccessReview asks for it."""
        resource, _, subresource = self.resource.partition("/")
        asked = {
            "namespace": namespace,
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "verb": self.verb,
            "name": self.name,
        }
        return {key: value for key, value in asked.items() if value or key == "group"}


def rights(table: Iterable[tuple[str, str, Sequence[str]]]) -> tuple[Right, ...]:
    """The rights of a table: group, resource (with the one object's name behind a space, if any), verbs."""
    return tuple(
        Right(group=group, resource=resource.partition(" ")[0], verb=verb, name=resource.partition(" ")[2])
        for group, resource, verbs in table
        for verb in verbs
    )


def not_granted(needed: Iterable[Right], rules: Iterable[Mapping[str, Any]]) -> tuple[Right, ...]:
    """The rights that none of these rules gives (`status.resourceRules` of a SelfSubjectRulesReview)."""
    known = tuple(rules)
    return tuple(right for right in needed if not any(_gives(rule, right) for rule in known))


def _gives(rule: Mapping[str, Any], right: Right) -> bool:
    names = rule.get("resourceNames") or ()
    of_any = {right.resource, "*"} | ({"*/" + right.resource.partition("/")[2]} if "/" in right.resource else set())
    return (
        bool({right.verb, "*"} & set(rule.get("verbs") or ()))
        and bool({right.group, "*"} & set(rule.get("apiGroups") or ()))
        and bool(of_any & set(rule.get("resources") or ()))
        and (not names or (right.name != "" and right.name in names))
    )


def published_schema(document: Json, *, group: str, version: str, kind: str) -> Json | None:
    """A kind's schema out of the API server's OpenAPI document (`/openapi/v3/apis/GROUP/VERSION`)."""
    gvk = {"group": group, "version": version, "kind": kind}
    for schema in document.get("components", {}).get("schemas", {}).values():
        if gvk in schema.get("x-kubernetes-group-version-kind", ()):
            return dict(schema)
    return None


def missing_of(expected: Json, published: Json, *, at: str = "") -> Iterator[str]:
    """What a published schema lacks of the one that the code has, each as a person would look for it.

    A newer one may know more fields, more values and more room: that is no lack.
    """
    if published.get(_PRESERVE) and "properties" not in published:
        return
    for name, schema in expected.get("properties", {}).items():
        where = f"{at}.{name}" if at else name
        there = published.get("properties", {}).get(name)
        if there is None:
            yield where
        elif where not in ("metadata", "apiVersion", "kind"):  # the API server's own, and published as such
            yield from missing_of(schema, there, at=where)
    for inner, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(expected.get(inner), dict) and isinstance(published.get(inner), dict):
            yield from missing_of(expected[inner], published[inner], at=at + mark)
    yield from _narrower(expected, published, at=at)
    yield from _unruled(expected, published, at=at)


def _narrower(expected: Json, published: Json, *, at: str) -> Iterator[str]:
    if "enum" in published:
        for value in expected.get("enum", ()):
            if value not in published["enum"]:
                yield f"{at}={value}"
    for room in _ROOM:
        if room in published and published[room] < expected.get(room, 0):
            yield f"{at} up to {expected[room]}"


def _unruled(expected: Json, published: Json, *, at: str) -> Iterator[str]:
    """Rules that are missing; where there are others in their place, nobody can tell which are the newer ones."""
    wanted = {rule["rule"]: rule.get("message", rule["rule"]) for rule in expected.get(_RULES, ())}
    there = {rule["rule"] for rule in published.get(_RULES, ())}
    if there <= wanted.keys():
        yield from (f"{at or 'object'}: {message}" for rule, message in wanted.items() if rule not in there)


def listed(things: Sequence[object]) -> str:
    """The first few, and how many more.

    >>> listed(["a", "b"]), listed(list("abcdefgh"))
    ('a, b', 'a, b, c, d, e and 3 more')
    """
    named = ", ".join(str(thing) for thing in things[:MOST_NAMED])
    return named if len(things) <= MOST_NAMED else f"{named} and {len(things) - MOST_NAMED} more"
