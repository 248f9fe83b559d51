"""An installation that is not as it should be: the operator is not ready, says what mends it, and starts once it is."""

import asyncio
import copy
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Final

import aiohttp
import pytest

from mcptasks_crds.base import Json
from mcptasks_crds.kube import MERGE_PATCH, Kube
from mcptasks_crds.manifest import custom_resource_definitions
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.programs import program
from mcptasks_devcluster.proxy import Fault
from mcptasks_operator.service import Operator
from mcptasks_operator.testing.world import World

pytestmark = pytest.mark.apiserver

ROOT: Final = Path(__file__).parents[3]
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def ready(operator: Operator) -> tuple[int, str]:
    if operator.port is None:
        return 0, ""
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{operator.port}/readyz") as answer:
        return answer.status, await answer.text()


async def is_unready(operator: Operator, *words: str) -> str | None:
    """What it says, once it says that."""
    status, text = await ready(operator)
    says_so = status == HTTPStatus.SERVICE_UNAVAILABLE and all(word in text for word in words)
    return text if says_so else None


async def is_ready(operator: Operator) -> bool:
    return (await ready(operator))[0] == HTTPStatus.OK


@asynccontextmanager
async def an_older_definition(kube: Kube) -> AsyncIterator[None]:
    """The definition of tasks as it may have been before `status.job.podName`; afterwards as it is again."""
    definition: Json = copy.deepcopy(custom_resource_definitions()[0])
    (version,) = definition["spec"]["versions"]
    del version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["job"]["properties"]["podName"]
    path = f"{DEFINITIONS}/{definition['metadata']['name']}"
    await kube.request("PATCH", path, body=definition, content_type=MERGE_PATCH)
    try:
        yield
    finally:
        await kube.request("PATCH", path, body=custom_resource_definitions()[0], content_type=MERGE_PATCH)


async def run_as_told(told: str, *, kubeconfig: Path) -> None:
    """Run the command that a message ends with, as it stands there."""
    command = told.rpartition("or run: ")[2].strip()
    path = [str(Path(sys.executable).parent), str(Path(program("kubectl")).parent), os.environ["PATH"]]
    environment = os.environ | {"KUBECONFIG": str(kubeconfig), "PATH": os.pathsep.join(path)}
    run = await asyncio.create_subprocess_shell(command, env=environment, cwd=ROOT)
    assert await run.wait() == 0, command


async def test_definitions_older_than_the_code_are_mended_by_the_command_that_it_names(
    world: World, kubeconfig: Path
) -> None:
    async with an_older_definition(world.kube), world.operator() as operator:
        told = await eventually(
            partial(is_unready, operator, "mcptasks.mcptasks.dev (it lacks status.job.podName)"),
            what="it says what lacks",
        )
        assert "older than this operator" in told

        await run_as_told(told, kubeconfig=kubeconfig)
        await eventually(partial(is_ready, operator), what="it starts by itself")
        await world.tool()
        task = await world.call()
        await world.job(task)


async def test_kinds_that_are_not_served_are_named(world: World) -> None:
    world.proxy.add(Fault(method="GET", path="^/openapi/", status=HTTPStatus.NOT_FOUND))

    async with world.operator() as operator:
        told = await eventually(
            partial(is_unready, operator, "does not serve mcptasks.mcptasks.dev, mcptools.mcptasks.dev"),
            what="it says what lacks",
        )
        assert "crds.install=true" in told
        await eventually(partial(is_ready, operator), what="it looks again")


async def test_rights_that_it_lacks_are_named_and_it_starts_once_it_has_them(restricted: World) -> None:
    role = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{restricted.namespace}/roles/x-mcptasks-operator"
    whole: Json = json.loads(await restricted.kube.request("GET", role))
    poorer = [rule for rule in whole["rules"] if rule["resources"] not in (["pods/log"], ["leases"])]
    await restricted.kube.request("PATCH", role, body={"rules": poorer}, content_type=MERGE_PATCH)

    async with restricted.operator() as operator:
        told = await eventually(partial(is_unready, operator, "get pods/log"), what="it says which right lacks")
        assert "patch leases.coordination.k8s.io mcptasks-operator" in told
        assert "templates/operator/role.yaml" in told

        await restricted.kube.request("PATCH", role, body={"rules": whole["rules"]}, content_type=MERGE_PATCH)
        await eventually(partial(is_ready, operator), what="it starts by itself")


async def test_a_right_that_is_taken_away_while_it_works_is_named_once_it_is_needed(restricted: World) -> None:
    role = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{restricted.namespace}/roles/x-mcptasks-operator"
    whole: Json = json.loads(await restricted.kube.request("GET", role))
    poorer = [rule for rule in whole["rules"] if rule["resources"] != ["events"]]

    async with restricted.operator() as operator:
        await restricted.tool()
        task = await restricted.call()
        await restricted.kubelet.run(task)
        await restricted.kube.request("PATCH", role, body={"rules": poorer}, content_type=MERGE_PATCH)
        await restricted.kubelet.finish(task, message="done")
        told = await eventually(partial(is_unready, operator, "create events"), what="it says which right lacks")
        assert "templates/operator/role.yaml" in told
        assert (await restricted.status(task))["phase"] == "Completed"

        await restricted.kube.request("PATCH", role, body={"rules": whole["rules"]}, content_type=MERGE_PATCH)
        await eventually(partial(is_ready, operator), what="it is ready again")


async def test_an_api_server_that_is_away_is_waited_for(world: World) -> None:
    world.proxy.cut()

    async with world.operator() as operator:
        await eventually(partial(is_unready, operator, "does not answer"), what="it says so")
        world.proxy.mend()
        await eventually(partial(is_ready, operator), what="it starts by itself")
