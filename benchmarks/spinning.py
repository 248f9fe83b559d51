"""A tool pack whose functions compute without pause, and how long a thread keeps the interpreter meanwhile."""

import sys
import time

from mcptasks_server.toolpack import ToolPack

pack = ToolPack("spinning")


@pack.tool(seconds=60)
def spin(rounds: int) -> float:
    """Compute; gives the seconds that it took."""
    began = time.monotonic()
    number = 0
    for each in range(rounds):
        number = (number * 31 + each) % 1_000_003
    return time.monotonic() - began


@pack.tool()
async def switch_interval(seconds: float) -> float:
    """Set after how long a thread that computes yields to another one; gives what it was."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    return before
