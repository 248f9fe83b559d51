"""What a tool's pod template may not have, because a task's promises would break.

Each check yields what is wrong, the field named. What is merely dangerous is left to Pod Security, and what is
malformed to the API server.
"""

from collections.abc import Iterator, Mapping

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.tool import McpTool

from .hardening import TERMINATION_MESSAGE_PATH
from .templates import ROOT, containers, main_container, mount_point


def refusals(template: Json, *, tool: McpTool) -> Iterator[str]:
    """Why no Job is made of a template that was read by `templates.read_template`; nothing if there is no reason."""
    metadata, pod = template.get("metadata", {}), template["spec"]
    own = tool.spec.job.metadata
    for field, mapping in (
        ("job.metadata.labels", own.labels),
        ("job.metadata.annotations", own.annotations),
        (f"{ROOT}.metadata.labels", metadata.get("labels", {})),
        (f"{ROOT}.metadata.annotations", metadata.get("annotations", {})),
    ):
        yield from _keys(field, mapping)
    if names.QUEUE_LABEL in own.labels:
        yield f"job.metadata.labels: {names.QUEUE_LABEL}: not allowed: set queueName, which waits as long as Kueue does"
    yield from _pod(pod)
    main = main_container(pod)
    for field, container in containers(pod):
        yield from _environment(field, container)
        yield from _mounts(field, container)
        if container is main:
            yield from _restarts(field, container)
            yield from _result(field, container)


def _keys(field: str, mapping: Mapping[str, str]) -> Iterator[str]:
    for key in mapping:
        if names.is_own_key(key):
            yield f"{field}: {key}: keys that begin with {names.GROUP}/ are set by mcptasks"


def _pod(pod: Json) -> Iterator[str]:
    policy = pod.get("restartPolicy", "Never")
    if policy != "Never":
        yield f"{ROOT}.spec.restartPolicy: {policy}: only Never: a container that starts again runs its call twice"
    if "activeDeadlineSeconds" in pod:
        yield f"{ROOT}.spec.activeDeadlineSeconds: not allowed: set timeoutSeconds, which tells the caller why"
    for index, volume in enumerate(pod.get("volumes", ())):
        if names.is_own_volume(volume["name"]):
            yield f"{ROOT}.spec.volumes[{index}].name: {volume['name']}: mcptasks has a volume of that name"


def _restarts(field: str, container: Json) -> Iterator[str]:
    for name in ("restartPolicy", "restartPolicyRules"):
        if name in container:
            yield f"{field}.{name}: not allowed on the tool's container: a call that starts again runs twice"


def _result(field: str, container: Json) -> Iterator[str]:
    policy = container.get("terminationMessagePolicy", "File")
    if policy != "File":
        yield (
            f"{field}.terminationMessagePolicy: {policy}: only File on the tool's container: the end of a log would"
            " pass for what it wrote to $MCPTASK_RESULT"
        )
    path = container.get("terminationMessagePath", TERMINATION_MESSAGE_PATH)
    if path != TERMINATION_MESSAGE_PATH:
        yield f"{field}.terminationMessagePath: {path}: only {TERMINATION_MESSAGE_PATH} on the tool's container"


def _environment(field: str, container: Json) -> Iterator[str]:
    kept = f"names that begin with {names.ARGUMENT_VARIABLE_PREFIX} or {names.OWN_VARIABLE_PREFIX} are set by mcptasks"
    for index, variable in enumerate(container.get("env", ())):
        if names.is_own_variable(variable["name"]):
            yield f"{field}.env[{index}].name: {variable['name']}: {kept}"
    for index, source in enumerate(container.get("envFrom", ())):
        if names.is_own_variable(source.get("prefix", "")):
            yield f"{field}.envFrom[{index}].prefix: {source['prefix']}: {kept}"


def _mounts(field: str, container: Json) -> Iterator[str]:
    for group, key in (("volumeMounts", "mountPath"), ("volumeDevices", "devicePath")):
        for index, mount in enumerate(container.get(group, ())):
            path = mount_point(mount[key])
            if path == names.CONTRACT_PATH or path.startswith(f"{names.CONTRACT_PATH}/"):
                yield f"{field}.{group}[{index}].{key}: {mount[key]}: {names.CONTRACT_PATH} is mounted by mcptasks"
