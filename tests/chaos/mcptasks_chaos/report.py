"""What people need of a run that failed: a directory with its plan, what was done, the objects, and the logs."""

from collections.abc import Sequence
from pathlib import Path

import yaml

from .plan import Plan
from .recording import Recording, Version
from .timeline import Timeline
from .verdict import Complaint


def write_report(
    directory: Path, plan: Plan, timeline: Timeline, recording: Recording, complaints: Sequence[Complaint]
) -> str:
    """Write it. Returns what a test's failure says: the complaints, and the story of the first tasks concerned."""
    (directory / "plan.txt").write_text(plan.table())
    (directory / "timeline.txt").write_text(timeline.text())
    (directory / "complaints.txt").write_text("\n".join(map(str, complaints)))
    concerned = list(dict.fromkeys(each.task for each in complaints if each.task is not None))
    for task in concerned:
        (directory / f"{task}.yaml").write_text(_objects(recording, task))
    stories = [f"{task}\n{_story(recording, task)}" for task in concerned[:3]]
    said = [f"seed {plan.seed}: {len(complaints)} complaints", *map(str, complaints[:20])]
    return "\n".join([*said, "", plan.table(), "", timeline.text(), "", *stories])


def _objects(recording: Recording, task: str) -> str:
    """All versions of the task, its Job and its pods, as YAML."""
    return yaml.safe_dump_all(
        [
            {"at": round(version.at, 2), "gone": version.is_gone, "object": version.document}
            for version in _versions(recording, task)
        ],
        sort_keys=False,
    )


def _story(recording: Recording, task: str) -> str:
    """One line a version."""
    lines = []
    for version in _versions(recording, task):
        document = version.document
        status, metadata = document.get("status", {}), document["metadata"]
        said = {key: status[key] for key in ("phase", "reason", "message", "conditions") if key in status}
        gone = " gone" if version.is_gone else " terminating" if "deletionTimestamp" in metadata else ""
        lines.append(f"{version.at:8.2f} s  {document.get('kind', 'Pod')} {metadata['name']}{gone}  {said}")
    return "\n".join(lines)


def _versions(recording: Recording, task: str) -> list[Version]:
    found = [
        version
        for kept in (recording.tasks, recording.jobs, recording.pods)
        for key, versions in kept.items()
        if key.startswith((f"{task}/", f"{task}-"))
        for version in versions
    ]
    return sorted(found, key=lambda version: version.at)
