"""What is done in a run, as values: which calls are made, what becomes of each, what fails, who is killed, and when.

Time is counted in steps: step n begins when call n is made, so a slow machine has a slow storm. The same seed and
number of tasks give the same plan, on every machine; what the processes make of it is theirs.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

Service = Literal["operator", "server"]
Component = Literal["kubelet", "containerd", "kube-apiserver", "etcd"]


class Tool(StrEnum):
    """What a call runs."""

    WORK = "work"
    """Works for a while, and gives its number."""
    BRIEF = "brief"
    """Like `WORK`; its tasks are kept for a few seconds only."""
    REFUSE = "refuse"
    """Ends with an exit code."""
    CONFIRM = "confirm"
    """Asks before it starts, and gives its number."""
    TALK = "talk"
    """Talks to the task endpoint: progress, a part, and its number as the result."""
    ASK = "ask"
    """Asks while it runs, and then goes on like `TALK`."""


class Fate(StrEnum):
    """What is done about a task after it was called."""

    NOTHING = "nothing"
    AGAIN = "call again"
    """The call is sent a second time under its idempotency key."""
    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"
    DELETE = "delete"
    """The McpTask, with what it owns, in the background."""
    DELETE_FOREGROUND = "delete in the foreground"
    DELETE_ORPHAN = "delete and orphan"
    DELETE_JOB = "delete the Job"
    DELETE_POD = "delete the pod"


DELETIONS: Final = frozenset({Fate.DELETE, Fate.DELETE_FOREGROUND, Fate.DELETE_ORPHAN})
"""Fates of which no task is left."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call."""

    number: int
    """Also the step at which it is made."""
    tool: Tool
    tenths: int
    """How long its program works, in tenths of a second."""
    fate: Fate = Fate.NOTHING
    step: int = 0
    """At which step the fate comes."""


class Trouble(StrEnum):
    """What fails."""

    TOO_MANY = "429"
    """With `Retry-After: 1`."""
    ERROR = "500"
    UNAVAILABLE = "503"
    CONFLICT = "409"
    RESET = "reset"
    """The connection breaks, and nothing was done."""
    LOST_ANSWER = "lost answer"
    """All was done, and the connection breaks."""
    UNHEARD = "lost answer to a pod"
    """The same, between a pod and the task endpoint."""
    GONE = "410"
    """Watches are refused: their versions are too old."""
    EXPIRE_WATCHES = "410 in the watches"
    """The watches that are open end with an ERROR event."""
    CUT_WATCHES = "cut watches"
    ROTATE_TOKEN = "new token"
    """The service's token is another one; the one before is not taken any more."""
    CUT = "cut"
    """No connection lives."""
    SILENCE = "silence"
    """Connections are half open."""
    SLOW = "slow"
    """Every request takes a second more."""
    KILL = "kill"
    """The service is killed, and started again at the end."""
    RESTART = "restart"
    """A component of the cluster is killed; its supervisor starts it again."""


LASTING: Final = frozenset({Trouble.CUT, Trouble.SILENCE, Trouble.SLOW, Trouble.KILL})
COUNTED: Final = frozenset(
    {Trouble.TOO_MANY, Trouble.ERROR, Trouble.UNAVAILABLE, Trouble.CONFLICT, Trouble.RESET, Trouble.LOST_ANSWER}
)


@dataclass(frozen=True, kw_only=True)
class Target:
    """Requests that a counted trouble meets."""

    service: Service
    name: str
    method: str
    path: str


TARGETS: Final = (
    Target(service="operator", name="the Job's POST", method="POST", path=r"/jobs$"),
    Target(service="operator", name="the task's status", method="PATCH", path=r"/mcptasks/[^/]+/status$"),
    Target(service="operator", name="the Job's PATCH", method="PATCH", path=r"/jobs/[^/]+$"),
    Target(service="operator", name="the Event", method="POST", path=r"/events$"),
    Target(service="operator", name="the task's deletion", method="DELETE", path=r"/mcptasks/[^/]+$"),
    Target(service="operator", name="lists", method="GET", path=r"/(mcptasks|mcptools|jobs|pods)$"),
    Target(service="operator", name="reads", method="GET", path=r"/(mcptasks|jobs|pods)/"),
    Target(service="server", name="the task's POST", method="POST", path=r"/mcptasks$"),
    Target(service="server", name="the task's PATCH", method="PATCH", path=r"/mcptasks/[^/]+$"),
    Target(service="server", name="reads", method="GET", path=r"/mcptasks(/[^/]+)?$"),
)
COMPONENTS: Final[tuple[Component, ...]] = ("kubelet", "containerd", "kube-apiserver", "etcd")
NODE: Final[frozenset[Component | None]] = frozenset({"kubelet", "containerd"})
"""Those that start containers."""
WINDOWS: Final = (Trouble.CUT, Trouble.SILENCE, Trouble.SLOW)
ON_WATCHES: Final = (Trouble.GONE, Trouble.EXPIRE_WATCHES, Trouble.CUT_WATCHES)
SERVICES: Final[tuple[Service, Service]] = ("operator", "server")


