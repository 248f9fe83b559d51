"""One process at a time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock of this name; waits for whoever has it. The holder may remove the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with path.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # The holder waited for may have removed the file; then this is a lock that nobody else will see.
            if path.exists() and path.stat().st_ino == _inode(file.fileno()):
                yield
                return


def _inode(descriptor: int) -> int:
    return os.fstat(descriptor).st_ino
