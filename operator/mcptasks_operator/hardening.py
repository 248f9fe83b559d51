"""What is filled into a tool's pod where its author said nothing, so that an image built for root runs restricted.

Nothing that an author wrote is changed: a pod that asks for root gets it, unless the namespace's Pod Security says no.
Everything here works on a template that was read by `templates.read_template`, in place.

https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
"""

from typing import Final

from mcptasks_crds import names
from mcptasks_crds.base import Json

from .templates import containers, mount_point

USER: Final = 65532
"""Who runs a tool whose author named nobody: the `nonroot` user of the common base images."""
GRACE_SECONDS: Final = 5
SCRATCH_PATH: Final = "/tmp"  # noqa: S108  # a path in the tool's container
TERMINATION_MESSAGE_PATH: Final = "/dev/termination-log"
NODE_LOST_SECONDS: Final = 30
"""How long a pod stays with a node that does not answer; Kubernetes' own 300 would keep a caller waiting."""

_REQUESTS: Final = {"cpu": "100m", "memory": "128Mi"}
_LIMITS: Final = {"cpu": "1", "memory": "512Mi"}

_ANNOTATIONS: Final = {
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
    "karpenter.sh/do-not-disrupt": "true",
    "linkerd.io/inject": "disabled",
}
# A mesh's sidecar outlives the tool: the pod never ends. Istio reads the label, its older versions the annotation.
_ISTIO: Final = {"sidecar.istio.io/inject": "false"}

_NODE_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def harden(template: Json, *, assign_uid: bool) -> None:
    """Fill in what is absent. `assign_uid=False` leaves the user to the platform, as OpenShift wants it."""
    _fill_metadata(template)
    pod = template["spec"]
    _fill_pod(pod, assign_uid=assign_uid)
    for index, (_, container) in enumerate(containers(pod)):
        _fill_container(container, pod=pod, assign_uid=assign_uid)
        security = container["securityContext"]
        if security["readOnlyRootFilesystem"]:
            _mount_scratch(container, pod=pod, volume=names.scratch_volume(index))
        if security["readOnlyRootFilesystem"] or security.get("runAsUser") == USER:
            _give_home(container)


def _fill_metadata(template: Json) -> None:
    metadata = template.setdefault("metadata", {})
    labels, annotations = metadata.setdefault("labels", {}), metadata.setdefault("annotations", {})
    if not _ISTIO.keys() & (labels.keys() | annotations.keys()):
        labels.update(_ISTIO)
        annotations.update(_ISTIO)
    _fill(annotations, _ANNOTATIONS)


def _fill_pod(pod: Json, *, assign_uid: bool) -> None:
    _fill(
        pod,
        {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": GRACE_SECONDS,
            "enableServiceLinks": False,
        },
    )
    if pod.get("serviceAccountName", "default") == "default":
        # Who names an account of their own wants what it may do.
        pod.setdefault("automountServiceAccountToken", False)
    security = pod.setdefault("securityContext", {})
    if assign_uid and "fsGroup" not in security:
        security["fsGroup"] = USER
        # Else the kubelet changes the owner of each file of a large volume before the tool starts.
        security.setdefault("fsGroupChangePolicy", "OnRootMismatch")
    tolerations = pod.setdefault("tolerations", [])
    for taint in _NODE_TAINTS:
        if not any(_tolerates(toleration, taint) for toleration in tolerations):
            tolerations.append(
                {
                    "key": taint,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": NODE_LOST_SECONDS,
                }
            )


def _tolerates(toleration: Json, taint: str) -> bool:
    key = toleration.get("key", "")
    return key == taint or (key == "" and toleration.get("operator") == "Exists")


def _fill_container(container: Json, *, pod: Json, assign_uid: bool) -> None:
    _fill_security(container.setdefault("securityContext", {}), of_pod=pod["securityContext"], assign_uid=assign_uid)
    if "resources" not in pod:  # a pod's own resources bound its containers together
        _fill_resources(container.setdefault("resources", {}))
    _fill(
        container,
        {"terminationMessagePath": TERMINATION_MESSAGE_PATH, "terminationMessagePolicy": "File"},
    )


def _fill_security(security: Json, *, of_pod: Json, assign_uid: bool) -> None:
    """Fill in a container's security context, where neither it nor its pod's (which it inherits) speaks."""
    spoken = {**of_pod, **security}
    root_wanted = spoken.get("runAsUser") == 0 or spoken.get("runAsNonRoot") is False
    if not root_wanted:
        if assign_uid and "runAsUser" not in spoken:
            security["runAsUser"] = USER
        if "runAsNonRoot" not in spoken:
            security["runAsNonRoot"] = True
    if "seccompProfile" not in spoken:
        security["seccompProfile"] = {"type": "RuntimeDefault"}
    security.setdefault("readOnlyRootFilesystem", True)
    capabilities = security.setdefault("capabilities", {})
    capabilities.setdefault("drop", ["ALL"])
    powers = {"SYS_ADMIN", "CAP_SYS_ADMIN"} & set(capabilities.get("add", ()))
    if not security.get("privileged") and not powers:  # Kubernetes refuses the contradiction
        security.setdefault("allowPrivilegeEscalation", False)


def _fill_resources(resources: Json) -> None:
    """Fill in each resource of which the author gave neither request nor limit: one of ours might contradict theirs."""
    requests, limits = resources.setdefault("requests", {}), resources.setdefault("limits", {})
    spoken = requests.keys() | limits.keys()
    _fill(requests, {name: amount for name, amount in _REQUESTS.items() if name not in spoken})
    _fill(limits, {name: amount for name, amount in _LIMITS.items() if name not in spoken})


def _mount_scratch(container: Json, *, pod: Json, volume: str) -> None:
    """Give a container that cannot write to its image a `/tmp` of its own."""
    mounts = container.setdefault("volumeMounts", [])
    if any(mount_point(mount["mountPath"]) == SCRATCH_PATH for mount in mounts):
        return
    mounts.append({"name": volume, "mountPath": SCRATCH_PATH})
    pod.setdefault("volumes", []).append({"name": volume, "emptyDir": {}})


def _give_home(container: Json) -> None:
    """Give a user whom the image does not know a home, where there is room to write."""
    environment = container.setdefault("env", [])
    if not any(variable["name"] == "HOME" for variable in environment):
        environment.insert(0, {"name": "HOME", "value": SCRATCH_PATH})


def _fill(target: Json, defaults: Json) -> None:
    for name, value in defaults.items():
        target.setdefault(name, value)
