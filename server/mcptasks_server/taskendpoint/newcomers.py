"""Whether a pod that its task's record does not name is the next attempt's, which nobody has recorded yet.

Kubernetes makes the pods of a task with retries by itself, also while the operator is away: until the operator has
looked, the record names the pod before. The pod itself tells one that is new from one that is old: a Job makes the next
pod only once the one before is over, so of its pods at most one neither is over nor goes.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeVar

from mcptasks_crds.task import McpTask
from mcptasks_server.errors import UnavailableError
from mcptasks_server.projection import is_over

from .claims import PodClaims
from .problems import ForeignPodProblem, LaterProblem, NotCurrentProblem

REMEMBERED: Final = 10_000
"""Of how many pods it is kept that they are old: they never become new, and are not looked at again."""


DoneT = TypeVar("DoneT")


class Attempts(Protocol):
    """Who knows the pods of a task's Job."""

    async def is_alive(self, task: McpTask, *, pod_name: str, pod_uid: str) -> bool:
        """Whether that pod is there, was made by the task's own Job, and neither is over nor goes.

        Raises:
            UnavailableError: it cannot be told now.
        """
        ...


class Newcomers:
    """Tells new pods from old ones."""

    def __init__(self, attempts: Attempts) -> None:
        self._attempts = attempts
        self._old: OrderedDict[str, None] = OrderedDict()

    async def heard(self, pod: PodClaims, operation: Callable[[], Awaitable[DoneT]]) -> DoneT:
        """What the operation gives that the pod asks for.

        Raises:
            LaterProblem: the pod is not recorded yet.
            ForeignPodProblem: it is not the task's current one, and never will be.
        """
        try:
            return await operation()
        except NotCurrentProblem as problem:
            if await self._is_next(problem.task, pod):
                raise LaterProblem("The pod is not recorded yet: try again") from problem
            raise ForeignPodProblem(problem.detail) from problem

    async def _is_next(self, task: McpTask, pod: PodClaims) -> bool:
        if is_over(task) or pod.pod_uid in self._old:
            return False
        try:
            is_alive = await self._attempts.is_alive(task, pod_name=pod.pod_name, pod_uid=pod.pod_uid)
        except UnavailableError as error:
            raise LaterProblem(error.message) from error
        if not is_alive:
            self._old[pod.pod_uid] = None
            if len(self._old) > REMEMBERED:
                self._old.popitem(last=False)
        return is_alive
