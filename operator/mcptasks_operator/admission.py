"""Whether the admission policy for answers is in force: what makes the name on an answer more than a claim.

It is asked anew for each answer that is to be put on record: one that was there when the operator started may be gone.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import structlog

from mcptasks_crds.base import Json
from mcptasks_crds.kube import POLICIES, POLICY_BINDINGS, NotFoundError, RejectedError
from mcptasks_crds.times import parse_time

from .cluster import Cluster
from .observation import PolicySeen

NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"
"""Set by Kubernetes on each namespace: its name."""

_log: Any = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class AnswerPolicy:
    """The policy and its binding, both of the same name."""

    cluster: Cluster
    namespace: str
    name: str | None
    """None: there is none."""

    async def look(self) -> PolicySeen:
        """Read both. What may not be read counts as not there.

        Raises:
            RetryableError: the API server cannot say.
        """
        if self.name is None:
            return PolicySeen()
        try:
            policy = await self.cluster.get(POLICIES, "", self.name)
            binding = await self.cluster.get(POLICY_BINDINGS, "", self.name)
        except (NotFoundError, RejectedError) as error:
            _log.warning("answer_policy_not_found", policy=self.name, error=str(error))
            return PolicySeen()
        return PolicySeen(in_force_since=in_force_since(policy, binding, namespace=self.namespace))


def in_force_since(policy: Json, binding: Json, *, namespace: str) -> datetime | None:
    """Since when a policy has refused what it is to refuse in a namespace; None where it does not."""
    spec, bound = policy["spec"], binding["spec"]
    selector = bound.get("matchResources", {}).get("namespaceSelector", {})
    refuses = (
        spec.get("failurePolicy", "Fail") == "Fail"
        and bound.get("policyName") == policy["metadata"]["name"]
        and "Deny" in bound.get("validationActions", ())
        and selector in ({}, {"matchLabels": {NAMESPACE_LABEL: namespace}})
    )
    if not refuses or any("deletionTimestamp" in each["metadata"] for each in (policy, binding)):
        return None
    return max(parse_time(each["metadata"]["creationTimestamp"]) for each in (policy, binding))
