"""The operator's settings: the environment, read once, as one frozen value."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from .errors import SettingsError

NAMESPACE_FILE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
LOG_LEVELS: Final = ("debug", "info", "warning", "error")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the operator is to run."""

    namespace: str
    """Where tasks, tools and Jobs are."""
    host: str = "0.0.0.0"  # noqa: S104  # a pod's probes and scrapes come from outside it
    """Address of the listener."""
    port: int = 8081
    """Port of `/livez`, `/readyz` and `/metrics`; 0 takes any free one."""
    log_level: str = "info"
    kubeconfig: Path | None = None
    """A kubeconfig file; None with `context` None means the pod's own service account."""
    context: str | None = None
    """The kubeconfig's context; None means its current one."""
    workers: int = 16
    """How many tasks and tools are worked on at the same time."""
    assign_uid: bool = True
    """Whether a pod whose author names no user runs as one of ours; off where the platform assigns users."""
    endpoint: str | None = None
    """Where tasks' pods reach the server's task endpoint (`http://HOST:PORT`); None: they are not told of any."""
    answer_policy: str | None = None
    """The name of the ValidatingAdmissionPolicy, and of its binding, that judges who answers; None: there is none."""
    resync_seconds: float = 30.0
    """How often everything is listed anew."""
    lease_seconds: int = 10
    """How long after the last sign of life of the operator that acts another one takes its place."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], *, namespace_file: Path = NAMESPACE_FILE) -> Self:
        """Read the settings.

        Raises:
            SettingsError: a variable's value is wrong; the message names the variable.
        """
        kubeconfig = environment.get("MCPTASKS_KUBECONFIG")
        return cls(
            namespace=environment.get("MCPTASKS_NAMESPACE") or _own_namespace(namespace_file),
            host=environment.get("MCPTASKS_OPERATOR_HOST") or cls.host,
            port=_whole(environment, "MCPTASKS_OPERATOR_PORT", default=cls.port, lowest=0, highest=65_535),
            log_level=_choice(environment, "MCPTASKS_LOG_LEVEL", default=cls.log_level, choices=LOG_LEVELS),
            kubeconfig=Path(kubeconfig).expanduser() if kubeconfig else None,
            context=environment.get("MCPTASKS_CONTEXT") or None,
            workers=_whole(environment, "MCPTASKS_OPERATOR_WORKERS", default=cls.workers, lowest=1, highest=1_000),
            assign_uid=_choice(environment, "MCPTASKS_ASSIGN_UID", default="true", choices=("true", "false")) == "true",
            endpoint=_url(environment, "MCPTASKS_TASK_ENDPOINT"),
            answer_policy=environment.get("MCPTASKS_ANSWER_POLICY") or None,
            resync_seconds=_whole(
                environment, "MCPTASKS_RESYNC_SECONDS", default=int(cls.resync_seconds), lowest=1, highest=60
            ),
            lease_seconds=_whole(
                environment, "MCPTASKS_LEASE_SECONDS", default=cls.lease_seconds, lowest=3, highest=60
            ),
        )


def _own_namespace(file: Path) -> str:
    try:
        return file.read_text().strip() or "default"
    except OSError:  # outside a cluster there is no such file
        return "default"


def _whole(environment: Mapping[str, str], name: str, *, default: int, lowest: int, highest: int) -> int:
    text = environment.get(name)
    if not text:
        return default
    try:
        number = int(text)
    except ValueError as error:
        raise SettingsError(f"{name}: {text!r} is not a whole number") from error
    if not lowest <= number <= highest:
        raise SettingsError(f"{name}: {number} is not between {lowest} and {highest}")
    return number


def _url(environment: Mapping[str, str], name: str) -> str | None:
    text = (environment.get(name) or "").rstrip("/")
    if not text:
        return None
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise SettingsError(f"{name}: {text!r} is not an address such as http://mcptasks-tasks.ns.svc:8082")
    return text


def _choice(environment: Mapping[str, str], name: str, *, default: str, choices: tuple[str, ...]) -> str:
    text = (environment.get(name) or default).lower()
    if text not in choices:
        raise SettingsError(f"{name}: {text!r} is none of {', '.join(choices)}")
    return text
