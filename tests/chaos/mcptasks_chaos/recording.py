"""All that was seen of a run's objects, version by version."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from mcptasks_crds import names
from mcptasks_crds.base import Json

from .tools import number_of


@dataclass(frozen=True, kw_only=True)
class Version:
    """An object as it was told."""

    at: float
    """Seconds since the run began."""
    document: Json
    is_gone: bool = False


Versions = dict[str, list[Version]]
"""By name and uid, so that a second object of a name is another one; oldest first."""


@dataclass(kw_only=True)
class Recording:
    """The versions of the tasks, Jobs and pods of a namespace."""

    tasks: Versions = field(default_factory=lambda: defaultdict(list))
    jobs: Versions = field(default_factory=lambda: defaultdict(list))
    pods: Versions = field(default_factory=lambda: defaultdict(list))
    task_of: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The names of the tasks of a call."""

    def take(self, into: Versions, version: Version) -> None:
        """Keep a version, unless it is the one before once more."""
        versions = into[key(version.document)]
        if versions and not version.is_gone and versions[-1].document == version.document:
            return
        versions.append(version)
        if into is self.tasks:
            self.task_of[number_of(version.document)].add(version.document["metadata"]["name"])

    def living(self, kind: Callable[["Recording"], Versions]) -> list[Json]:
        """The objects of a kind that are there."""
        return [versions[-1].document for versions in kind(self).values() if not versions[-1].is_gone]

    def statuses(self, task: str) -> list[Json]:
        """A task's statuses, from when it has a phase."""
        return [
            version.document["status"]
            for each, versions in self.tasks.items()
            if each.startswith(f"{task}/")
            for version in versions
            if version.document.get("status", {}).get("phase")
        ]

    def pods_of(self, task: str, *, which: int = -1) -> Iterator[Json]:
        """A task's pods, each as it was seen last (or first, by `which=0`)."""
        for versions in self.pods.values():
            document = versions[which].document
            if document["metadata"].get("labels", {}).get(names.TASK_LABEL) == task:
                yield document

    def jobs_of(self, task: str) -> Iterator[Json]:
        """All that was seen of a task's Jobs."""
        for each, versions in self.jobs.items():
            if each.startswith(f"{names.job_name(task)}/"):
                yield from (version.document for version in versions)


def key(document: Json) -> str:
    """What tells an object from all others."""
    return f"{document['metadata']['name']}/{document['metadata']['uid']}"
