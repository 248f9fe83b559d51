"""The one door to the API server: JSON in, JSON out, typed errors, for both services.

`kubernetes.aio` brings what is hard (kubeconfig, in-cluster tokens and their renewal, TLS, exec plugins); its generated
methods are not used, for they cost a model per object and choose patch types that custom resources do not have.

This module does the package's only I/O; in the package, `podlogs` alone imports it.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import aiohttp
from kubernetes.aio import client, config

from . import names
from .base import Json
from .hedging import hedged

REQUEST_TIMEOUT_SECONDS: Final = 30.0
SILENCES: Final = (5.0, 10.0)
"""For how many seconds nothing may come back before a read is asked again, and then once more.

A connection may have died without a word (a node that is gone, a firewall that has forgotten it), and then the first
would be waited for in vain until its time is over. An API server that is only slow may still answer the first.
"""
MERGE_PATCH: Final = "application/merge-patch+json"
DEEPEST_STACK: Final = 25_000
"""What `sys.setrecursionlimit` needs for the deepest document that an API server takes (10,000 levels).

With Python's own limit of 1,000, one custom resource that nests deeper than that could not be read, nor any list that
it stands in: one tool's author would stop everybody's tasks. A process sets it at its start.
"""
_NO_ANSWER: Final = "the API server gives no answer"
_CUT_OFF: Final = "the API server's answer was cut off"
METADATA_ONLY: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class KubeError(Exception):
    """The API server did not do what was asked."""

    def __init__(self, message: str, *, status: int | None = None, reason: str = "", words: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.words = words or message
        """What the API server said, without what was asked of it: for people who know nothing of the request."""


class NotFoundError(KubeError):
    """There is no such object (404)."""


class ConflictError(KubeError):
    """The object exists already, or is not in the version that was asked for (409)."""


class RejectedError(KubeError):
    """What was asked is wrong or not allowed, and stays so (400, 403, 413, 415, 422)."""


class RetryableError(KubeError):
    """It may work later (429, 5xx, no answer, a quota that others change). Whether it was done is not known."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        reason: str = "",
        words: str = "",
        delay_seconds: float | None = None,
    ) -> None:
        super().__init__(message, status=status, reason=reason, words=words)
        self.delay_seconds = delay_seconds


