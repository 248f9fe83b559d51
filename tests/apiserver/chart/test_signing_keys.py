"""What an upgrade does to the keys that servers sign with: nothing."""

import asyncio
import base64
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from mcptasks_crds.kube import SECRETS, Kube
from mcptasks_devcluster.programs import program

pytestmark = pytest.mark.apiserver

CHART: Final = Path(__file__).parents[3] / "charts" / "mcptasks"
NAME: Final = "demo-mcptasks-server-keys"


async def keys_of_a_release(kubeconfig: Path, namespace: str) -> dict[str, str]:
    """The Secret's data, as a helm that asks the cluster renders it."""
    command = [program("helm"), "template", "demo", str(CHART), "--namespace", namespace]
    options = ["--dry-run=server", "--kubeconfig", str(kubeconfig), "--set", "crds.install=false"]
    helm = await asyncio.create_subprocess_exec(
        *command, *options, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await helm.communicate()
    assert helm.returncode == 0, err.decode()
    objects: list[dict[str, Any]] = [each for each in yaml.safe_load_all(out) if each]
    (secret,) = (each for each in objects if each["kind"] == "Secret")
    assert secret["metadata"]["name"] == NAME
    data: dict[str, str] = secret["data"]
    return data


async def test_keys_that_are_there_stay_as_they_are_and_are_made_only_where_there_are_none(
    kube: Kube, namespace: str, kubeconfig: Path
) -> None:
    first = await keys_of_a_release(kubeconfig, namespace)
    another = await keys_of_a_release(kubeconfig, namespace)
    kept = {name: base64.b64encode(value * 40).decode() for name, value in (("0", b"a"), ("1", b"b"))}
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": NAME}, "data": kept}
    await kube.create(SECRETS, namespace, manifest)

    upgraded = await keys_of_a_release(kubeconfig, namespace)

    assert list(first) == list(another) == ["0"]
    assert first != another
    assert upgraded == kept
