# mypy: ignore-errors
"""fastmcp's own tasks, to be compared with: one tool, served as its documentation says.

Run by the interpreter of the environment that the tests of clients have (`tests/clients/fastmcp_tasks`), which has
nothing of ours. Arguments: port, Docket's URL.
"""

import asyncio
import sys

from fastmcp import FastMCP
from fastmcp_tasks import TasksExtension

PORT, DOCKET = int(sys.argv[1]), sys.argv[2]

server = FastMCP("rival")
server.add_extension(TasksExtension(url=DOCKET))


@server.tool(task=True)
async def linger(seconds: float = 3600.0) -> str:
    """Take a while."""
    await asyncio.sleep(seconds)
    return "done"


server.run(transport="http", host="127.0.0.1", port=PORT, log_level="warning", show_banner=False)
