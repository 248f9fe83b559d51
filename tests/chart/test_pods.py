"""Every pod that comes of a release is restricted, and is reached by the values that are for every pod."""

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from mcptasks_server.signing import MIN_KEY_BYTES

pytestmark = pytest.mark.apiserver  # helm is built where it is not there


@pytest.fixture(params=["defaults", "everything"])
def pods(
    request: pytest.FixtureRequest, render: Callable[..., Any], everything: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = render({} if request.param == "defaults" else everything).pods()
    assert len(found) == 4  # operator, server, the test's pod and the test's tool
    return found


def test_every_pod_meets_the_restricted_standard(pods: Mapping[str, Any]) -> None:
    for name, pod in pods.items():
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert not any(spec.get(field) for field in ("hostNetwork", "hostPID", "hostIPC")), name
        assert {kind for volume in spec["volumes"] for kind in volume if kind != "name"} <= {"emptyDir", "secret"}, name
        for container in containers(spec):
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False, name
            assert context["capabilities"] == {"drop": ["ALL"]}, name
            assert context["runAsNonRoot"] is True, name
            assert context["seccompProfile"] == {"type": "RuntimeDefault"}, name


def test_every_container_has_a_read_only_root_and_a_tmp(pods: Mapping[str, Any]) -> None:
    for name, pod in pods.items():
        for container in containers(pod["spec"]):
            assert container["securityContext"]["readOnlyRootFilesystem"] is True, name
            written = [mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")]
            assert written == ["/tmp"], name


def test_every_container_asks_for_what_it_needs_and_has_a_limit(pods: Mapping[str, Any]) -> None:
    for name, pod in pods.items():
        for container in containers(pod["spec"]):
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}, name
            assert "memory" in container["resources"]["limits"], name


def test_only_pods_that_talk_to_the_api_server_have_a_token(pods: Mapping[str, Any]) -> None:
    with_token = {name for name, pod in pods.items() if pod["spec"]["automountServiceAccountToken"]}

    assert {name.partition("/")[0] for name in with_token} == {"Deployment"}


def test_no_mesh_puts_a_sidecar_beside_the_test(render: Callable[..., Any]) -> None:
    metadata = render().of("Pod", "-test")["metadata"]

    assert metadata["labels"]["sidecar.istio.io/inject"] == "false"
    assert metadata["annotations"]["linkerd.io/inject"] == "disabled"


def test_no_user_id_is_pinned_by_default(render: Callable[..., Any]) -> None:
    for pod in render().pods().values():
        contexts = [pod["spec"]["securityContext"], *(item["securityContext"] for item in containers(pod["spec"]))]
        assert not any({"runAsUser", "runAsGroup", "fsGroup"} & context.keys() for context in contexts)


@pytest.mark.parametrize("field", ["nodeSelector", "tolerations", "affinity", "imagePullSecrets", "priorityClassName"])
def test_a_value_for_every_pod_reaches_every_pod(
    field: str, render: Callable[..., Any], everything: Mapping[str, Any]
) -> None:
    for name, pod in render(everything).pods().items():
        assert pod["spec"][field] == everything[field], name


def test_labels_annotations_image_and_user_reach_every_pod(
    render: Callable[..., Any], everything: Mapping[str, Any]
) -> None:
    for name, pod in render(everything).pods().items():
        assert {"team": "platform", "cost-centre": "42"}.items() <= pod["metadata"]["labels"].items(), name
        assert pod["metadata"]["annotations"]["example.com/note"] == "every pod", name
        assert pod["spec"]["securityContext"]["runAsUser"] == 12345, name
        for container in containers(pod["spec"]):
            assert container["image"] == f"registry.example.com/mirror/tools/mcptasks@{everything['image']['digest']}"
            assert container["imagePullPolicy"] == "Always", name


def test_the_users_labels_do_not_change_what_selectors_rely_on(render: Callable[..., Any]) -> None:
    taken = {"app.kubernetes.io/component": "mine", "app.kubernetes.io/name": "mine"}

    for deployment in render({"commonLabels": taken, "podLabels": taken}).of_kind("Deployment"):
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_pods_are_annotated_for_prometheus_only_if_asked_for(
    render: Callable[..., Any], everything: Mapping[str, Any]
) -> None:
    annotated = {
        name: pod["metadata"]["annotations"].get("prometheus.io/port")
        for name, pod in render(everything).pods().items()
    }

    assert annotated == {
        "Deployment/everything-operator": "8081",
        "Deployment/everything-server": "9090",
        "Pod/everything-test": None,
        "McpTool/everything-test": None,
    }
    for deployment in render().of_kind("Deployment"):
        assert "annotations" not in deployment["spec"]["template"]["metadata"]


def test_every_service_has_probes_on_ports_that_it_has(render: Callable[..., Any]) -> None:
    for deployment in render().of_kind("Deployment"):
        for container in containers(deployment["spec"]["template"]["spec"]):
            ports = {port["name"] for port in container["ports"]}
            probes = {name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
            assert {probe["port"] for probe in probes.values()} <= ports
            assert {name: probe["path"] for name, probe in probes.items()} == {
                "startup": "/livez",
                "liveness": "/livez",
                "readiness": "/readyz",
            }


def containers(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from spec.get("initContainers", ())
    yield from spec["containers"]


def test_the_server_reads_its_callers_tokens_from_the_secret_that_is_named(render: Callable[..., Any]) -> None:
    values = {"server": {"authentication": {"mode": "tokens", "tokensSecret": "who-is-who"}}}

    spec = render(values).of("Deployment", "-server")["spec"]["template"]["spec"]

    (container,) = spec["containers"]
    environment = {each["name"]: each.get("value") for each in container["env"]}
    assert (environment["MCPTASKS_AUTHENTICATION"], environment["MCPTASKS_TOKENS_FILE"]) == (
        "tokens",
        "/etc/mcptasks/tokens/tokens.yaml",
    )
    assert {"name": "tokens", "mountPath": "/etc/mcptasks/tokens", "readOnly": True} in container["volumeMounts"]
    assert {"name": "tokens", "secret": {"secretName": "who-is-who"}} in spec["volumes"]


def test_all_servers_sign_with_the_keys_of_one_secret(render: Callable[..., Any]) -> None:
    release = render()
    secret = release.of("Secret", "-keys")
    spec = release.of("Deployment", "-server")["spec"]["template"]["spec"]

    keys = [base64.b64decode(value) for value in secret["data"].values()]
    assert [len(key) >= MIN_KEY_BYTES for key in keys] == [True]
    assert keys_of(spec) == secret["metadata"]["name"]
    assert render().of("Secret", "-keys")["data"] != secret["data"]


def test_a_secret_with_signing_keys_that_exists_is_used_and_none_is_made(render: Callable[..., Any]) -> None:
    release = render({"server": {"signingKeys": {"existingSecret": "our-keys"}}})

    assert release.of_kind("Secret") == []
    assert keys_of(release.of("Deployment", "-server")["spec"]["template"]["spec"]) == "our-keys"


def keys_of(spec: Mapping[str, Any]) -> str:
    """The Secret that is mounted to where the server is told to find its keys."""
    (container,) = spec["containers"]
    directory = next(each["value"] for each in container["env"] if each["name"] == "MCPTASKS_SIGNING_KEYS_DIR")
    mount = next(each for each in container["volumeMounts"] if each["mountPath"] == directory)
    name: str = next(each for each in spec["volumes"] if each["name"] == mount["name"])["secret"]["secretName"]
    return name


def test_the_releases_own_test_calls_as_one_of_the_callers(render: Callable[..., Any]) -> None:
    values = {"server": {"authentication": {"mode": "tokens", "tokensSecret": "who-is-who"}}}

    (container,) = render(values).of("Pod", "-test")["spec"]["containers"]

    reference = {"secretKeyRef": {"name": "who-is-who", "key": "tokens.yaml"}}
    assert {"name": "TOKENS", "valueFrom": reference} in container["env"]
    assert "export MCPTASKS_TOKEN" in container["command"][-1]
    (without,) = render().of("Pod", "-test")["spec"]["containers"]
    assert "TOKEN" not in without["command"][-1]
