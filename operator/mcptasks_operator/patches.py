"""Merge patches (RFC 7386) of the leaves that changed, and of nothing else."""

from collections.abc import Mapping
from typing import Any

from mcptasks_crds.base import Json


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> Json:
    """What turns `old` into `new`: changed members, in objects one by one, and null for those that are gone.

    >>> merge_patch({"a": 1, "o": {"x": 1, "y": 2}, "gone": 1}, {"a": 1, "o": {"x": 1, "y": 3}})
    {'o': {'y': 3}, 'gone': None}
    """
    patch: Json = {}
    for name, value in new.items():
        before = old.get(name)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            changes = merge_patch(before, value)
            if changes:
                patch[name] = changes
        elif name not in old or value != before:
            patch[name] = value
    patch.update({name: None for name in old if name not in new})
    return patch
