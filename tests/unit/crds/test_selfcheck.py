"""A service's look at its installation, against API servers that say all, little or nothing."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from mcptasks_crds import names, selfcheck
from mcptasks_crds.base import Json
from mcptasks_crds.installation import Right, rights
from mcptasks_crds.kube import KubeError, NotFoundError, RejectedError, RetryableError
from mcptasks_crds.manifest import custom_resource_definitions
from mcptasks_crds.selfcheck import AGAIN_SECONDS, OPENAPI_PATH, SelfCheck

NEEDED = rights((("", "pods/log", ("get",)), ("batch", "jobs", ("create",))))


def published() -> Json:
    schemas = {}
    for definition in custom_resource_definitions():
        kind, (version,) = definition["spec"]["names"]["kind"], definition["spec"]["versions"]
        gvk = {"group": names.GROUP, "version": names.VERSION, "kind": kind}
        schemas[kind] = {**version["schema"]["openAPIV3Schema"], "x-kubernetes-group-version-kind": [gvk]}
    return {"components": {"schemas": schemas}}


@dataclass
class Answering:
    """An API server with these rules, that allows these rights."""

    document: Json | KubeError = field(default_factory=published)
    rules: list[Json] | KubeError = field(default_factory=list)
    allowed: set[str] | KubeError = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    forbidden: asyncio.Event = field(default_factory=asyncio.Event)

    async def request(self, method: str, path: str, *, body: Json | None = None, only_asks: bool = False) -> bytes:
        assert only_asks or method == "GET"
        self.asked.append(path.rpartition("/")[2])
        if path == OPENAPI_PATH:
            return _said(self.document)
        assert body is not None
        if path.endswith("selfsubjectrulesreviews"):
            return _said(self.rules if isinstance(self.rules, KubeError) else {"status": {"resourceRules": self.rules}})
        wanted = body["spec"]["resourceAttributes"]
        if isinstance(self.allowed, KubeError):
            raise self.allowed
        return _said({"status": {"allowed": f"{wanted['verb']} {wanted['resource']}" in self.allowed}})


def _said(answer: Any) -> bytes:
    if isinstance(answer, KubeError):
        raise answer
    return json.dumps(answer).encode()


def check(api: Answering, needed: tuple[Right, ...] = NEEDED) -> SelfCheck:
    kube: Any = api
    return SelfCheck(kube=kube, namespace="agents", service="operator", needed=needed)


ALL = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]


async def test_an_installation_as_it_should_be_takes_two_questions() -> None:
    api = Answering(rules=ALL)

    assert await check(api).look() == ""
    assert api.asked == ["v1alpha1", "selfsubjectrulesreviews"]


async def test_a_right_that_no_listed_rule_gives_is_asked_for_by_itself() -> None:
    """Not every authorizer lists its rules."""
    api = Answering(allowed={"get pods", "create jobs"})

    assert await check(api).look() == ""
    assert api.asked.count("selfsubjectaccessreviews") == len(NEEDED)


async def test_a_right_that_is_not_allowed_is_named_with_the_namespace_and_what_gives_it() -> None:
    said = await check(Answering(allowed={"create jobs"})).look()

    assert said.startswith("the operator may not do this in namespace agents: get pods/log: upgrade its release")
    assert "create jobs" not in said


@pytest.mark.parametrize(
    "allowed", [{"get pods", "create jobs"}, RejectedError("403", status=403)], ids=["rights", "403"]
)
async def test_who_may_not_even_ask_is_not_stopped_by_that(allowed: Any) -> None:
    assert await check(Answering(rules=RejectedError("403", status=403), allowed=allowed)).look() == ""


async def test_kinds_that_are_not_there_and_rights_that_are_not_are_said_together() -> None:
    said = await check(Answering(document=NotFoundError("404"))).look()

    assert "does not serve mcptasks.mcptasks.dev, mcptools.mcptasks.dev: install" in said
    assert "; the operator may not do this" in said


async def test_an_older_definition_is_named_with_what_it_lacks() -> None:
    document = published()
    del document["components"]["schemas"]["McpTool"]["properties"]["status"]

    said = await check(Answering(document=document, rules=ALL)).look()

    assert said.startswith("older than this operator: mcptools.mcptasks.dev (it lacks status): upgrade the release")
    assert said.endswith(
        "python -m mcptasks_crds.manifest --print | kubectl apply --server-side --force-conflicts -f -"
    )


async def test_in_a_pod_the_command_is_run_in_that_pod(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "namespace"
    file.write_text("tools\n")
    monkeypatch.setattr(selfcheck, "NAMESPACE_FILE", file)
    monkeypatch.setattr("socket.gethostname", lambda: "operator-7d4f")

    said = await check(Answering(document=NotFoundError("404"), rules=ALL)).look()

    assert "or run: kubectl exec --namespace tools operator-7d4f -- python -m mcptasks_crds.manifest --print |" in said


async def test_it_looks_again_until_nothing_is_wrong_and_tells_each_time() -> None:
    api = Answering(document=RetryableError("503"))
    told: list[str] = []

    async def mend(_: float) -> None:
        api.rules, api.document = ALL, published() if len(told) == 2 else NotFoundError("404")

    await check(api).until_mended(told.append, sleep=mend)

    assert [text.partition(":")[0].partition(" mcptasks.")[0] for text in told] == [
        "the API server does not answer",
        "the API server does not serve",
        "",
    ]


async def test_a_right_that_is_taken_away_later_is_told_once_something_was_refused_and_so_is_its_return() -> None:
    api = Answering(allowed={"get pods", "create jobs"})
    told: list[str] = []
    mended = asyncio.Event()

    async def pass_time(_: float) -> None:
        if told[-1]:
            api.allowed = {"get pods", "create jobs"}
        else:
            mended.set()
            await asyncio.Event().wait()

    keeping = asyncio.create_task(check(api).keep_rights(told.append, sleep=pass_time))
    await asyncio.sleep(0)
    assert api.asked == []
    api.allowed = {"create jobs"}
    api.forbidden.set()
    await asyncio.wait_for(mended.wait(), timeout=5)
    keeping.cancel()

    assert [text.partition(": upgrade")[0] for text in told] == [
        "the operator may not do this in namespace agents: get pods/log",
        "",
    ]


async def test_what_admission_refuses_costs_a_question_each_five_seconds_at_most() -> None:
    api = Answering(rules=ALL)
    pauses: list[float] = []
    told: list[str] = []
    twice = asyncio.Event()

    async def pass_time(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            twice.set()
        asyncio.get_running_loop().call_soon(api.forbidden.set)  # it is refused again and again

    keeping = asyncio.create_task(check(api).keep_rights(told.append, sleep=pass_time))
    api.forbidden.set()
    await asyncio.wait_for(twice.wait(), timeout=5)
    keeping.cancel()

    assert pauses[:2] == [AGAIN_SECONDS] * 2
    assert api.asked[:2] == ["selfsubjectrulesreviews"] * 2
    assert set(told) == {""}
