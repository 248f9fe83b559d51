"""Who makes a request. Every task belongs to one caller.

One mode today: `none`, in which everybody is `anonymous`. Others (static tokens, TokenReview, OIDC) will each be a
`CallerPolicy` beside it.
"""

from dataclasses import dataclass
from typing import Final, Protocol

from .headers import Headers


@dataclass(frozen=True, kw_only=True)
class Caller:
    """The principal of a request."""

    name: str


ANONYMOUS: Final = Caller(name="anonymous")


class CallerPolicy(Protocol):
    """How a request's caller is found."""

    async def caller_of(self, headers: Headers) -> Caller:
        """The caller of a request with these headers."""
        ...


class NoAuthentication:
    """Everybody is the same caller: whoever can reach the server may call, and sees what others called."""

    async def caller_of(self, headers: Headers) -> Caller:
        """Always `anonymous`."""
        return ANONYMOUS
