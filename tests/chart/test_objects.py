"""What a release consists of, with the defaults and with everything turned on."""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mcptasks_crds import names
from mcptasks_operator.settings import Settings as OperatorSettings
from mcptasks_server.settings import settings_from

pytestmark = pytest.mark.apiserver  # helm is built where it is not there

OF_APPROVALS = {
    "ClusterRole",
    "ClusterRoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}
DEFAULT_OBJECTS = {
    "ClusterRole/demo-mcptasks-answers.here",
    "ClusterRoleBinding/demo-mcptasks-answers.here",
    "ValidatingAdmissionPolicy/demo-mcptasks-answers.here",
    "ValidatingAdmissionPolicyBinding/demo-mcptasks-answers.here",
    "CustomResourceDefinition/mcptasks.mcptasks.dev",
    "CustomResourceDefinition/mcptools.mcptasks.dev",
    "Deployment/demo-mcptasks-operator",
    "Deployment/demo-mcptasks-server",
    "McpTool/demo-mcptasks-test",
    "NetworkPolicy/demo-mcptasks-operator",
    "NetworkPolicy/demo-mcptasks-server",
    "Pod/demo-mcptasks-test",
    "PodDisruptionBudget/demo-mcptasks-operator",
    "PodDisruptionBudget/demo-mcptasks-server",
    "Role/demo-mcptasks-operator",
    "Role/demo-mcptasks-server",
    "RoleBinding/demo-mcptasks-operator",
    "RoleBinding/demo-mcptasks-server",
    "Secret/demo-mcptasks-server-keys",
    "Service/demo-mcptasks-operator",
    "Service/demo-mcptasks-server",
    "Service/demo-mcptasks-server-metrics",
    "Service/demo-mcptasks-server-tasks",
    "ServiceAccount/demo-mcptasks-operator",
    "ServiceAccount/demo-mcptasks-server",
}


def test_the_defaults_give_two_operators_and_two_servers_and_what_they_need(render: Callable[..., Any]) -> None:
    release = render()

    assert {f"{item['kind']}/{item['metadata']['name']}" for item in release.objects} == DEFAULT_OBJECTS
    for component in ("operator", "server"):
        spec = release.of("Deployment", f"-{component}")["spec"]
        assert spec["replicas"] == 2
        assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
        assert [each["whenUnsatisfiable"] for each in spec["template"]["spec"]["topologySpreadConstraints"]] == [
            "ScheduleAnyway",
            "ScheduleAnyway",
        ]


def test_the_chart_passes_helms_own_lint(helm: str, chart: Path) -> None:
    for values in ([], ["--values", str(chart / "ci" / "everything-values.yaml")]):
        done = subprocess.run(
            [helm, "lint", "--strict", str(chart), *values], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_everything_is_in_the_releases_namespace_or_in_that_of_the_tasks(
    render: Callable[..., Any], everything: Mapping[str, Any]
) -> None:
    release = render(everything)

    for item in release.objects:
        if item["kind"] == "CustomResourceDefinition" or item["kind"] in OF_APPROVALS:
            continue
        of_tasks = item["kind"] in {"Role", "RoleBinding", "McpTool"}
        assert item["metadata"]["namespace"] == ("agents" if of_tasks else "here"), item["metadata"]["name"]


def test_nothing_but_the_custom_resources_and_the_policy_for_answers_belongs_to_the_whole_cluster(
    render: Callable[..., Any], everything: Mapping[str, Any]
) -> None:
    for values in ({}, everything):
        kinds = {item["kind"] for item in render(values).objects}
        assert not kinds & {"Namespace", "PriorityClass"}
        assert kinds >= OF_APPROVALS


def test_without_the_policy_for_answers_nothing_is_left_of_it(render: Callable[..., Any]) -> None:
    release = render({"approvals": {"policy": False}})

    assert not {item["kind"] for item in release.objects} & OF_APPROVALS
    assert "MCPTASKS_ANSWER_POLICY" not in environment(release.of("Deployment", "-operator"))


def test_the_operator_may_see_the_policy_that_it_is_told_of_and_no_other(
    render: Callable[..., Any], everything: Mapping[str, Any]
) -> None:
    for values in ({}, everything):
        release = render(values)
        (policy,) = release.of_kind("ValidatingAdmissionPolicy")
        (binding,) = release.of_kind("ValidatingAdmissionPolicyBinding")
        (role,) = release.of_kind("ClusterRole")
        name = environment(release.of("Deployment", "-operator"))["MCPTASKS_ANSWER_POLICY"]
        assert name == policy["metadata"]["name"] == binding["metadata"]["name"] == binding["spec"]["policyName"]
        assert [(rule["resourceNames"], rule["verbs"]) for rule in role["rules"]] == [([name], ["get"])]


def test_the_policy_knows_the_server_by_the_account_that_it_runs_under(
    render: Callable[..., Any], everything: Mapping[str, Any]
) -> None:
    for values in ({}, everything):
        release = render(values)
        (policy,) = release.of_kind("ValidatingAdmissionPolicy")
        account = release.of("Deployment", "-server")["spec"]["template"]["spec"]["serviceAccountName"]
        is_server = next(each for each in policy["spec"]["variables"] if each["name"] == "isServer")
        assert is_server["expression"].endswith(f"== 'system:serviceaccount:here:{account}'")


@pytest.mark.parametrize(("keep", "policy"), [(True, "keep"), (False, None)])
def test_custom_resources_are_kept_unless_the_user_says_otherwise(
    render: Callable[..., Any], keep: bool, policy: str | None
) -> None:
    for definition in render({"crds": {"keep": keep}}).of_kind("CustomResourceDefinition"):
        assert definition["metadata"].get("annotations", {}).get("helm.sh/resource-policy") == policy


def test_custom_resources_can_be_left_to_another_release(render: Callable[..., Any]) -> None:
    assert render({"crds": {"install": False}}).of_kind("CustomResourceDefinition") == []


@pytest.mark.parametrize("replicas", [1, 2, 5])
def test_the_disruption_budget_never_forbids_a_drain(render: Callable[..., Any], replicas: int) -> None:
    release = render({"server": {"replicas": replicas}, "operator": {"replicas": replicas}})

    for component in ("operator", "server"):
        budget = release.of("PodDisruptionBudget", f"-{component}")
        assert "minAvailable" not in budget["spec"]
        assert budget["spec"]["maxUnavailable"] >= 1


def test_services_and_budget_select_the_pods_that_they_are_for(
    render: Callable[..., Any], everything: Mapping[str, Any]
) -> None:
    for values in ({}, everything):
        release = render(values)
        labels = {name: pod["metadata"]["labels"] for name, pod in release.pods().items() if "metadata" in pod}
        selectors = {
            (item["kind"], item["metadata"]["name"]): item["spec"].get("selector", item["spec"].get("podSelector"))
            for kind in ("Service", "PodDisruptionBudget", "NetworkPolicy")
            for item in release.of_kind(kind)
        }
        for (kind, name), selector in selectors.items():
            wanted = selector.get("matchLabels", selector)
            selected = [pod for pod, found in labels.items() if wanted.items() <= found.items()]
            assert selected == [f"Deployment/{of_service(name)}"], (kind, name)


def test_a_service_sends_to_ports_that_the_container_has(render: Callable[..., Any]) -> None:
    release = render()
    for service in release.of_kind("Service"):
        name = of_service(service["metadata"]["name"])
        (container,) = release.of("Deployment", name)["spec"]["template"]["spec"]["containers"]
        ports = {port["name"] for port in container["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports


def of_service(name: str) -> str:
    """The Deployment whose pods a Service of that name is for."""
    return name.removesuffix("-metrics").removesuffix("-tasks")


def test_only_pods_of_tasks_may_reach_the_port_that_is_for_them(
    render: Callable[..., Any], everything: Mapping[str, Any]
) -> None:
    (rule,) = (
        rule
        for rule in render(everything).of("NetworkPolicy", "-server")["spec"]["ingress"]
        if {"port": "tasks"} in rule["ports"]
    )

    assert rule["ports"] == [{"port": "tasks"}]
    assert rule["from"] == [
        {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "agents"}},
            "podSelector": {
                "matchLabels": {names.MANAGED_BY_LABEL: names.MANAGED_BY},
                "matchExpressions": [{"key": names.TASK_LABEL, "operator": "Exists"}],
            },
        }
    ]


def test_the_operator_tells_pods_of_the_service_that_is_for_them(
    render: Callable[..., Any], everything: Mapping[str, Any]
) -> None:
    release = render({"clusterDomain": "example.internal"})
    service = release.of("Service", "-tasks")
    told = OperatorSettings.from_environment(environment(release.of("Deployment", "-operator"))).endpoint

    (port,) = service["spec"]["ports"]
    assert told == f"http://{service['metadata']['name']}.here.svc.example.internal:{port['port']}"
    assert service["spec"]["sessionAffinity"] == "ClientIP"
    elsewhere = environment(render(everything).of("Deployment", "-operator"))["MCPTASKS_TASK_ENDPOINT"]
    assert elsewhere == "http://gateway.agents.svc:8000"


def test_metrics_are_not_on_the_service_that_may_be_open_to_the_world(render: Callable[..., Any]) -> None:
    (port,) = render({"server": {"service": {"type": "LoadBalancer"}}}).of("Service", "-server")["spec"]["ports"]

    assert port["name"] == "mcp"


def test_a_client_stays_at_one_server_unless_that_is_not_wanted(render: Callable[..., Any]) -> None:
    free = render({"server": {"service": {"sessionAffinity": "None"}}})

    assert render().of("Service", "-server")["spec"]["sessionAffinity"] == "ClientIP"
    assert free.of("Service", "-server")["spec"]["sessionAffinity"] == "None"


def test_the_tool_packs_that_are_named_reach_the_server(render: Callable[..., Any]) -> None:
    named = render({"server": {"toolPacks": {"names": ["weather", "calendar:pack"], "threads": 16}}})
    usual = environment(render().of("Deployment", "-server"))

    given = environment(named.of("Deployment", "-server"))
    assert (given["MCPTASKS_TOOLPACKS"], given["MCPTASKS_TOOLPACK_THREADS"]) == ("weather,calendar:pack", "16")
    assert ("MCPTASKS_TOOLPACKS" in usual, usual["MCPTASKS_TOOLPACK_THREADS"]) == (False, "8")


def test_the_server_answers_to_the_services_names_and_to_those_that_were_named(render: Callable[..., Any]) -> None:
    release = render({"server": {"allowedHosts": ["tasks.example.com"]}, "clusterDomain": "example.internal"})

    assert environment(release.of("Deployment", "-server"))["MCPTASKS_ALLOWED_HOSTS"].split(",") == [
        "demo-mcptasks-server",
        "demo-mcptasks-server.here",
        "demo-mcptasks-server.here.svc",
        "demo-mcptasks-server.here.svc.example.internal",
        "tasks.example.com",
    ]


def test_operator_and_server_understand_what_they_are_told(
    render: Callable[..., Any], everything: Mapping[str, Any]
) -> None:
    release = render(everything)
    told = environment(release.of("Deployment", "-operator"))
    operator = OperatorSettings.from_environment(told)
    server = settings_from(environment(release.of("Deployment", "-server")))

    assert (operator.namespace, operator.log_level, operator.port) == ("agents", "debug", 8081)
    assert operator.assign_uid is False
    assert (server.namespace, server.log_level) == ("agents", "debug")
    assert (server.port, server.metrics_port, server.max_body_bytes) == (8080, 9090, 4_194_304)
    assert {"everything-server.here.svc", "tasks.example.com:8443"} <= server.allowed_hosts
    assert server.allowed_origins == {"https://chat.example.com"}
    assert server.require_task_name_header is False
    assert (server.task_port, server.progress_writes_per_second, server.large_results) == (8082, 20, False)
    assert (server.max_tasks, server.max_arguments_bytes) == (500, 65536)


def test_numbers_reach_the_server_as_they_were_written(render: Callable[..., Any]) -> None:
    release = render({"server": {"maxBodyBytes": 16_777_216}})

    assert environment(release.of("Deployment", "-server"))["MCPTASKS_MAX_BODY_BYTES"] == "16777216"


def test_operator_and_server_work_in_the_namespace_of_the_tasks(render: Callable[..., Any]) -> None:
    for values, namespace in (({}, "here"), ({"tasks": {"namespace": "agents"}}, "agents")):
        for deployment in render(values).of_kind("Deployment"):
            assert environment(deployment)["MCPTASKS_NAMESPACE"] == namespace


@pytest.mark.parametrize("release", ["mcptasks", "my-mcptasks", "a" * 53, f"mcptasks-{'b' * 44}"])
def test_names_fit_whatever_the_release_is_called(render: Callable[..., Any], release: str) -> None:
    for item in render(release=release).objects:
        if item["kind"] != "CustomResourceDefinition":
            assert len(item["metadata"]["name"]) <= 63
            assert not item["metadata"]["name"].startswith("mcptasks-mcptasks")


def environment(deployment: Mapping[str, Any]) -> dict[str, str]:
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return {variable["name"]: variable["value"] for variable in container["env"]}
