"""Which cluster a request means: one that was named, one that kind makes, or the local one.

A named cluster (by options, or ``MCPTASKS_KUBECONFIG`` and ``MCPTASKS_CONTEXT``) always wins. The user's default
context is never taken silently: tests write to what they are given.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, assert_never

from mcptasks_devcluster.errors import WrongClusterError
from mcptasks_devcluster.kind import engine_answers
from mcptasks_devcluster.record import ProviderName, Record, Size

Choice = Literal["auto", "context", "kind", "local"]


@dataclass(frozen=True, kw_only=True)
class Named:
    """A cluster that somebody named; at least one of the two is set."""

    kubeconfig: str | None
    context: str | None


def named_cluster(
    *, kubeconfig: str | None, context: str | None, environ: Mapping[str, str] | None = None
) -> Named | None:
    """What was named by options, else by the environment; None if nothing was."""
    env = os.environ if environ is None else environ
    named = Named(
        kubeconfig=kubeconfig or env.get("MCPTASKS_KUBECONFIG") or None,
        context=context or env.get("MCPTASKS_CONTEXT") or None,
    )
    return named if named.kubeconfig or named.context else None


def choose(
    choice: Choice,
    *,
    size: Size,
    named: Named | None,
    existing: Record | None,
    engine: Callable[[], bool] = engine_answers,
) -> ProviderName:
    """The provider for ``up``. What exists under this name is kept, so that a second ``up`` means the same cluster."""
    match choice:
        case "auto":
            if named is not None:
                chosen: ProviderName = "context"
            elif existing is not None:
                chosen = existing.provider
            else:
                # Only the local provider has a size without nodes.
                chosen = "kind" if size == "full" and engine() else "local"
        case "context":
            if named is None:
                raise WrongClusterError("--provider context needs --kubeconfig or --context (or MCPTASKS_KUBECONFIG)")
            chosen = "context"
        case "kind" | "local":
            chosen = choice
        case _:
            assert_never(choice)
    if existing is not None and existing.provider != chosen:
        raise WrongClusterError(
            f"{existing.name} exists and is of provider {existing.provider}, not {chosen}: take it down first"
        )
    return chosen
