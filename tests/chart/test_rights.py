"""What operator and server may do: exactly this, in one namespace."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

pytestmark = pytest.mark.apiserver  # helm is built where it is not there

OPERATOR = {
    ("mcptasks.dev", "mcptasks"): {"get", "list", "watch", "delete"},
    ("mcptasks.dev", "mcptasks/status"): {"patch"},
    ("mcptasks.dev", "mcptools"): {"get", "list", "watch"},
    ("mcptasks.dev", "mcptools/status"): {"patch"},
    ("batch", "jobs"): {"get", "list", "watch", "create", "patch", "delete"},
    ("", "pods"): {"get", "list", "watch"},
    ("", "pods/log"): {"get"},
    ("", "secrets"): {"create"},
    ("events.k8s.io", "events"): {"create", "watch"},
}
SERVER = {
    ("mcptasks.dev", "mcptasks/status"): {"patch"},
    ("mcptasks.dev", "mcptasks"): {"get", "list", "watch", "create", "patch", "delete"},
    ("mcptasks.dev", "mcptools"): {"list", "watch"},
    ("", "secrets"): {"get", "create"},
    ("", "pods"): {"get"},
    ("", "pods/log"): {"get"},
}


@pytest.mark.parametrize(("component", "rights"), [("operator", OPERATOR), ("server", SERVER)])
def test_a_component_has_exactly_the_rights_that_it_uses(
    render: Callable[..., Any], component: str, rights: dict[tuple[str, str], set[str]]
) -> None:
    found: dict[tuple[str, str], set[str]] = {}
    for rule in render().of("Role", f"-{component}")["rules"]:
        assert "resourceNames" not in rule
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                found.setdefault((group, resource), set()).update(rule["verbs"])

    assert found == rights


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
