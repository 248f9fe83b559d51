"""`Attempts` over the API server: the pod itself is read, which happens only where a task's record does not name it."""

from typing import Final, Protocol

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import PODS, Kind, KubeError, NotFoundError
from mcptasks_crds.task import McpTask
from mcptasks_server.errors import UnavailableError

from .coalesce import Coalescing
from .task_pods import is_made_for

_OVER: Final = ("Succeeded", "Failed")


class Pods(Protocol):
    """What is needed of the API server: `mcptasks_crds.kube.Kube` has it."""

    async def get(self, kind: Kind, namespace: str, name: str) -> Json:
        """Read one object as it is now."""
        ...


class KubeAttempts:
    """The pods of one namespace's tasks. See `Attempts` for what is promised."""

    def __init__(self, kube: Pods, *, namespace: str) -> None:
        self._kube, self._namespace = kube, namespace
        self._reads = Coalescing(self._read)

    async def is_alive(self, task: McpTask, *, pod_name: str, pod_uid: str) -> bool:
        """See `Attempts`."""
        if not names.is_object_name(pod_name):
            return False
        pod = await self._reads.get(pod_name)
        if pod is None or pod["metadata"]["uid"] != pod_uid or not is_made_for(pod, task):
            return False
        return "deletionTimestamp" not in pod["metadata"] and pod.get("status", {}).get("phase") not in _OVER

    async def _read(self, name: str) -> Json | None:
        try:
            return await self._kube.get(PODS, self._namespace, name)
        except NotFoundError:
            return None
        except KubeError as error:
            raise UnavailableError(f"The pod cannot be read: {error.words}") from error
