"""`LargeResults` that are kept in memory."""

from mcptasks_crds.task import McpTask
from mcptasks_server.errors import RpcError
from mcptasks_server.largeresults import ResultLostError


class InMemoryResults:
    """Texts by name, each with the uid of its task."""

    def __init__(self) -> None:
        self.texts: dict[str, tuple[str, str]] = {}
        self.failure: RpcError | None = None
        """What both methods raise from now on."""
        self.kept = 0
        """How often something was given to be kept."""

    async def keep(self, name: str, text: str, *, task: McpTask) -> str:
        """See `LargeResults`."""
        if self.failure is not None:
            raise self.failure
        self.kept += 1
        self.texts.setdefault(name, (task.metadata.uid, text))
        return await self.read(name, task=task)

    async def read(self, name: str, *, task: McpTask) -> str:
        """See `LargeResults`."""
        if self.failure is not None:
            raise self.failure
        owner, text = self.texts.get(name, ("", ""))
        if not owner or owner != task.metadata.uid:
            raise ResultLostError("there is no such text of this task")
        return text
