"""One pass over a McpTool: is it fit to be called? Its conditions say so, or why not."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import structlog

from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, TOOLS, ConflictError, NotFoundError, RejectedError
from mcptasks_crds.tool import READY, McpTool, ToolStatus

from .catalogue import Catalogue
from .cluster import Cluster
from .conditions import ACCEPTED, JOB_REJECTED, UNTRIED, Verdict, condition, tool_status
from .patches import merge_patch
from .store import Store
from .tool_checks import environment_gap, name_conflicts, tool_problems, trial_job

TRY_AGAIN: Final = timedelta(minutes=5)
"""When a Job that the API server refused is tried again: a quota, a service account or a policy may have changed."""
_NO_DRY_RUN: Final = "does not support dry run"
"""What the API server says (400) where a webhook with side effects would see the Job."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class ToolReconciler:
    """Judges tools."""

    store: Store
    catalogue: Catalogue
    cluster: Cluster
    namespace: str
    clock: Callable[[], datetime]
    assign_uid: bool = True
    endpoint: str | None = None
    """Where pods reach the task endpoint; None where there is none."""
    tried: dict[str, datetime] = field(default_factory=dict)
    """When a refused Job was last tried, by the tool's uid. Lost with the process: then it is tried once more."""

    async def reconcile(self, name: str) -> float | None:
        """Judge a tool and write what differs. Returns in how many seconds to judge it again.

        Raises:
            KubeError: the API server did not say whether it would take the tool's Job, or did not take the status.
        """
        document = self.store.get(TOOLS, name)
        if document is None:
            return None
        tool = self.catalogue.tool(name)
        if tool is None:
            _log.warning("tool_unreadable", tool=name)  # the CRD's schema lets nothing in that the models do not take
            return None
        verdict = self._known_verdict(tool) or await self._try(tool)
        status = tool_status(tool, verdict=verdict, gap=environment_gap(tool), now=self.clock())
        if not await self._write(tool, status):
            return 0.0
        return TRY_AGAIN.total_seconds() if verdict.reason == JOB_REJECTED else None

    def _known_verdict(self, tool: McpTool) -> Verdict | None:
        """What can be said without asking the API server (again)."""
        problems = list(tool_problems(tool))
        taken = name_conflicts(self.catalogue.all()).get(tool.metadata.name)
        if taken is not None:
            problems.append(taken)
        if problems:
            return Verdict(
                ready=False, reason=str(problems[0].fault), message="\n".join(str(problem) for problem in problems)
            )
        before = condition(tool.status.conditions, READY)
        if before is None or tool.status.observed_generation != tool.metadata.generation:
            return None
        lately = self.tried.get(tool.metadata.uid)
        still = before.reason == JOB_REJECTED and lately is not None and self.clock() < lately + TRY_AGAIN
        if still or before.reason in (ACCEPTED, UNTRIED):
            return Verdict(ready=before.status == "True", reason=before.reason, message=before.message)
        return None

    async def _try(self, tool: McpTool) -> Verdict:
        manifest = trial_job(tool, assign_uid=self.assign_uid, endpoint=self.endpoint)
        try:
            await self.cluster.create(JOBS, self.namespace, manifest, dryRun="All", fieldValidation="Strict")
        except ConflictError:  # a Job of that name exists: the API server says so after it has accepted all the rest
            pass
        except RejectedError as refused:
            if _NO_DRY_RUN in str(refused):
                return Verdict(ready=True, reason=UNTRIED, message=str(refused))
            self.tried[tool.metadata.uid] = self.clock()
            return Verdict(ready=False, reason=JOB_REJECTED, message=refused.words)
        self.tried.pop(tool.metadata.uid, None)
        return Verdict(ready=True, reason=ACCEPTED)

    async def _write(self, tool: McpTool, status: ToolStatus) -> bool:
        """Write what differs. False where the tool was changed meanwhile: then it is in the store as it is now."""
        changes = merge_patch(tool.status.manifest(), status.manifest())
        if not changes:
            return True
        name = tool.metadata.name
        patch: Json = {"metadata": {"resourceVersion": tool.metadata.resource_version}, "status": changes}
        try:
            written = await self.cluster.patch(TOOLS, self.namespace, name, patch, subresource="status")
        except ConflictError:
            self.store.put(TOOLS, await self.cluster.get(TOOLS, self.namespace, name))
            return False
        except NotFoundError:
            self.store.remove(TOOLS, name, version=tool.metadata.resource_version)
            return True
        self.store.put(TOOLS, written)
        self._tell(tool, status)
        return True

    def _tell(self, tool: McpTool, status: ToolStatus) -> None:
        before, now = condition(tool.status.conditions, READY), condition(status.conditions, READY)
        if now is not None and (before is None or before.reason != now.reason):
            _log.info("tool_judged", tool=tool.metadata.name, ready=now.status == "True", reason=now.reason)
