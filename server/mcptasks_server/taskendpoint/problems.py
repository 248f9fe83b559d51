"""What a pod is told when its request is not done, as RFC 9457 has it (`application/problem+json`). Pure."""

from http import HTTPStatus
from typing import Any, ClassVar, Final

from mcptasks_crds.task import McpTask

CONTENT_TYPE: Final = "application/problem+json"
RETRY_SECONDS: Final = 1
"""When a request that may work later is to be repeated."""


class Problem(Exception):  # noqa: N818  # RFC 9457 calls it so
    """The request is not done. `field` names what is at fault in it."""

    status: ClassVar[HTTPStatus] = HTTPStatus.INTERNAL_SERVER_ERROR
    retry_after: ClassVar[int | None] = None
    """In how many seconds a repetition may work; None: it will not."""

    def __init__(self, detail: str, *, field: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.field = field

    def body(self) -> dict[str, Any]:
        """The members of the problem document."""
        members = {
            "type": "about:blank",
            "title": self.status.phrase,
            "status": int(self.status),
            "detail": self.detail,
            "field": self.field,
        }
        return {name: value for name, value in members.items() if value is not None}

    def headers(self) -> dict[str, str]:
        """What the answer's headers say beside it."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


class UnknownPodProblem(Problem):
    """The request bears no token, or none that is good. Source: RFC 6750, section 3."""

    status = HTTPStatus.UNAUTHORIZED

    def headers(self) -> dict[str, str]:
        """With the challenge that a 401 must have."""
        return {"WWW-Authenticate": 'Bearer realm="mcptasks"'}


class ForeignPodProblem(Problem):
    """The token is another task's, or that of a pod that is not the task's current one."""

    status = HTTPStatus.FORBIDDEN


class NotCurrentProblem(ForeignPodProblem):
    """By the record of its task, the pod is not the current one. The record may be late."""

    def __init__(self, detail: str, *, task: McpTask) -> None:
        super().__init__(detail)
        self.task = task


class NotThereProblem(Problem):
    """There is no such thing."""

    status = HTTPStatus.NOT_FOUND


class WrongVerbProblem(Problem):
    """What is there does not take this method."""

    status = HTTPStatus.METHOD_NOT_ALLOWED

    def __init__(self, detail: str, *, allowed: str) -> None:
        super().__init__(detail)
        self._allowed = allowed

    def headers(self) -> dict[str, str]:
        """With the methods that are taken."""
        return {"Allow": self._allowed}


class TooSlowProblem(Problem):
    """The body did not arrive in time."""

    status = HTTPStatus.REQUEST_TIMEOUT


class OverProblem(Problem):
    """The task is over, or is being stopped: what it says does not count any more."""

    status = HTTPStatus.CONFLICT


class OtherProblem(Problem):
    """The same was said before, in other words."""

    status = HTTPStatus.CONFLICT


class TooLargeProblem(Problem):
    """It is larger than a task can keep. The detail names the limit."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class WrongFormProblem(Problem):
    """The body is compressed."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


class MalformedProblem(Problem):
    """It is not what it must be."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY


class LaterProblem(Problem):
    """It cannot be done yet: the pod is not recorded, or the API server is away."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    retry_after = RETRY_SECONDS


class RefusedProblem(Problem):
    """The cluster does not take it: a right, a quota, a policy. No fault of the request, and no repetition helps."""

    status = HTTPStatus.FAILED_DEPENDENCY