class GoneError(RetryableError):
    """The resource version is too old to be watched from (410): list again."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Where objects of a kind are in the API."""

    group: str
    version: str
    plural: str
    is_namespaced: bool = True
    """Whether its objects are in namespaces; otherwise a namespace that is named plays no part."""

    def path(self, namespace: str, name: str | None = None, *, subresource: str | None = None) -> str:
        """The URL's path of the objects of a namespace, or of one of them."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        where = ["namespaces", namespace] if self.is_namespaced else []
        parts = [root, *where, self.plural, name, subresource]
        return "/".join(part for part in parts if part is not None)


TASKS: Final = Kind(group=names.GROUP, version=names.VERSION, plural=names.TASK_PLURAL)
TOOLS: Final = Kind(group=names.GROUP, version=names.VERSION, plural=names.TOOL_PLURAL)
JOBS: Final = Kind(group="batch", version="v1", plural="jobs")
PODS: Final = Kind(group="", version="v1", plural="pods")
SECRETS: Final = Kind(group="", version="v1", plural="secrets")
POLICIES: Final = Kind(
    group="admissionregistration.k8s.io", version="v1", plural="validatingadmissionpolicies", is_namespaced=False
)
POLICY_BINDINGS: Final = Kind(
    group="admissionregistration.k8s.io", version="v1", plural="validatingadmissionpolicybindings", is_namespaced=False
)
LEASES: Final = Kind(group="coordination.k8s.io", version="v1", plural="leases")
EVENTS: Final = Kind(group="events.k8s.io", version="v1", plural="events")


Load = Callable[[client.Configuration], Awaitable[None]]


class Kube:
    """An open connection to one API server. Use as an async context manager."""

    def __init__(
        self, api: client.ApiClient, load: Load | None = None, *, silences: Sequence[float] = SILENCES
    ) -> None:
        """`load`: reads the credentials anew; without it they stay what they are."""
        self._api = api
        self._other: client.ApiClient | None = None
        """For what is asked again: it has connections of its own, for all that stand idle in the first may be dead."""
        self._silences = silences
        self._load = load
        self._loading = asyncio.Lock()
        self._loads = 0
        self.forbidden = asyncio.Event()
        """Set whenever the API server has refused something (403): a right is missing, or admission is against it."""

    @classmethod
    async def connect(cls, *, kubeconfig: Path | None = None, context: str | None = None) -> Self:
        """Open a connection with the named kubeconfig, else with the pod's own service account."""
        configuration = client.Configuration()
        # Reading the environment's proxy settings for each request costs more than the request itself.
        configuration.client_session_kwargs = {"trust_env": False}

        async def load(into: client.Configuration) -> None:
            if kubeconfig is not None or context is not None:
                file = None if kubeconfig is None else str(kubeconfig)
                await config.load_kube_config(config_file=file, context=context, client_configuration=into)
            else:
                config.load_incluster_config(client_configuration=into)

        await load(configuration)
        return cls(client.ApiClient(configuration), load)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._api.close()
        if self._other is not None:
            await self._other.close()

    @property
    def configuration(self) -> client.Configuration:
        """How the connection was made: address, certificates and token, for whoever needs one of his own."""
        configuration: client.Configuration = self._api.configuration
        return configuration

    async def renew(self) -> None:
        """Read the credentials anew: a token file's new content, what an exec plugin gives now.

        Raises:
            RetryableError: they cannot be read at the moment.
        """
        loads = self._loads
        async with self._loading:
            if loads != self._loads:
                return  # somebody else has done it meanwhile
            try:
                if self._load is not None:
                    await self._load(self._api.configuration)
            except (config.ConfigException, OSError) as error:
                raise RetryableError(f"the credentials cannot be read: {error}") from error
            self._loads += 1

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
        only_asks: bool = False,
    ) -> bytes:
        """Send one request and read its whole answer.

        `only_asks`: it changes nothing, as no GET does, so that it may be sent again while nothing comes back.

        Raises:
            KubeError: one of its kinds, by what the caller can do about it.
        """

        def send(api: client.ApiClient) -> Awaitable[Any]:
            return self._send(
                api,
                method,
                path,
                query=query,
                body=body,
                content_type=content_type,
                accept=accept,
                timeout_seconds=timeout_seconds,
            )

        response = await (self._ask(send) if only_asks or method == "GET" else send(self._api))
        try:
            async with asyncio.timeout(timeout_seconds):
                return bytes(await response.read())
        except (aiohttp.ClientError, TimeoutError) as error:
            raise RetryableError(f"{method} {path}: the answer was cut off: {error!r}", words=_CUT_OFF) from error

    async def get(self, kind: Kind, namespace: str, name: str) -> Json:
        """Read one object as it is now."""
        return _parse(await self.request("GET", kind.path(namespace, name)))

    async def list(self, kind: Kind, namespace: str, **query: str) -> Json:
        """List the objects of a namespace. `query` holds the API's own parameters (`labelSelector`, `limit`, ...)."""
        return _parse(await self.request("GET", kind.path(namespace), query=query))

    async def list_metadata(self, kind: Kind, namespace: str, **query: str) -> Json:
        """List the objects of a namespace without what is in them: each item is its metadata alone."""
        return _parse(await self.request("GET", kind.path(namespace), query=query, accept=METADATA_ONLY))

    async def create(self, kind: Kind, namespace: str, manifest: Json, **query: str) -> Json:
        """Create an object. `query` holds the API's own parameters (`dryRun`, `fieldValidation`, ...)."""
        return _parse(await self.request("POST", kind.path(namespace), body=manifest, query=query))

    async def patch(
        self, kind: Kind, namespace: str, name: str, patch: Json, *, subresource: str | None = None, **query: str
    ) -> Json:
        """Merge a patch into an object, or into its subresource (`status`)."""
        path = kind.path(namespace, name, subresource=subresource)
        return _parse(await self.request("PATCH", path, body=patch, content_type=MERGE_PATCH, query=query))

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str | None = None) -> None:
        """Delete an object in the background, only the one with that uid if given."""
        options: Json = {"propagationPolicy": "Background"}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        await self.request("DELETE", kind.path(namespace, name), body=options)

    async def watch(
        self,
        kind: Kind,
        namespace: str,
        *,
        timeout_seconds: float,
        on_open: Callable[[], None] = lambda: None,
        **query: str,
    ) -> AsyncGenerator[Json, None]:
        """The events of a watch, until the server ends it or nothing comes for `timeout_seconds`.

        `on_open` is called once the API server has accepted the watch, be it long before the first event.

        Raises:
            GoneError: also where the 410 comes as an event inside a good answer.
        """
        path, query = kind.path(namespace), {"watch": "true", **query}
        response = await self._ask(
            lambda api: self._send(api, "GET", path, query=query, timeout_seconds=timeout_seconds)
        )
        on_open()
        content = response.response.content
        try:
            while True:
                async with asyncio.timeout(timeout_seconds):
                    line = await content.readline()
                if not line:
                    return
                event = _parse(line)
                if event.get("type") == "ERROR":
                    raise _error("watch", kind.plural, int(event["object"].get("code", 500)), line)
                yield event
        except (aiohttp.ClientError, TimeoutError) as error:
            raise RetryableError(f"watch {kind.plural}: cut off: {error!r}", words=_CUT_OFF) from error
        finally:
            response.response.close()

    async def stream(
        self, kind: Kind, namespace: str, name: str, *, subresource: str, timeout_seconds: float, **query: str
    ) -> AsyncIterator[bytes]:
        """A subresource's bytes as they come (`log`), until its end or until nothing comes for `timeout_seconds`."""
        path = kind.path(namespace, name, subresource=subresource)
        response = await self._send(self._api, "GET", path, query=query, accept="*/*", timeout_seconds=timeout_seconds)
        try:
            async for chunk in response.response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, TimeoutError) as error:
            raise RetryableError(f"GET {path}: the answer was cut off: {error!r}", words=_CUT_OFF) from error
        finally:
            response.response.close()

    async def _ask(self, send: Callable[[client.ApiClient], Awaitable[Any]]) -> Any:
        """Send what changes nothing, and again while nothing comes back."""

        def send_by(number: int) -> Awaitable[Any]:
            if number == 0:
                return send(self._api)
            if self._other is None:
                self._other = client.ApiClient(self.configuration)
            return send(self._other)

        return await hedged(send_by, silences=self._silences, drop=lambda late: late.response.close())

    async def _send(
        self,
        api: client.ApiClient,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None,
        timeout_seconds: float,
        body: Json | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> Any:
        async def send() -> Any:
            parameters = await api.param_serialize(
                method=method,
                resource_path=path,
                query_params=list((query or {}).items()),
                header_params={"Accept": accept, "Content-Type": content_type},
                body=body,
                auth_settings=["BearerToken"],
            )
            return await api.call_api(*parameters, _request_timeout=timeout)

        # A watch has no total limit; a plain request gets one in request().
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=timeout_seconds)
        try:
            response = await send()
            if response.status == 401:  # refused before anything was done
                response.response.close()
                await self.renew()
                response = await send()
            if response.status == 403:
                self.forbidden.set()
            if response.status >= 400:
                raise _error(method, path, response.status, await response.read(), response.headers)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise RetryableError(f"{method} {path}: no answer: {error!r}", words=_NO_ANSWER) from error
        return response


