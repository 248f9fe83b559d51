"""Puts the CRDs, as the models say them today, into a cluster of tests or benchmarks."""

from functools import partial
from typing import Final

from mcptasks_crds.kube import MERGE_PATCH, TASKS, TOOLS, Kind, Kube, NotFoundError
from mcptasks_crds.manifest import custom_resource_definitions
from mcptasks_devcluster.eventually import eventually

_PATH: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def install_crds(kube: Kube) -> None:
    """Create or update them, and return once the API server serves them."""
    for definition in custom_resource_definitions():
        try:
            name = definition["metadata"]["name"]
            await kube.request("PATCH", f"{_PATH}/{name}", body=definition, content_type=MERGE_PATCH)
        except NotFoundError:
            await kube.request("POST", _PATH, body=definition)
    for kind in (TASKS, TOOLS):
        await eventually(partial(_is_served, kube, kind), what=f"{kind.plural} are served")


async def _is_served(kube: Kube, kind: Kind) -> bool:
    try:
        await kube.list(kind, "default", limit="1")
    except NotFoundError:
        return False
    return True
