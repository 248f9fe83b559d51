"""Where what a pod gives is kept: in its task as long as there is room, else beside it.

What is kept beside the task is kept first, and only then named in the task: whatever happens in between leaves nothing
but a text that goes with its task.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcptasks_crds import limits, names
from mcptasks_crds.limits import stored_bytes
from mcptasks_crds.task import McpTask, Report, ResultSource, TooLarge
from mcptasks_server.largeresults import LargeResults, ResultLostError
from mcptasks_server.tools import Catalogue, JobTool

from .bodies import ContentBody, ResultBody
from .outputs import judged
from .patches import content_patch, spilled_content_patch
from .problems import RefusedProblem, TooLargeProblem
from .toolarge import Sampled, refused


@dataclass(frozen=True, kw_only=True)
class Keeping:
    """Keeps results and parts."""

    results: LargeResults | None
    """Where large ones are kept; None: nowhere, so that the task is all the room there is."""
    tools: Catalogue

    def refusal(self, report: Report, body: ResultBody | Sampled) -> TooLarge | None:
        """What is to be remembered of a result that is too large; None where it can be kept."""
        own = body.size if isinstance(body, Sampled) else self._size(body.text)
        size = own + self._before(report)
        return None if size <= self._limit else refused(body, size=size, limit=self._limit)

    def words_of(self, refusal: TooLarge, report: Report) -> str:
        """What a pod is told of it."""
        unit = "bytes" if self.results is not None else "bytes as stored"
        takes = _takes(refusal.bytes, before=self._before(report))
        return f"result: {takes} {unit}; at most {refusal.limit} are kept: put it somewhere else, and give a link"

    async def result(self, task: McpTask, report: Report, body: ResultBody) -> str | ResultSource:
        """The result itself, or where it is now kept. It must not be too large.

        Raises:
            UnavailableError: it cannot be kept now.
            RefusedError: it cannot be kept.
        """
        if self.results is None or _fits(body.text, report):
            return body.text
        found = judged(body, self._schema(task))
        name = names.result_secret_name(task.metadata.name, body.text)
        if await self._keep(self.results, name, body.text, task) != body.text:
            raise RefusedProblem(f"What is kept under the name {name} is not what was given")
        return ResultSource(
            secret_name=name,
            bytes=len(body.text.encode()),
            is_error=body.is_error,
            schema_digest=found.digest,
            violation=found.violation,
        )

    async def is_given(self, task: McpTask, report: Report, body: ResultBody | Sampled) -> bool:
        """Whether the task's result is this one.

        Raises:
            UnavailableError: it cannot be told now.
        """
        if isinstance(body, Sampled):
            return False
        if report.result is not None:
            return body.means_the_same(report.result)
        source = report.result_from
        if source is None or source.secret_name == names.result_secret_name(task.metadata.name, body.text):
            return source is not None
        return await self._means_the_same(task, source, body)

    async def content(self, task: McpTask, report: Report, body: ContentBody, *, key: str) -> Mapping[str, Any]:
        """What is to be written of further parts. Once some are kept beside the task, those that follow are too.

        Raises:
            TooLargeProblem: there is no room for them.
            UnavailableError: they cannot be kept now.
            RefusedError: they cannot be kept.
        """
        before = self._before(report)
        size = self._size(body.content) + before
        if size > self._limit:
            raise TooLargeProblem(
                f"content: {_takes(size, before=before)} bytes; at most {self._limit} are kept",
                field="content",
            )
        patch = content_patch(report, body, key=key)
        if self.results is None:
            return patch
        has_room = stored_bytes(patch["content"]) <= limits.CONTENT_INLINE_STORED_BYTES
        if report.content_from is None and has_room:
            return patch
        name = names.content_secret_name(task.metadata.name, key)
        kept = await self._keep(self.results, name, body.content, task)
        return spilled_content_patch(report, len(kept.encode()), key=key)

    async def _means_the_same(self, task: McpTask, source: ResultSource, body: ResultBody) -> bool:
        if self.results is None:
            return False
        try:
            return body.means_the_same(await self.results.read(source.secret_name, task=task))
        except ResultLostError:
            return False

    @property
    def _limit(self) -> int:
        return limits.RESULT_STORED_BYTES if self.results is None else limits.LARGE_RESULT_BYTES

    def _size(self, text: str) -> int:
        return stored_bytes(text) if self.results is None else len(text.encode())

    def _before(self, report: Report) -> int:
        """How large the parts are that are there."""
        apart = 0 if report.content_from is None else report.content_from.bytes
        return apart + self._size(report.content or "")

    def _schema(self, task: McpTask) -> Mapping[str, Any] | None:
        tool = self.tools.find(task.spec.tool.name)
        return tool.output_schema if isinstance(tool, JobTool) else None

    async def _keep(self, results: LargeResults, name: str, text: str, task: McpTask) -> str:
        try:
            return await results.keep(name, text, task=task)
        except ResultLostError as error:
            raise RefusedProblem(f"What is kept under the name {name} is not this task's: {error}") from error


def _takes(size: int, *, before: int) -> str:
    return f"with the parts before it, it takes {size}" if before else f"it takes {size}"


def _fits(result: str, report: Report) -> bool:
    return stored_bytes(result) + stored_bytes(report.content or "") <= limits.RESULT_STORED_BYTES
