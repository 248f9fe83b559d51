"""A call that is sent again under its idempotency key is the same call: one task, whichever replica is asked. Pure.

The key stands in the request's `_meta` (`IDEMPOTENCY_KEY`). The task's name is a keyed hash of caller, tool and key, so
of two replicas that are asked at once the API server lets one create it, and the other one finds it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from mcptasks_crds import jsontext, names
from mcptasks_crds.task import McpTask

from .caller import Caller
from .errors import InvalidParamsError, UnavailableError
from .projection import is_expired
from .signing import Purpose, Signer
from .tasks import IDEMPOTENCY_KEY, NewTask, OtherCallError

MAX_KEY_LENGTH: Final = 256


@dataclass(frozen=True, kw_only=True)
class Identity:
    """What a keyed call's task is found by."""

    name: str
    """The task's."""
    arguments_digest: str
    """Of the call's arguments."""


def key_of(params: Mapping[str, Any]) -> str | None:
    """A request's idempotency key; None where it has none.

    Raises:
        InvalidParamsError: it is no text of 1 to `MAX_KEY_LENGTH` characters.
    """
    meta = params.get("_meta")
    key = meta.get(IDEMPOTENCY_KEY) if isinstance(meta, Mapping) else None
    if key is None:
        return None
    if not isinstance(key, str) or not 1 <= len(key) <= MAX_KEY_LENGTH:
        raise InvalidParamsError(
            f"Invalid params: _meta/{IDEMPOTENCY_KEY}: must be a string of 1 to {MAX_KEY_LENGTH} characters"
        )
    return key


def identities(
    signer: Signer, *, caller: Caller, tool: str, key: str | None, rounds: str | None = None, arguments: str
) -> tuple[Identity, ...]:
    """By what a call's task is found: first the one that a new task gets, then those by older keys of the signer.

    `key`: the client's; without one, `rounds` is by what the rounds of a call are one that was answered by questions
    before there was a task. `arguments`: JSON text; spaces and the order of members do not matter.
    """
    if key is None and rounds is None:
        return ()
    canonical = json.dumps(jsontext.parse(arguments), sort_keys=True, separators=(",", ":"))
    named_by = (key,) if key is not None else ("", rounds or "")  # no key is empty
    hashes = signer.digests(Purpose.IDEMPOTENCY, caller.name, tool, *named_by)
    return tuple(
        # The name is in the digest too: else equal secrets would show in tasks of different calls.
        Identity(
            name=names.TASK_ID_PREFIX + each,
            arguments_digest=signer.fingerprints(Purpose.ARGUMENTS, each + canonical)[age],
        )
        for age, each in enumerate(hashes)
    )


def check_same_call(task: McpTask, new: NewTask, *, caller: Caller, now: datetime) -> None:
    """That a task which has a new one's name is of the same call.

    Raises:
        OtherCallError: it is not.
        UnavailableError: it was, but its time is over and it is being removed.
    """
    spec = task.spec
    if (spec.caller, spec.tool.name, spec.arguments_digest) != (caller.name, new.tool, new.arguments_digest):
        raise OtherCallError
    if is_expired(task, now=now):
        raise UnavailableError("The task of this idempotency key is being removed; please try again in a moment")
