"""After the storm: everything is to be over soon, and what soon is on a machine that others use too."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mcptasks_devcluster.eventually import eventually

from .load import Load
from .machine import OurClock
from .plan import Plan
from .verdict import Complaint, unsettled

SETTLED_SECONDS: Final = 30.0
"""How long after all is healed everything may take to be over, where nobody else uses the machine."""
_MOST_SECONDS: Final = 600.0


@dataclass(frozen=True, kw_only=True)
class Settled:
    """How it went."""

    seconds: float
    """How long after all was healed everything was over, or it was given up."""
    our_seconds: float
    """The same, by the clock of what others left of the machine."""
    complaints: list[Complaint]


async def settle(plan: Plan, load: Load, under_way: Sequence[asyncio.Task[None]], clock: OurClock) -> Settled:
    """Wait until everything is over: what clients still do, the tasks, and what they own."""
    timeline, began = load.timeline, load.timeline.now()
    clock.read()

    def left() -> list[Complaint]:
        undone = [Complaint(what=f"not done: {each.get_name()}") for each in under_way if not each.done()]
        return undone + unsettled(load.recorder, plan.calls, load.known())

    async def is_over_or_late() -> bool:
        return not left() or clock.read() > SETTLED_SECONDS

    await eventually(is_over_or_late, what="everything is over, or late", timeout_seconds=_MOST_SECONDS)
    found = left()
    timeline.note("late: not everything is over" if found else "all is over")
    for each in under_way:
        each.cancel()
    ended = await asyncio.gather(*under_way, return_exceptions=True)
    wrong = [error for error in ended if error is not None and not isinstance(error, asyncio.CancelledError)]
    found += [Complaint(what=f"{error!r}") for error in wrong]
    return Settled(seconds=timeline.now() - began, our_seconds=clock.read(), complaints=found)
