"""What operator and server may do: exactly this, in one namespace."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mcptasks_crds.installation import Right
from mcptasks_operator.rights import RIGHTS as OPERATOR
from mcptasks_server.rights import FOR_LARGE_RESULTS
from mcptasks_server.rights import RIGHTS as SERVER

pytestmark = pytest.mark.apiserver  # helm is built where it is not there


@pytest.mark.parametrize(("component", "needed"), [("operator", OPERATOR), ("server", (*SERVER, *FOR_LARGE_RESULTS))])
def test_a_component_has_exactly_the_rights_that_it_looks_for_when_it_starts(
    render: Callable[..., Any], component: str, needed: tuple[Right, ...]
) -> None:
    found = [
        Right(group=group, resource=resource, verb=verb, name=name)
        for rule in render().of("Role", f"-{component}")["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
        for verb in rule["verbs"]
    ]

    assert sorted(found) == sorted(needed)


def test_without_large_results_nobody_reads_a_secret(render: Callable[..., Any]) -> None:
    rules = render({"tasks": {"largeResults": False}}).of("Role", "-server")["rules"]

    assert [rule["verbs"] for rule in rules if "secrets" in rule["resources"]] == [["create"]]


@pytest.mark.parametrize("component", ["operator", "server"])
def test_the_rights_are_bound_to_the_account_that_the_pods_run_under(
    render: Callable[..., Any], everything: Mapping[str, Any], component: str
) -> None:
    for values in ({}, everything):
        release = render(values)
        binding = release.of("RoleBinding", f"-{component}")
        role = release.of("Role", f"-{component}")
        deployment = release.of("Deployment", f"-{component}")
        assert binding["roleRef"]["name"] == role["metadata"]["name"]
        assert binding["metadata"]["namespace"] == role["metadata"]["namespace"]
        assert binding["subjects"] == [
            {
                "kind": "ServiceAccount",
                "name": deployment["spec"]["template"]["spec"]["serviceAccountName"],
                "namespace": deployment["metadata"]["namespace"],
            }
        ]


def test_an_account_that_exists_is_not_made(render: Callable[..., Any], everything: Mapping[str, Any]) -> None:
    release = render(everything)

    assert [item["metadata"]["name"] for item in release.of_kind("ServiceAccount")] == ["custom-operator"]
    assert release.of("Deployment", "-server")["spec"]["template"]["spec"]["serviceAccountName"] == "existing-server"
