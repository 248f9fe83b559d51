"""What was last seen of the cluster's objects: the newest version of each, as far as it is read (`kept`), and nothing
of what is gone.

Fed by the watches, by answers to our own writes, and by single reads. An object is never replaced by an older version
of itself, so no decision is made on a state from before our own last write. Resource versions are compared as numbers,
as Kubernetes 1.35 allows; where one is no number, the later word is taken.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import Final

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS, TOOLS, Kind

from .kept import kept

KINDS: Final = (TASKS, TOOLS, JOBS, PODS)
"""What is watched."""
REMEMBERED_REMOVALS: Final = 10_000
REMEMBERED_PODS: Final = 1_000
"""Pods that are gone, the latest: by far more than end before their tasks are looked at."""


def is_newer(version: str, than: str) -> bool:
    """Whether a resource version is newer than another; True where they cannot be compared and differ.

    >>> is_newer("100", "99"), is_newer("99", "99"), is_newer("b", "a")
    (True, False, True)
    """
    if version.isdecimal() and than.isdecimal():
        return int(version) > int(than)
    return version != than


def version_of(document: Json) -> str:
    """The object's resource version."""
    return str(document["metadata"].get("resourceVersion", ""))


class Store:
    """The objects of one namespace, by kind and name."""

    def __init__(self) -> None:
        self._objects: dict[Kind, dict[str, Json]] = {kind: {} for kind in KINDS}
        self._pods: defaultdict[str, set[str]] = defaultdict(set)
        self._task_of_pod: dict[str, str] = {}
        self._removed: OrderedDict[tuple[Kind, str], str] = OrderedDict()
        self._gone_pods: OrderedDict[str, Json] = OrderedDict()
        self.listeners: list[Callable[[str], object]] = []
        """Who is told of each task of which something has changed, by its name: must neither raise nor wait."""

    def put(self, kind: Kind, document: Json, *, as_of: str = "") -> bool:
        """Take an object over. False where what is known of it, its end included, is as new or newer.

        `as_of` is the version of the listing that showed it: it was there then, also where a watch, which sees only
        what carries our labels, has told its end before.
        """
        name, version = document["metadata"]["name"], version_of(document)
        known = self._objects[kind].get(name)
        if known is not None and not is_newer(version, version_of(known)):
            return False
        removed = self._removed.get((kind, name))
        if removed is not None and not is_newer(version, removed) and (not as_of or is_newer(removed, as_of)):
            return False
        self._objects[kind][name] = kept(kind, document)
        if kind is PODS:
            self._forget_pod(name)
            task = self._task_of_pod[name] = task_of(document)
            self._pods[task].add(name)
        self._tell(kind, document)
        return True

    def remove(self, kind: Kind, name: str, *, version: str) -> bool:
        """Forget an object that is gone as of a version. False where a newer one of that name is known."""
        known = self._objects[kind].get(name)
        if known is not None and is_newer(version_of(known), version):
            return False
        self._removed[kind, name] = version
        self._removed.move_to_end((kind, name))
        if len(self._removed) > REMEMBERED_REMOVALS:
            self._removed.popitem(last=False)
        if known is not None:
            del self._objects[kind][name]
            if kind is PODS:
                self._forget_pod(name)
                self._gone_pods[name] = known
                if len(self._gone_pods) > REMEMBERED_PODS:
                    self._gone_pods.popitem(last=False)
            self._tell(kind, known)
        return True

    def get(self, kind: Kind, name: str) -> Json | None:
        """The object as it was last seen."""
        return self._objects[kind].get(name)

    def names(self, kind: Kind) -> tuple[str, ...]:
        """The names of all objects of a kind."""
        return tuple(self._objects[kind])

    def all(self, kind: Kind) -> Iterator[Json]:
        """All objects of a kind; the store must not change meanwhile."""
        return iter(self._objects[kind].values())

    def pods_of(self, task: str) -> tuple[Json, ...]:
        """The pods that a task's Job made."""
        return tuple(self._objects[PODS][name] for name in self._pods.get(task, ()))

    def gone_pod(self, name: str) -> Json | None:
        """A pod that is gone, as it was last seen: who was late may still learn from it why it went."""
        return self._gone_pods.get(name)

    def _tell(self, kind: Kind, document: Json) -> None:
        if kind is TOOLS:
            return
        task = document["metadata"]["name"] if kind is TASKS else task_of(document)
        for listener in self.listeners:
            listener(task)

    def _forget_pod(self, name: str) -> None:
        task = self._task_of_pod.pop(name, None)  # where it was put, whatever it says by now
        if task is None:
            return
        self._pods[task].discard(name)
        if not self._pods[task]:
            del self._pods[task]


def task_of(document: Json) -> str:
    """The task that a Job or a pod belongs to, by its owner; by its label where it has none, else empty.

    A label can be changed by hand in passing; the owner of a pod is what the Job controller itself goes by.
    """
    metadata = document["metadata"]
    for owner in metadata.get("ownerReferences", ()):
        if owner.get("controller") and owner.get("kind") in (names.TASK_KIND, "Job"):
            return str(owner["name"])  # a Job has its task's name, see `names.job_name`
    return str(metadata.get("labels", {}).get(names.TASK_LABEL, ""))
