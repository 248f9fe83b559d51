"""What a pod's token says, once its signature was found good. Pure: the time is an argument.

The token is a projected ServiceAccount token, bound to the pod, whose audience names the task. Source: Kubernetes,
"Managing Service Accounts", "Bound service account tokens".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcptasks_crds import names

from .problems import ForeignPodProblem, UnknownPodProblem

LEEWAY_SECONDS: Final = 10.0
"""By how much two machines' clocks may differ."""


@dataclass(frozen=True, kw_only=True)
class PodClaims:
    """Whose token it is."""

    audiences: frozenset[str]
    pod_name: str
    pod_uid: str
    expires_at: float
    """In seconds since the epoch."""


def pod_claims(claims: Mapping[str, Any], *, issuer: str, namespace: str) -> PodClaims:
    """The pod that a token was made for, from the claims of one whose signature is good.

    Raises:
        UnknownPodProblem: it is another issuer's, or no token of a pod of this namespace.
    """
    if claims.get("iss") != issuer:
        raise UnknownPodProblem("The token was issued by somebody else than this cluster's API server")
    bound = claims.get("kubernetes.io")
    if not isinstance(bound, Mapping) or bound.get("namespace") != namespace:
        raise UnknownPodProblem("The token is not one of this namespace's pods")
    pod, expires_at, audiences = bound.get("pod"), claims.get("exp"), claims.get("aud")
    uid, name = (pod.get("uid"), pod.get("name")) if isinstance(pod, Mapping) else (None, None)
    if not isinstance(uid, str) or not isinstance(name, str) or not (uid and name):
        raise UnknownPodProblem("The token is not bound to a pod: send the one of $MCPTASK_TOKEN_FILE")
    if isinstance(expires_at, bool) or not isinstance(expires_at, int | float):
        raise UnknownPodProblem("The token never expires: send the one of $MCPTASK_TOKEN_FILE")
    listed = [audiences] if isinstance(audiences, str) else audiences if isinstance(audiences, list) else []
    return PodClaims(
        audiences=frozenset(each for each in listed if isinstance(each, str)),
        pod_name=name,
        pod_uid=uid,
        expires_at=expires_at,
    )


def check_for_task(claims: PodClaims, task: str, *, now: float) -> None:
    """That a token is good now, and for that task.

    Raises:
        UnknownPodProblem: its time is over, or it was not made for this endpoint.
        ForeignPodProblem: it was made for another task.
    """
    if now >= claims.expires_at + LEEWAY_SECONDS:
        raise UnknownPodProblem("The token has expired: read $MCPTASK_TOKEN_FILE anew for each request")
    if names.task_audience(task) in claims.audiences:
        return
    if any(names.is_task_audience(audience) for audience in claims.audiences):
        raise ForeignPodProblem("The token is another task's")
    raise UnknownPodProblem("The token was not made for the task endpoint: send the one of $MCPTASK_TOKEN_FILE")
