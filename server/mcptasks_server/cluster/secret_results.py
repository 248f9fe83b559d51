"""`LargeResults` in Secrets: immutable, and owned by their task, so that they go when it goes."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import structlog

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import SECRETS, ConflictError, Kube, NotFoundError, RejectedError
from mcptasks_crds.task import McpTask
from mcptasks_server.errors import RefusedError
from mcptasks_server.largeresults import ResultLostError

from .coalesce import Coalescing
from .manifests import result_secret
from .patience import persist


class SecretResults:
    """Large results of the tasks of one namespace. See `LargeResults` for what each method promises."""

    def __init__(self, kube: Kube, *, namespace: str) -> None:
        self._kube, self._namespace = kube, namespace
        self._reads = Coalescing(self._read)
        self._log: Any = structlog.get_logger()

    async def keep(self, name: str, text: str, *, task: McpTask) -> str:
        """Create the Secret, or find it there."""
        manifest = result_secret(name, text, task=task)
        try:
            await persist(lambda: self._kube.create(SECRETS, self._namespace, manifest))
        except ConflictError:  # an earlier try, or another replica's
            return await self.read(name, task=task)
        except (RejectedError, NotFoundError) as error:
            self._log.error("the cluster refuses a result's Secret", task=task.metadata.name, error=str(error))
            raise RefusedError(f"The cluster refuses the result's Secret ({error.reason or error.status})") from error
        return text

    async def read(self, name: str, *, task: McpTask) -> str:
        """Read the Secret, if it is the task's own."""
        document = await persist(lambda: self._reads.get(name))  # the wait for its turn is in the time, too
        owners = document["metadata"].get("ownerReferences", ())
        if not any(owner["uid"] == task.metadata.uid for owner in owners):
            raise ResultLostError("the Secret is not the task's")
        return _text(document.get("data") or {})

    async def _read(self, name: str) -> Json:
        try:
            return await persist(lambda: self._kube.get(SECRETS, self._namespace, name))
        except NotFoundError as error:
            raise ResultLostError("the Secret is not there") from error
        except RejectedError as error:
            self._log.error("the cluster refuses to show a result's Secret", secret=name, error=str(error))
            raise ResultLostError("the Secret may not be read") from error


def _text(data: Mapping[str, str]) -> str:
    try:
        return base64.b64decode(data[names.RESULT_KEY], validate=True).decode()
    except (KeyError, binascii.Error, UnicodeDecodeError) as error:
        raise ResultLostError("the Secret holds something else") from error
