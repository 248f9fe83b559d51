"""Nothing that an author wrote is changed, and what is filled in never contradicts it."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_operator.jobs import render

Make = Callable[..., Any]


def is_kept(wanted: Any, found: Any) -> bool:
    """Whether all of `wanted` is in `found` as it was, more beside it or not."""
    match wanted:
        case Mapping():
            return all(name in found and is_kept(value, found[name]) for name, value in wanted.items())
        case list():
            at = iter(found)
            return all(any(is_kept(value, each) for each in at) for value in wanted)
        case _:
            return bool(wanted == found)


CONTAINER_WORDS: list[Any] = [
    pytest.param({"resources": {"requests": {"memory": "4Gi"}}}, id="a request above our limit"),
    pytest.param({"resources": {"limits": {"cpu": "50m"}}}, id="a limit below our request"),
    pytest.param({"resources": {"limits": {"nvidia.com/gpu": 1}}}, id="a device"),
    pytest.param({"securityContext": {"readOnlyRootFilesystem": False}}, id="a writable image"),
    pytest.param({"securityContext": {"runAsUser": 1000, "runAsGroup": 1000}}, id="a user"),
    pytest.param({"securityContext": {"runAsUser": 0}}, id="root"),
    pytest.param({"securityContext": {"runAsNonRoot": False}}, id="whoever the image says"),
    pytest.param({"securityContext": {"privileged": True}}, id="privileged"),
    pytest.param({"securityContext": {"capabilities": {"add": ["NET_BIND_SERVICE"]}}}, id="one more capability"),
    pytest.param({"securityContext": {"capabilities": {"drop": ["CHOWN"]}}}, id="one capability less"),
    pytest.param({"securityContext": {"allowPrivilegeEscalation": True}}, id="privilege escalation"),
    pytest.param({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, id="no seccomp"),
    pytest.param({"terminationMessagePath": "/dev/termination-log"}, id="the one place for the result"),
    pytest.param({"terminationMessagePolicy": "File"}, id="the one policy for it"),
    pytest.param({"env": [{"name": "HOME", "value": "/app"}, {"name": "A", "value": "$(ARG_X)"}]}, id="variables"),
    pytest.param({"volumeMounts": [{"name": "v", "mountPath": "/tmp/"}]}, id="a /tmp of their own"),
]
POD_WORDS: list[Any] = [
    pytest.param({"restartPolicy": "Never"}, id="the only restart policy"),
    pytest.param({"terminationGracePeriodSeconds": 0}, id="no grace"),
    pytest.param({"automountServiceAccountToken": True}, id="a token"),
    pytest.param({"enableServiceLinks": True}, id="service links"),
    pytest.param({"securityContext": {"fsGroup": 7}}, id="a group for volumes"),
    pytest.param({"securityContext": {"runAsNonRoot": True, "runAsUser": 1}}, id="a user of the pod"),
    pytest.param({"securityContext": {"runAsUser": 0}}, id="root for the pod"),
    pytest.param({"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]}, id="a toleration"),
    pytest.param({"hostNetwork": True, "nodeSelector": {"a": "b"}, "unheardOf": [1, None]}, id="what we do not know"),
]


@pytest.mark.parametrize("words", CONTAINER_WORDS)
def test_what_the_author_wrote_of_a_container_stands(
    words: dict[str, Any], make_tool: Make, make_task: Make, make_pod: Make
) -> None:
    pod = render(make_task(), make_tool(make_pod(**words), properties={"x": {}}))["spec"]["template"]["spec"]

    assert is_kept(words, pod["containers"][0])


@pytest.mark.parametrize("words", POD_WORDS)
def test_what_the_author_wrote_of_the_pod_stands(
    words: dict[str, Any], make_tool: Make, make_task: Make, make_pod: Make
) -> None:
    pod = render(make_task(), make_tool({**make_pod(), **words}))["spec"]["template"]["spec"]

    assert is_kept(words, pod)


@pytest.fixture(scope="session")
def rendered(make_tool: Make, make_task: Make, make_pod: Make) -> Make:
    """The container and the pod that come of what an author wrote of them."""

    def render_one(*, container: Any = None, pod: Any = None, **settings: Any) -> tuple[Any, Any]:
        written = {**make_pod(**(container or {})), **(pod or {})}
        whole = render(make_task(), make_tool(written), **settings)["spec"]["template"]["spec"]
        return whole["containers"][0], whole

    return render_one


@pytest.mark.parametrize(
    ("container", "pod"),
    [
        pytest.param({"securityContext": {"runAsUser": 0}}, {}, id="by the container's user"),
        pytest.param({"securityContext": {"runAsNonRoot": False}}, {}, id="by the container's word"),
        pytest.param({}, {"securityContext": {"runAsUser": 0}}, id="by the pod's user"),
        pytest.param({}, {"securityContext": {"runAsNonRoot": False}}, id="by the pod's word"),
    ],
)
def test_a_pod_that_asks_for_root_is_not_kept_from_starting(container: Any, pod: Any, rendered: Make) -> None:
    main, whole = rendered(container=container, pod=pod)

    effective = {**whole["securityContext"], **main["securityContext"]}
    assert effective.get("runAsUser", 0) == 0
    assert effective.get("runAsNonRoot") in (None, False)


def test_a_container_with_a_user_is_not_root_in_a_pod_of_root(rendered: Make) -> None:
    main, _ = rendered(container={"securityContext": {"runAsUser": 5}}, pod={"securityContext": {"runAsUser": 0}})

    assert main["securityContext"]["runAsUser"] == 5
    assert main["securityContext"]["runAsNonRoot"] is True


@pytest.mark.parametrize(
    "security",
    [
        pytest.param({"privileged": True}, id="privileged"),
        pytest.param({"capabilities": {"add": ["SYS_ADMIN"]}}, id="nearly root"),
    ],
)
def test_privilege_escalation_is_not_denied_where_kubernetes_would_refuse_that(security: Any, rendered: Make) -> None:
    main, _ = rendered(container={"securityContext": security})

    assert "allowPrivilegeEscalation" not in main["securityContext"]


def test_the_users_are_left_to_a_platform_that_assigns_them(rendered: Make) -> None:
    main, whole = rendered(assign_uid=False)

    assert "runAsUser" not in main["securityContext"]
    assert main["securityContext"]["runAsNonRoot"] is True
    assert whole["securityContext"] == {}


def test_a_resource_that_the_author_spoke_of_gets_nothing_from_us(rendered: Make) -> None:
    main, _ = rendered(container={"resources": {"requests": {"memory": "4Gi"}}})

    assert main["resources"] == {"requests": {"memory": "4Gi", "cpu": "100m"}, "limits": {"cpu": "1"}}


def test_containers_of_a_pod_with_resources_of_its_own_get_none(rendered: Make) -> None:
    main, _ = rendered(pod={"resources": {"limits": {"memory": "64Mi"}}})

    assert "resources" not in main


def test_the_token_of_an_account_that_the_author_named_is_left_to_the_account(rendered: Make) -> None:
    _, named = rendered(pod={"serviceAccountName": "reader"})
    _, default = rendered(pod={"serviceAccountName": "default"})

    assert "automountServiceAccountToken" not in named
    assert default["automountServiceAccountToken"] is False


def test_a_writable_image_keeps_its_own_tmp(rendered: Make) -> None:
    main, whole = rendered(container={"securityContext": {"readOnlyRootFilesystem": False}})

    assert [mount["mountPath"] for mount in main["volumeMounts"]] == ["/mcptask"]
    assert [volume["name"] for volume in whole["volumes"]] == ["mcptask"]
    assert {"name": "HOME", "value": "/tmp"} in main["env"]


def test_a_writable_image_with_its_own_user_keeps_its_own_home(rendered: Make) -> None:
    main, _ = rendered(container={"securityContext": {"readOnlyRootFilesystem": False, "runAsUser": 0}})

    assert "HOME" not in {variable["name"] for variable in main["env"]}


@pytest.mark.parametrize("path", ["/tmp/", "//tmp", "tmp"])
def test_a_tmp_of_the_authors_own_is_mounted_once_however_it_is_spelled(path: str, rendered: Make) -> None:
    main, _ = rendered(container={"volumeMounts": [{"name": "v", "mountPath": path}]})

    assert not [mount for mount in main["volumeMounts"] if mount["name"].startswith("mcptask-tmp")]


def test_an_author_who_tolerates_everything_is_not_corrected(rendered: Make) -> None:
    _, whole = rendered(pod={"tolerations": [{"operator": "Exists"}]})

    assert whole["tolerations"] == [{"operator": "Exists"}]


@pytest.mark.parametrize("place", ["labels", "annotations"])
def test_an_author_who_wants_the_mesh_has_it(place: str, make_tool: Make, make_task: Make) -> None:
    metadata = {place: {"sidecar.istio.io/inject": "true"}, "annotations": {"linkerd.io/inject": "enabled"}}
    metadata[place] = {**metadata[place], "sidecar.istio.io/inject": "true"}

    written = render(make_task(), make_tool(metadata=metadata))["spec"]["template"]["metadata"]

    injected = [
        mapping["sidecar.istio.io/inject"] for mapping in written.values() if "sidecar.istio.io/inject" in mapping
    ]
    assert injected == ["true"]
    assert written["annotations"]["linkerd.io/inject"] == "enabled"


def test_what_is_null_counts_as_absent(rendered: Make) -> None:
    words = {"env": None, "resources": None, "securityContext": {"runAsUser": None}, "volumeMounts": None}

    main, whole = rendered(container=words, pod={"volumes": None, "activeDeadlineSeconds": None})

    assert main["securityContext"]["runAsUser"] == 65532
    assert "activeDeadlineSeconds" not in whole


@st.composite
def pods_of_many_words(draw: st.DrawFn) -> dict[str, Any]:
    """What the tables above have, together."""
    container: dict[str, Any] = {"name": "main", "image": "i"}
    for word in draw(st.lists(st.sampled_from(CONTAINER_WORDS), max_size=5)):
        container.update(word.values[0])
    pod: dict[str, Any] = {"containers": [container]}
    for word in draw(st.lists(st.sampled_from(POD_WORDS), max_size=5)):
        pod.update(word.values[0])
    return pod


@given(pods_of_many_words(), st.booleans())
def test_all_words_of_an_author_stand_together(
    make_tool: Make, make_task: Make, pod: dict[str, Any], assign_uid: bool
) -> None:
    job = render(make_task(), make_tool(pod, properties={"x": {}}), assign_uid=assign_uid)

    assert is_kept(pod, job["spec"]["template"]["spec"])