@dataclass(frozen=True, kw_only=True)
class Event:
    """One thing that goes wrong."""

    step: int
    trouble: Trouble
    service: Service | None = None
    target: Target | None = None
    """Of counted troubles."""
    times: int = 0
    """How many requests it meets, of counted troubles, refused watches and answers that pods do not get."""
    until: int = 0
    """The step at which a lasting trouble ends."""
    component: Component | None = None
    """Of `RESTART`."""

    def __str__(self) -> str:
        match self.trouble:
            case Trouble.RESTART:
                return f"restart {self.component}"
            case trouble if trouble in LASTING:
                return f"{self.service}: {trouble} until step {self.until}"
            case trouble if self.target is not None:
                return f"{self.service}: {trouble} for {self.target.name}, {self.times} times"
            case Trouble.GONE:
                return f"{self.service}: {Trouble.GONE} for watches, {self.times} times"
            case Trouble.UNHEARD:
                return f"{self.service}: {Trouble.UNHEARD}, {self.times} times"
            case trouble:
                return f"{self.service}: {trouble}"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A whole run. When its last step is over, everything heals."""

    seed: int
    calls: tuple[Call, ...]
    events: tuple[Event, ...]
    """In the order of their steps."""

    def table(self) -> str:
        """The plan as people read it, one line a step at which something is done."""
        return "\n".join((f"seed {self.seed}, {len(self.calls)} tasks", *self._lines()))

    def _lines(self) -> Iterator[str]:
        for step in range(len(self.calls) + 1):
            said = [str(event) for event in self.events if event.step == step]
            said += [
                f"end of {event.trouble} at the {event.service}"
                for event in self.events
                if event.trouble in LASTING and event.until == step
            ]
            said += [
                f"{call.fate} {call.number} ({call.tool}, {call.tenths / 10:g} s)"
                for call in self.calls
                if call.fate is not Fate.NOTHING and call.step == step
            ]
            if said:
                yield f"  {step:4}  " + "\n        ".join(said)


def plan(seed: int, *, tasks: int) -> Plan:
    """The plan of a seed."""
    chance = random.Random(f"{seed}/{tasks}")  # a plan is no secret
    calls = tuple(_calls(chance, tasks))
    events = sorted(_events(chance, seed, tasks), key=lambda event: event.step)
    return Plan(seed=seed, calls=calls, events=tuple(events))


_SHARES: Final[Sequence[tuple[int, Tool, Fate]]] = (
    (19, Tool.WORK, Fate.NOTHING),
    (4, Tool.WORK, Fate.AGAIN),
    (9, Tool.WORK, Fate.CANCEL),
    (2, Tool.WORK, Fate.DELETE),
    (2, Tool.WORK, Fate.DELETE_FOREGROUND),
    (2, Tool.WORK, Fate.DELETE_ORPHAN),
    (1, Tool.WORK, Fate.DELETE_JOB),
    (1, Tool.WORK, Fate.DELETE_POD),
    (3, Tool.BRIEF, Fate.NOTHING),
    (3, Tool.REFUSE, Fate.NOTHING),
    (4, Tool.CONFIRM, Fate.ACCEPT),
    (1, Tool.CONFIRM, Fate.DECLINE),
    (1, Tool.CONFIRM, Fate.CANCEL),
    (4, Tool.TALK, Fate.NOTHING),
    (1, Tool.TALK, Fate.CANCEL),
    (2, Tool.ASK, Fate.ACCEPT),
    (1, Tool.ASK, Fate.DECLINE),
)
"""Of sixty tasks."""
_LONG: Final = 200
"""A program that would work for so many tenths is sure to be at work when it is cancelled."""


def _calls(chance: random.Random, tasks: int) -> Iterator[Call]:
    kinds = [(tool, fate) for share, tool, fate in _SHARES for _ in range(share)]
    drawn = [kind for _ in range(tasks // len(kinds)) for kind in kinds]
    drawn += chance.sample(kinds, tasks - len(drawn))
    chance.shuffle(drawn)
    for number, (tool, fate) in enumerate(drawn):
        tenths = chance.randrange(8)
        if fate is Fate.CANCEL and chance.random() < 0.5:
            tenths = _LONG
        step = 0 if fate is Fate.NOTHING else min(tasks, number + chance.randrange(1, 12))
        yield Call(number=number, tool=tool, tenths=tenths, fate=fate, step=step)


def _events(chance: random.Random, seed: int, tasks: int) -> Iterator[Event]:
    """For each sixty tasks one round, which has something of each kind; seeds in a row take turns at what is costly."""
    for turn, begin in enumerate(range(0, tasks, 60)):
        end = min(tasks, begin + 60)
        yield from _round(chance, seed + turn, begin, end)


def _round(chance: random.Random, turn: int, begin: int, end: int) -> Iterator[Event]:
    def step() -> int:
        return chance.randrange(begin, end)

    for _ in range(8):
        target = chance.choice(TARGETS)
        # No API server answers a read with a conflict.
        trouble = chance.choice(sorted(COUNTED - {Trouble.CONFLICT} if target.method == "GET" else COUNTED))
        yield Event(step=step(), trouble=trouble, service=target.service, target=target, times=chance.randrange(1, 4))
    for trouble in ON_WATCHES:
        times = 2 if trouble is Trouble.GONE else 0
        yield Event(step=step(), trouble=trouble, service=chance.choice(SERVICES), times=times)
    yield Event(step=step(), trouble=Trouble.UNHEARD, service="server", times=chance.randrange(2, 6))
    yield Event(step=step(), trouble=Trouble.ROTATE_TOKEN, service=chance.choice(SERVICES))
    yield from _lasting(chance, WINDOWS[turn % len(WINDOWS)], SERVICES[turn // len(WINDOWS) % 2], step, end)
    yield from _lasting(chance, Trouble.KILL, "operator", step, end)
    yield from _lasting(chance, Trouble.KILL, "server", step, end)
    yield Event(step=step(), trouble=Trouble.RESTART, component=COMPONENTS[turn % len(COMPONENTS)])


def _lasting(
    chance: random.Random, trouble: Trouble, service: Service, step: Callable[[], int], end: int
) -> Iterator[Event]:
    begin = step()
    yield Event(step=begin, trouble=trouble, service=service, until=min(end, begin + chance.randrange(2, 12)))
