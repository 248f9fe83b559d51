"""Tool packs: tools, prompts and resources of typed Python functions, served in the server's own process.

For what takes a second or two; what takes longer should be a task (docs/toolpacks.md).
"""

from .context import BlockingContext, Context
from .errors import CallEndedError, PackError, ResourceNotFoundError, ToolError
from .pack import ToolPack
from .requests import Elicitation, Roots, Sampling

__all__ = [
    "BlockingContext",
    "CallEndedError",
    "Context",
    "Elicitation",
    "PackError",
    "ResourceNotFoundError",
    "Roots",
    "Sampling",
    "ToolError",
    "ToolPack",
]
