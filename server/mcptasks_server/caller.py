"""Who makes a request. Every task belongs to one caller.

Each mode is a `CallerPolicy`: `none`, in which everybody is `anonymous`, and static tokens (see `tokens`). Others
(TokenReview, OIDC) will each be one beside them.
"""

from dataclasses import dataclass
from typing import Final, Protocol

from .headers import Headers


@dataclass(frozen=True, kw_only=True)
class Caller:
    """The principal of a request."""

    name: str
    groups: frozenset[str] = frozenset()
    expires_at: float | None = None
    """When what it was authenticated by ends, in seconds since the epoch: no stream of it may live longer."""

    def seconds_left(self, *, now: float) -> float | None:
        """How long a stream of it may last; None: for ever. `now`: seconds since the epoch."""
        return None if self.expires_at is None else max(0.0, self.expires_at - now)


ANONYMOUS: Final = Caller(name="anonymous")


class CallerPolicy(Protocol):
    """How a request's caller is found."""

    @property
    def knows_callers(self) -> bool:
        """Whether callers are told apart, so that each one may be shown a list of its own."""
        ...

    async def caller_of(self, headers: Headers) -> Caller:
        """The caller of a request with these headers.

        Raises:
            UnauthenticatedError: it does not say who it is, or not credibly.
        """
        ...


class NoAuthentication:
    """Everybody is the same caller: whoever can reach the server may call, and sees what others called."""

    knows_callers: Final = False

    async def caller_of(self, headers: Headers) -> Caller:
        """Always `anonymous`."""
        return ANONYMOUS
