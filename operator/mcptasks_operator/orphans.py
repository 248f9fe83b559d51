"""What is left of a task that was deleted without what it owned (`kubectl delete --cascade=orphan`)."""

from mcptasks_crds import names
from mcptasks_crds.base import Json


def is_orphan(job: Json) -> bool:
    """Whether a Job is one that we made and nobody owns any more: Kubernetes would keep it, and its pod, for ever.

    That its task is gone is for the caller to make sure of.
    """
    metadata = job["metadata"]
    is_ours = names.EXECUTION_ANNOTATION in metadata.get("annotations", {})
    return is_ours and not metadata.get("ownerReferences") and "deletionTimestamp" not in metadata


def orphaned_secret(job: Json) -> str | None:
    """The Secret of the task's arguments, where the Job's pod has one: it lost its owner with the Job."""
    name = names.arguments_secret_name(job["metadata"]["name"])
    volumes = job["spec"]["template"].get("spec", {}).get("volumes", ())
    sources = (source for volume in volumes for source in volume.get("projected", {}).get("sources", ()))
    return name if any(source.get("secret", {}).get("name") == name for source in sources) else None
