"""Whether a token was signed by this cluster's API server, by keys that are fetched from it and kept.

No rights are needed but those that every service account has (`system:service-account-issuer-discovery`), and no
request is made for a token whose key is known. Sources: RFC 7515, RFC 7517; Kubernetes, "Service account issuer
discovery".
"""

import asyncio
import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import jwt
import structlog
from jwt.api_jwk import PyJWK, PyJWKSet

from mcptasks_crds.kube import KubeError

from .claims import PodClaims, check_for_task, pod_claims
from .problems import LaterProblem, UnknownPodProblem

DISCOVERY_PATH: Final = "/.well-known/openid-configuration"
KEYS_PATH: Final = "/openid/v1/jwks"
ALGORITHMS: Final = ("RS256", "ES256", "ES384", "ES512")
"""What an API server signs with."""
FETCH_AGAIN_SECONDS: Final = 5.0
"""How often, at most, the keys are fetched because a token names one that is not known."""
FIRST_SECONDS: Final = 0.5
"""The same, as long as none is known at all."""
RENEW_SECONDS: Final = 600.0
"""After this long the keys are fetched anew: one may have been withdrawn."""
FETCH_SECONDS: Final = 5.0
"""How long a fetch may take."""
MAX_TOKEN_LENGTH: Final = 16 * 1024
REMEMBERED: Final = 10_000
"""How many tokens' claims are kept: a signature is checked once, its time at each request."""
_NO_KEYS: Final = "The keys to check tokens by cannot be fetched from the API server"


class KeySource(Protocol):
    """Who is asked for the keys; `Kube` is one."""

    async def request(self, method: str, path: str, /, *, accept: str = ..., timeout_seconds: float = ...) -> bytes:
        """Send one request and read its whole answer."""
        ...


@dataclass(frozen=True, kw_only=True)
class Keys:
    """What tokens are checked by, as it was fetched at some time."""

    issuer: str
    by_id: Mapping[str, PyJWK]
    fetched_at: float


@dataclass(kw_only=True)
class PodTokens:
    """The tokens of one namespace's pods."""

    kube: KeySource
    namespace: str
    monotonic: Callable[[], float] = time.monotonic
    clock: Callable[[], float] = time.time
    """Seconds since the epoch."""
    _keys: Keys | None = None
    _tried_at: float = float("-inf")
    _fetching: asyncio.Lock = field(default_factory=asyncio.Lock)
    _seen: OrderedDict[bytes, PodClaims] = field(default_factory=OrderedDict)
    _log: Any = field(default_factory=structlog.get_logger)

    async def pod_of(self, token: str, *, task: str) -> PodClaims:
        """The pod whose token for that task this is.

        Raises:
            UnknownPodProblem: it is no token, or not a good one.
            ForeignPodProblem: it is another task's.
            LaterProblem: the keys to check it by could not be fetched.
        """
        keys = await self._current()
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        claims = self._seen.get(digest)
        if claims is None:
            claims = pod_claims(await self._verified(token, keys), issuer=keys.issuer, namespace=self.namespace)
            self._seen[digest] = claims
            if len(self._seen) > REMEMBERED:
                self._seen.popitem(last=False)
        check_for_task(claims, task, now=self.clock())
        return claims

    async def _verified(self, token: str, keys: Keys) -> Mapping[str, Any]:
        try:
            if len(token) > MAX_TOKEN_LENGTH:
                raise UnknownPodProblem("The token is not a token of a pod")
            header = jwt.get_unverified_header(token)
            key = await self._key(str(header.get("kid")), keys)
            if header.get("alg") != key.algorithm_name or key.algorithm_name not in ALGORITHMS:
                raise UnknownPodProblem("The token is not signed as this cluster's are")
            payload = jwt.PyJWS().decode(token, key, algorithms=[key.algorithm_name])
            claims = json.loads(payload)
        except (jwt.InvalidTokenError, ValueError, RecursionError) as error:
            raise UnknownPodProblem("The token is not one that this cluster's API server has signed") from error
        if not isinstance(claims, dict):
            raise UnknownPodProblem("The token is not a token of a pod")
        return claims

    async def _key(self, key_id: str, keys: Keys) -> PyJWK:
        if key_id not in keys.by_id and self.monotonic() - self._tried_at >= FETCH_AGAIN_SECONDS:
            keys = await self._fetch(than=keys)
        key = keys.by_id.get(key_id)
        if key is None:
            raise UnknownPodProblem("The token is signed with a key that is not this cluster's")
        return key

    async def _current(self) -> Keys:
        keys = self._keys
        if keys is not None and (self.monotonic() - keys.fetched_at < RENEW_SECONDS or self._fetching.locked()):
            return keys  # one waits for newer ones; what is known is good for the others meanwhile
        return await self._fetch(than=keys)

    async def _fetch(self, *, than: Keys | None) -> Keys:
        """Newer keys; those that there are where no newer ones can be had."""
        async with self._fetching:
            if self._keys is not than and self._keys is not None:
                return self._keys  # somebody was faster
            if self.monotonic() - self._tried_at < (FIRST_SECONDS if than is None else FETCH_AGAIN_SECONDS):
                if than is None:
                    raise LaterProblem(_NO_KEYS)
                return than
            self._tried_at = self.monotonic()
            try:
                found = await self._fetched()
            except (KubeError, ValueError, KeyError, jwt.PyJWTError) as error:
                self._tried_at = self.monotonic()  # a try may take long, and whoever has waited for it makes none
                self._log.error("the keys of pods' tokens cannot be fetched", error=str(error) or repr(error))
                if than is not None:
                    return than
                raise LaterProblem(_NO_KEYS) from error
            self._keys = found
            self._seen.clear()  # a key may have been withdrawn
            return found

    async def _fetched(self) -> Keys:
        discovered = json.loads(await self.kube.request("GET", DISCOVERY_PATH, timeout_seconds=FETCH_SECONDS))
        body = await self.kube.request(
            "GET", KEYS_PATH, accept="application/jwk-set+json, application/json", timeout_seconds=FETCH_SECONDS
        )
        found = PyJWKSet.from_json(body.decode()).keys
        return Keys(
            issuer=str(discovered["issuer"]),
            by_id={str(key.key_id): key for key in found},
            fetched_at=self.monotonic(),
        )