def _parse(body: bytes) -> Json:
    try:
        document: Json = json.loads(body)
    except ValueError as error:  # a proxy's page, or a line that was cut off
        raise RetryableError("the answer is not JSON") from error
    return document


_KINDS: Final[Mapping[int, type[KubeError]]] = {
    400: RejectedError,
    403: RejectedError,
    404: NotFoundError,
    409: ConflictError,
    413: RejectedError,
    415: RejectedError,
    422: RejectedError,
}


def _error(method: str, path: str, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> KubeError:
    """The error for an answer. Only a Status object's own message is echoed: other bodies may hold anything."""
    what, message, reason = f"{method} {path}", f"HTTP {status}", ""
    try:
        document = json.loads(body)
        if isinstance(document, dict):
            document = document.get("object", document)  # an ERROR event of a watch wraps its Status
        if isinstance(document, dict) and document.get("kind") == "Status":
            message, reason = str(document.get("message", message))[:2000], str(document.get("reason", ""))
    except ValueError:
        pass
    said: dict[str, Any] = {"status": status, "reason": reason, "words": message}
    if status == 410:
        return GoneError(f"{what}: {message}", **said)
    kind = _KINDS.get(status)
    # A POST meets this where a quota's own object is changed by others meanwhile: nothing of that name was found.
    is_in_passing = method == "POST" and status == 409 and reason != "AlreadyExists"
    if kind is not None and not is_in_passing:
        return kind(f"{what}: {message}", **said)
    delay = (headers or {}).get("Retry-After", "")
    return RetryableError(f"{what}: {message}", delay_seconds=float(delay) if delay.isdigit() else None, **said)
