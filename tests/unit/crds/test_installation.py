"""What a cluster lacks of what the code needs: kinds, fields, values, room, rules and rights."""

import copy
import io
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_crds.base import Json
from mcptasks_crds.installation import Right, missing_of, not_granted, published_schema, rights
from mcptasks_crds.manifest import custom_resource_definitions, main

TASK, TOOL = (crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] for crd in custom_resource_definitions())


def changed(change: Callable[[Json], object]) -> Json:
    schema: Json = copy.deepcopy(TASK)
    change(schema)
    return schema


def status(schema: Json) -> Json:
    found: Json = schema["properties"]["status"]["properties"]
    return found


LACKS: dict[str, tuple[Callable[[Json], object], list[str]]] = {
    "nothing": (lambda _: None, []),
    "a field": (lambda schema: status(schema).pop("reason"), ["status.reason"]),
    "a field of a part": (
        lambda schema: schema["properties"]["spec"]["properties"]["tool"]["properties"].pop("name"),
        ["spec.tool.name"],
    ),
    "a field of each of a map": (
        lambda schema: schema["properties"]["spec"]["properties"]["answers"]["additionalProperties"]["properties"].pop(
            "by"
        ),
        ["spec.answers.*.by"],
    ),
    "a part with all that is in it": (lambda schema: schema["properties"].pop("status"), ["status"]),
    "a value": (lambda schema: status(schema)["phase"]["enum"].remove("Cancelled"), ["status.phase=Cancelled"]),
    "room": (
        lambda schema: schema["properties"]["spec"]["properties"]["arguments"].update(maxLength=10),
        ["spec.arguments up to 16384"],
    ),
    "nothing, where it is newer: a field": (lambda schema: status(schema).update(more={"type": "string"}), []),
    "nothing, where it is newer: a value": (lambda schema: status(schema)["phase"]["enum"].append("Paused"), []),
    "nothing, where it is newer: room": (
        lambda schema: schema["properties"]["spec"]["properties"]["arguments"].update(maxLength=10**9),
        [],
    ),
}


@pytest.mark.parametrize("lack", list(LACKS))
def test_what_a_published_schema_lacks_is_named_as_one_would_look_for_it(lack: str) -> None:
    change, named = LACKS[lack]

    assert list(missing_of(TASK, changed(change))) == named


def test_a_rule_that_is_missing_is_named_by_what_it_says() -> None:
    wanted = TASK["properties"]["spec"]["x-kubernetes-validations"][0]

    published = changed(lambda schema: schema["properties"]["spec"]["x-kubernetes-validations"].pop(0))

    assert list(missing_of(TASK, published)) == [f"spec: {wanted['message']}"]


def test_rules_that_are_others_may_be_the_newer_ones() -> None:
    other = {"rule": "true", "message": "something else"}

    published = changed(lambda schema: schema["properties"]["spec"].update({"x-kubernetes-validations": [other]}))

    assert list(missing_of(TASK, published)) == []


@given(st.data())
def test_whatever_field_is_taken_away_is_found_missing(data: st.DataObject) -> None:
    published: Json = copy.deepcopy(data.draw(st.sampled_from((TASK, TOOL))))
    expected = copy.deepcopy(published)
    at = published
    path: list[str] = []
    while True:
        name = data.draw(st.sampled_from([each for each in at["properties"] if path or each in ("spec", "status")]))
        path.append(name)
        if "properties" not in at["properties"][name] or data.draw(st.booleans()):
            break
        at = at["properties"][name]
    del at["properties"][name]

    assert ".".join(path) in set(missing_of(expected, published))


def test_a_kind_is_found_among_what_the_api_server_publishes() -> None:
    gvk = {"group": "mcptasks.dev", "version": "v1alpha1", "kind": "McpTask"}
    document = {
        "components": {
            "schemas": {"dev.mcptasks.v1alpha1.McpTask": {"x-kubernetes-group-version-kind": [gvk]}, "other": {}}
        }
    }

    assert published_schema(document, **gvk) == {"x-kubernetes-group-version-kind": [gvk]}
    assert published_schema(document, **{**gvk, "kind": "McpTool"}) is None
    assert published_schema({}, **gvk) is None


def rule(**changes: Any) -> dict[str, Any]:
    return {"verbs": ["get"], "apiGroups": ["batch"], "resources": ["jobs"]} | changes


GET = Right(group="batch", resource="jobs", verb="get")
LOGS = Right(group="", resource="pods/log", verb="get")
LEASE = Right(group="coordination.k8s.io", resource="leases", verb="patch", name="mine")
OF_LEASES = {"verbs": ["patch"], "apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}


@pytest.mark.parametrize(
    ("right", "given_rule", "suffices"),
    [
        (GET, rule(), True),
        (GET, rule(verbs=["*"]), True),
        (GET, rule(apiGroups=["*"]), True),
        (GET, rule(resources=["*"]), True),
        (GET, rule(verbs=["list"]), False),
        (GET, rule(apiGroups=["apps"]), False),
        (GET, rule(resources=["jobs/status"]), False),
        (GET, rule(resourceNames=["one"]), False),
        (LOGS, {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}, False),
        (LOGS, {"verbs": ["get"], "apiGroups": [""], "resources": ["pods/log"]}, True),
        (LOGS, {"verbs": ["get"], "apiGroups": [""], "resources": ["*/log"]}, True),
        (LEASE, OF_LEASES, True),
        (LEASE, OF_LEASES | {"resourceNames": ["mine"]}, True),
        (LEASE, OF_LEASES | {"resourceNames": ["other"]}, False),
    ],
)
def test_a_rule_gives_what_it_says(right: Right, given_rule: dict[str, Any], suffices: bool) -> None:
    assert not_granted([right], [given_rule]) == (() if suffices else (right,))


def test_a_table_of_rights_is_read_by_verb() -> None:
    assert rights((("", "pods/log", ("get",)), ("coordination.k8s.io", "leases mine", ("get", "patch")))) == (
        LOGS,
        Right(group="coordination.k8s.io", resource="leases", verb="get", name="mine"),
        LEASE,
    )
    assert [str(LOGS), str(LEASE)] == ["get pods/log", "patch leases.coordination.k8s.io mine"]
    assert LOGS.attributes("ns") == {
        "namespace": "ns", "group": "", "resource": "pods", "subresource": "log", "verb": "get"
    }  # fmt: skip


def test_the_definitions_can_be_printed_for_kubectl() -> None:
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert main(["--print"]) == 0

    assert tuple(yaml.safe_load_all(printed.getvalue())) == custom_resource_definitions()
