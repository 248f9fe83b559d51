"""A service's look at its installation before it works: are the kinds there, and as new as its code, and its rights?

Says what is wrong together with what mends it; nothing wrong is an empty answer. It is asked again until it is. The
rights are looked at again later, once something was refused: somebody may have taken one away.
"""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from . import names
from .base import Json
from .installation import Right, listed, missing_of, not_granted, published_schema
from .kube import Kube, KubeError, NotFoundError, RejectedError
from .manifest import custom_resource_definitions

AGAIN_SECONDS: Final = 5.0
"""How often an installation that is not as it should be is looked at again."""
OPENAPI_PATH: Final = f"/openapi/v3/apis/{names.GROUP}/{names.VERSION}"
NAMESPACE_FILE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_REVIEWS: Final = "/apis/authorization.k8s.io/v1"


@dataclass(frozen=True, kw_only=True)
class SelfCheck:
    """What a service needs."""

    kube: Kube
    namespace: str
    """Where it needs its rights."""
    service: str
    """`operator` or `server`, in what it says."""
    needed: Sequence[Right]

    async def until_mended(
        self, tell: Callable[[str], object], *, sleep: Callable[[float], Any] = asyncio.sleep
    ) -> None:
        """Look until nothing is wrong. `tell` is told what is, after each look; at the end the empty text."""
        await self._until_mended(self.look, tell, sleep)

    async def keep_rights(
        self, tell: Callable[[str], object], *, sleep: Callable[[float], Any] = asyncio.sleep
    ) -> None:
        """Look at the rights again, until they are mended, whenever the API server has refused something (403).

        Most of those refusals are admission's, and no right is missing; so it is looked at most every 5 s.
        """
        while True:
            await self.kube.forbidden.wait()
            await self._until_mended(self._look_at_rights, tell, sleep)
            await sleep(AGAIN_SECONDS)
            self.kube.forbidden.clear()  # not earlier: the look itself may be refused

    async def _until_mended(
        self, look: Callable[[], Awaitable[str]], tell: Callable[[str], object], sleep: Callable[[float], Any]
    ) -> None:
        while True:
            try:
                wrong = await look()
            except KubeError as error:
                wrong = f"the API server does not answer: {error}"
            tell(wrong)
            if not wrong:
                return
            await sleep(AGAIN_SECONDS)

    async def _look_at_rights(self) -> str:
        return "; ".join(await self._rights())

    async def look(self) -> str:
        """What is wrong, and what to do about it; empty where nothing is.

        Raises:
            KubeError: the API server does not say.
        """
        return "; ".join([*await self._kinds(), *await self._rights()])

    async def _kinds(self) -> list[str]:
        try:
            document = json.loads(await self.kube.request("GET", OPENAPI_PATH))
        except NotFoundError:
            document = {}
        missing, older = [], []
        for definition in custom_resource_definitions():
            name, kind = definition["metadata"]["name"], definition["spec"]["names"]["kind"]
            published = published_schema(document, group=names.GROUP, version=names.VERSION, kind=kind)
            if published is None:
                missing.append(name)
                continue
            (version,) = definition["spec"]["versions"]
            lacks = list(missing_of(version["schema"]["openAPIV3Schema"], published))
            if lacks:
                older.append(f"{name} (it lacks {listed(lacks)})")
        said = []
        if missing:
            said.append(f"the API server does not serve {', '.join(missing)}: {self._mend('install')}")
        if older:
            said.append(f"older than this {self.service}: {', '.join(older)}: {self._mend('upgrade')}")
        return said

    @staticmethod
    def _mend(verb: str) -> str:
        return (
            f"{verb} the release that has the CRDs (helm upgrade --install ... --set crds.install=true), or run: "
            f"{_here()}python -m mcptasks_crds.manifest --print | kubectl apply --server-side --force-conflicts -f -"
        )

    async def _rights(self) -> list[str]:
        lacking = [right for right in await self._unlisted() if not await self._is_allowed(right)]
        if not lacking:
            return []
        return [
            f"the {self.service} may not do this in namespace {self.namespace}: {listed(lacking)}: upgrade its release"
            f" (helm upgrade ...), whose Role has these rights, or bring Role and RoleBinding of"
            f" templates/{self.service}/role.yaml there"
        ]

    async def _unlisted(self) -> Iterable[Right]:
        """The rights that no rule is known to give: not all authorizers can list theirs."""
        body: Json = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": self.namespace},
        }
        try:
            answer = json.loads(
                await self.kube.request("POST", f"{_REVIEWS}/selfsubjectrulesreviews", body=body, only_asks=True)
            )
        except RejectedError:
            return self.needed
        return not_granted(self.needed, answer["status"].get("resourceRules") or ())

    async def _is_allowed(self, right: Right) -> bool:
        body: Json = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": right.attributes(self.namespace)},
        }
        try:
            answer = json.loads(
                await self.kube.request("POST", f"{_REVIEWS}/selfsubjectaccessreviews", body=body, only_asks=True)
            )
        except RejectedError:
            return True  # whoever may not even ask finds out by trying
        return bool(answer["status"]["allowed"])


def _here() -> str:
    """What runs a command in this very pod; nothing outside a cluster."""
    try:
        namespace = NAMESPACE_FILE.read_text().strip()
    except OSError:
        return ""
    return f"kubectl exec --namespace {namespace} {socket.gethostname()} -- "
