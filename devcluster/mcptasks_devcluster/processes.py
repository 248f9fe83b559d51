"""Finding and ending the processes of one cluster, whatever became of whoever started them.

Every process of a cluster carries the cluster's state directory in its environment. That needs no file of process
ids, which a crash would leave wrong: a process is ours because it says so, and is asked again at the moment it is
killed. (Containers do not carry it; they are in the process namespace that ends with its process 1.)
"""

import os
import signal
from pathlib import Path

from mcptasks_devcluster.errors import DevclusterError
from mcptasks_devcluster.polling import becomes_so

MARK = "MCPTASKS_DEVCLUSTER_STATE"
_GONE_WITHIN = 20.0


def marked(state: Path) -> list[int]:
    """The process ids that carry this state directory's mark."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _is_marked(entry, state)]


def _is_marked(process: Path, state: Path) -> bool:
    try:
        environ = (process / "environ").read_bytes()
    except OSError:  # ended meanwhile, or another user's
        return False
    return f"{MARK}={state}".encode() in environ.split(b"\0")


def end_all(state: Path) -> int:
    """Kill every marked process, wait until there is none, and give the number killed."""
    killed: set[int] = set()

    def none_left() -> bool:
        found = marked(state)
        killed.update(pid for pid in found if _kill(pid, state))
        return not found

    if not becomes_so(none_left, within=_GONE_WITHIN):
        raise DevclusterError(f"these processes do not end: {marked(state)}")
    return len(killed)


def _kill(pid: int, state: Path) -> bool:
    """By a handle on the process, so that a number that was given away meanwhile hits nobody else."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if not _is_marked(Path("/proc") / str(pid), state):
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def namespace_ids(pid: int) -> list[int]:
    """The process's numbers, from this namespace inwards; empty if it is gone."""
    try:
        status = (Path("/proc") / str(pid) / "status").read_text()
    except OSError:
        return []
    line = next((line for line in status.splitlines() if line.startswith("NSpid:")), "")
    return [int(word) for word in line.split()[1:]]


def inner_to_outer(pids: list[int]) -> dict[int, int]:
    """For each process, its number inside its innermost namespace -> its number here."""
    return {numbers[-1]: pid for pid in pids if (numbers := namespace_ids(pid))}


def namespace_init(state: Path) -> int | None:
    """Process 1 of the cluster's own process namespace, as numbered here; None where there is no such namespace."""
    for pid in marked(state):
        numbers = namespace_ids(pid)
        if len(numbers) > 1 and numbers[-1] == 1:
            return pid
    return None
