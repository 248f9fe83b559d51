"""A tool's pod template, read with care: it is whatever a person wrote, in a field that takes anything.

The shapes below name only what we look at or add to; the rest of the template is the API server's to judge, which it
does when the operator tries a tool's Job (`tool_checks`). Templates stay plain dictionaries, so that nothing an author
wrote is lost; the shapes say that it is safe to work on them.
"""

import posixpath
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from mcptasks_crds.base import Json
from mcptasks_crds.reasons import Reason

from .errors import JobRefusedError

ROOT: Final = "job.template"
MAIN_CONTAINER: Final = "tool"
"""The container of this name is the tool; without it, the first one."""
MAX_GRACE_SECONDS: Final = 86_400
"""A stop is awaited for this long at most: a caller who cancels is told of its end within a day."""


class _Shape(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, alias_generator=to_camel)


class _Named(_Shape):
    name: str


class _Source(_Shape):
    prefix: str = ""


class _Mount(_Shape):
    mount_path: str


class _Device(_Shape):
    device_path: str


class _Capabilities(_Shape):
    add: list[str] = []
    drop: list[str] = []


class _SecurityContext(_Shape):
    run_as_user: int | None = None
    run_as_non_root: bool | None = None
    read_only_root_filesystem: bool | None = None
    privileged: bool | None = None
    capabilities: _Capabilities = _Capabilities()


class _Resources(_Shape):
    requests: dict[str, Any] = {}
    limits: dict[str, Any] = {}


class _Container(_Named):
    command: list[str] = []
    args: list[str] = []
    env: list[_Named] = []
    env_from: list[_Source] = []
    volume_mounts: list[_Mount] = []
    volume_devices: list[_Device] = []
    security_context: _SecurityContext = _SecurityContext()
    resources: _Resources = _Resources()
    termination_message_path: Annotated[str, Field(pattern="^/")] | None = None
    termination_message_policy: str | None = None


class _PodSpec(_Shape):
    containers: Annotated[list[_Container], Field(min_length=1)]
    init_containers: list[_Container] = []
    volumes: list[_Named] = []
    tolerations: list[dict[str, Any]] = []
    security_context: _SecurityContext = _SecurityContext()
    termination_grace_period_seconds: Annotated[int, Field(ge=0, le=MAX_GRACE_SECONDS)] | None = None
    service_account_name: str | None = None


class _Metadata(_Shape):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class _Template(_Shape):
    metadata: _Metadata = _Metadata()
    spec: _PodSpec


def read_template(template: Mapping[str, Any]) -> Json:
    """A copy of a tool's pod template that may be worked on, without what is null (Kubernetes' word for absent).

    Raises:
        JobRefusedError: it has not the shape of a pod template, where we look.
    """
    copy = _without_nulls(template)
    try:
        _Template.model_validate(copy)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise JobRefusedError(Reason.TOOL_INVALID, f"{_field(first['loc'])}: {first['msg']}") from error
    written: Json = copy
    return written


def containers(pod: Json) -> Iterator[tuple[str, Json]]:
    """All containers of a pod, those that run first included, each with the field that it is.

    Of a template that was read by `read_template`.
    """
    for group in ("initContainers", "containers"):
        for index, container in enumerate(pod.get(group, ())):
            yield f"{ROOT}.spec.{group}[{index}]", container


def main_container(pod: Json) -> Json:
    """The container that is the tool. Of a template that was read by `read_template`."""
    regular: list[Json] = pod["containers"]
    return next((each for each in regular if each["name"] == MAIN_CONTAINER), regular[0])


def mount_point(path: str) -> str:
    """Where something is mounted that is to be mounted there: the kubelet takes a relative path from the root.

    >>> mount_point("//mcptask//"), mount_point("tmp/../x")
    ('/mcptask', '/x')
    """
    return posixpath.normpath("/" + path.lstrip("/"))


def _field(location: tuple[int | str, ...]) -> str:
    return ROOT + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)


def _without_nulls(value: Any) -> Any:
    match value:
        case Mapping():
            return {name: _without_nulls(each) for name, each in value.items() if each is not None}
        case list() | tuple():
            return [_without_nulls(each) for each in value]
        case _:
            return value
