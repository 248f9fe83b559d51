"""Whether this process is the one that acts.

`Alone` is for one replica with the deployment strategy `Recreate`. A Lease takes its place here: acquired before kopf
starts, asked before each Job is created (the one action that must not be done by two), lost for good when it is lost.
Whoever overlaps all the same meets the Job's name, the version preconditions and the rules of the API server.
"""

from typing import Protocol


class Leadership(Protocol):
    """The right to act."""

    async def acquire(self) -> None:
        """Wait until this process is the one."""

    def holds(self) -> bool:
        """Whether it still is, by this machine's own monotonic clock."""


class Alone:
    """There is no other."""

    async def acquire(self) -> None:
        """Nothing to wait for."""

    def holds(self) -> bool:
        """Always."""
        return True
