"""What the components of a local cluster are told."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from mcptasks_devcluster.addons import addon_objects
from mcptasks_devcluster.controlplane import ControlPlane, Tuning
from mcptasks_devcluster.node import DNS_ADDRESS, POD_RANGE, Node, corefile, kubelet_config
from mcptasks_devcluster.plan import Component, Plan, read_plan

PLANE = ControlPlane(
    pki=Path("/state/pki"),
    data=Path("/run"),
    kubeconfigs=Path("/run/kubeconfigs"),
    bind="0.0.0.0",
    advertise="192.168.77.2",
    api_port=6443,
    etcd_port=2379,
    etcd_peer_port=2380,
    tuning=Tuning(),
    whole=True,
)
LIGHT = replace(PLANE, bind="127.0.0.1", advertise="127.0.0.1", whole=False, prefix=("setpriv", "--"))
NODE = Node(
    cluster="one",
    control_group="mcptasks-one-0",
    cache=Path("/cache"),
    state_run=Path("/cache/clusters/one/run"),
    ca=Path("/cache/clusters/one/pki/ca.crt"),
    api_port=6443,
    api_ready=PLANE.ready,
)


def arguments(plane: ControlPlane, name: str) -> tuple[str, ...]:
    return next(component.argv for component in plane.components() if component.name == name)


def test_a_light_control_plane_has_no_scheduler_and_no_way_to_kubelets() -> None:
    assert [component.name for component in LIGHT.components()] == ["etcd", "kube-apiserver", "kube-controller-manager"]
    assert not [word for word in arguments(LIGHT, "kube-apiserver") if "kubelet" in word]


def test_a_light_api_server_listens_on_loopback_alone_and_publishes_no_endpoint() -> None:
    told = arguments(LIGHT, "kube-apiserver")
    assert "--bind-address=127.0.0.1" in told
    assert "--endpoint-reconciler-type=none" in told


def test_a_whole_control_plane_authorizes_nodes_and_reaches_kubelets_by_address() -> None:
    told = arguments(PLANE, "kube-apiserver")
    assert "--authorization-mode=Node,RBAC" in told
    assert "--kubelet-preferred-address-types=InternalIP" in told
    assert "--enable-admission-plugins=NodeRestriction" in told


def test_etcd_does_not_wait_for_the_disk() -> None:
    assert "--unsafe-no-fsync" in arguments(PLANE, "etcd")


def test_the_rate_of_the_controllers_is_a_parameter_and_the_scheduler_keeps_up_with_it() -> None:
    assert "--kube-api-qps=20" in arguments(PLANE, "kube-controller-manager")
    fast = replace(PLANE, tuning=Tuning(kcm_qps=500))
    assert "--kube-api-qps=500" in arguments(fast, "kube-controller-manager")
    assert "--kube-api-burst=750" in arguments(fast, "kube-controller-manager")
    assert "--kube-api-qps=500" in arguments(fast, "kube-scheduler")


def test_requests_are_audited_only_where_that_was_asked_for() -> None:
    assert not [word for word in arguments(PLANE, "kube-apiserver") if word.startswith("--audit")]
    assert "--audit-log-path=/run/audit.log" in arguments(replace(PLANE, tuning=Tuning(audit=True)), "kube-apiserver")


def test_the_prefix_comes_before_every_program() -> None:
    assert {component.argv[:2] for component in LIGHT.components()} == {("setpriv", "--")}


def test_controllers_start_when_the_api_server_says_that_it_is_ready() -> None:
    waiting = {component.name: component.after for component in PLANE.components()}
    assert waiting["kube-controller-manager"] == ("http:https://127.0.0.1:6443/readyz",)
    assert waiting["kube-apiserver"] == ("tcp:127.0.0.1:2379",)


def test_the_kubelet_keeps_to_the_control_groups_of_its_cluster() -> None:
    config = kubelet_config("mcptasks-one-0", Path("/ca"))
    assert config["cgroupRoot"] == "/mcptasks-one-0"
    assert config["cgroupDriver"] == "cgroupfs"
    assert config["clusterDNS"] == [DNS_ADDRESS]


def test_the_nodes_files_are_all_configuration_that_parses() -> None:
    files = NODE.files()
    assert yaml.safe_load(files["kube-proxy.yaml"])["clusterCIDR"] == POD_RANGE
    network = yaml.safe_load(files["cni/net.d/10-pods.conflist"])
    assert [plugin["type"] for plugin in network["plugins"]] == ["ptp", "portmap"]


def test_the_network_is_made_before_anything_else_and_on_the_clusters_own_run_directory() -> None:
    commands = NODE.setup()
    assert commands[0] == ("mount", "--make-rprivate", "/")
    assert ("mount", "--rbind", "/cache/clusters/one/run", "/run") in commands


def test_only_the_forwarder_is_handed_the_hosts_socket() -> None:
    assert [component.name for component in NODE.components() if component.listener] == ["forward"]


def test_names_outside_the_cluster_are_answered_at_once() -> None:
    assert "NXDOMAIN" in corefile()
    assert "forward" not in corefile()


def test_cluster_dns_is_found_where_pods_look_for_it() -> None:
    service = next(content for _, content in addon_objects() if content["kind"] == "Service")
    endpoints = next(content for _, content in addon_objects() if content["kind"] == "EndpointSlice")
    assert service["spec"]["clusterIP"] == DNS_ADDRESS
    assert endpoints["metadata"]["labels"]["kubernetes.io/service-name"] == service["metadata"]["name"]


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(Plan(components=()), id="empty"),
        pytest.param(
            Plan(
                setup=(("true",),),
                components=(Component(name="a", argv=("sleep", "1"), after=("tcp:x:1",), once=True, listener=True),),
                checks={"dns": "dns:1:a.b"},
            ),
            id="everything",
        ),
    ],
)
def test_a_plan_is_read_as_it_was_written(plan: Plan, tmp_path: Path) -> None:
    plan.write(tmp_path / "plan.json")
    assert read_plan(tmp_path / "plan.json") == plan
