"""The process's environment, read once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcptasks_crds.limits import ARGUMENTS_BYTES

from .cluster.admission import DEFAULT_MAX_TASKS
from .toolpack.running import DEFAULT_THREADS

NAMESPACE_FILE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
"""Where a pod finds the name of its own namespace."""
LOG_LEVELS: Final = ("debug", "info", "warning", "error")


class SettingsError(ValueError):
    """A variable holds what it cannot; the message names it."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the server is to run."""

    namespace: str
    kubeconfig: Path | None
    """Only outside a cluster; otherwise the pod's service account."""
    context: str | None
    host: str
    port: int
    metrics_port: int
    task_port: int
    """Of the task endpoint, which tasks' pods talk to."""
    progress_writes_per_second: int
    """How much progress is written to the namespace's tasks, by all replicas together."""
    large_results: bool
    """Whether results are kept that are too large for their tasks."""
    max_tasks: int
    """How many tasks the namespace keeps at most; beyond that, calls are refused."""
    max_arguments_bytes: int
    """How large a call's arguments may be, as JSON text."""
    allowed_hosts: frozenset[str]
    allowed_origins: frozenset[str]
    max_body_bytes: int
    tokens_file: Path | None
    """Whose each bearer token is; None where callers are not told apart."""
    signing_keys_dir: Path | None
    """The keys that all replicas sign with, a file each; None for a key of this process alone."""
    tool_packs: tuple[str, ...] | None
    """Which tool packs are loaded, by entry point or as `module:attribute`; None: all that are installed."""
    tool_pack_threads: int
    """How many sync functions of packs may run at once."""
    require_task_name_header: bool
    """Whether a request about a task must name it in `Mcp-Name` too, as the extension says."""
    log_level: str


def settings_from(environment: Mapping[str, str], *, namespace_file: Path = NAMESPACE_FILE) -> Settings:
    """The settings that an environment asks for. What is empty counts as not set.

    Raises:
        SettingsError: a variable holds what it cannot.
    """
    given = {name: value.strip() for name, value in environment.items() if value.strip()}
    return Settings(
        namespace=given.get("MCPTASKS_NAMESPACE") or _own_namespace(namespace_file),
        kubeconfig=_path(given, "MCPTASKS_KUBECONFIG"),
        context=given.get("MCPTASKS_CONTEXT"),
        host=given.get("MCPTASKS_HOST", "0.0.0.0"),  # noqa: S104  # a pod serves its Service
        port=_number(given, "MCPTASKS_PORT", 8080, least=0, most=65_535),
        metrics_port=_number(given, "MCPTASKS_METRICS_PORT", 9090, least=0, most=65_535),
        task_port=_number(given, "MCPTASKS_TASK_PORT", 8082, least=0, most=65_535),
        progress_writes_per_second=_number(given, "MCPTASKS_PROGRESS_WRITES_PER_SECOND", 50, least=1, most=1_000),
        large_results=_switch(given, "MCPTASKS_LARGE_RESULTS", default=True),
        max_tasks=_number(given, "MCPTASKS_MAX_TASKS", DEFAULT_MAX_TASKS, least=1, most=10_000_000),
        max_arguments_bytes=_number(
            given, "MCPTASKS_MAX_ARGUMENTS_BYTES", ARGUMENTS_BYTES, least=1024, most=ARGUMENTS_BYTES
        ),
        allowed_hosts=frozenset(name.lower().rstrip(".") for name in _names(given, "MCPTASKS_ALLOWED_HOSTS")),
        allowed_origins=frozenset(name.rstrip("/") for name in _names(given, "MCPTASKS_ALLOWED_ORIGINS")),
        tokens_file=_tokens_file(given),
        signing_keys_dir=_path(given, "MCPTASKS_SIGNING_KEYS_DIR"),
        max_body_bytes=_number(given, "MCPTASKS_MAX_BODY_BYTES", 1_048_576, least=1024, most=64 * 1_048_576),
        tool_packs=_tool_packs(given),
        tool_pack_threads=_number(given, "MCPTASKS_TOOLPACK_THREADS", DEFAULT_THREADS, least=1, most=256),
        require_task_name_header=_switch(given, "MCPTASKS_REQUIRE_TASK_NAME_HEADER", default=True),
        log_level=_log_level(given),
    )


def _own_namespace(namespace_file: Path) -> str:
    try:
        return namespace_file.read_text().strip() or "default"
    except OSError:
        return "default"


def _path(given: Mapping[str, str], name: str) -> Path | None:
    return Path(given[name]).expanduser() if name in given else None


def _number(given: Mapping[str, str], name: str, default: int, *, least: int, most: int) -> int:
    text = given.get(name, str(default))
    if not re.fullmatch(r"[0-9]{1,12}", text) or not least <= int(text) <= most:
        raise SettingsError(f"{name} must be a number from {least} to {most}, not {text!r}")
    return int(text)


def _switch(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = given.get(name, str(default)).lower()
    if text not in {"true", "false"}:
        raise SettingsError(f"{name} must be true or false, not {text!r}")
    return text == "true"


def _names(given: Mapping[str, str], name: str) -> list[str]:
    return [part.strip() for part in given.get(name, "").split(",") if part.strip()]


def _tool_packs(given: Mapping[str, str]) -> tuple[str, ...] | None:
    """`none` is none: an empty variable counts as not set, which means all."""
    if "MCPTASKS_TOOLPACKS" not in given:
        return None
    return tuple(name for name in _names(given, "MCPTASKS_TOOLPACKS") if name != "none")


def _tokens_file(given: Mapping[str, str]) -> Path | None:
    mode, path = given.get("MCPTASKS_AUTHENTICATION", "none").lower(), given.get("MCPTASKS_TOKENS_FILE")
    if path is not None and "MCPTASKS_AUTHENTICATION" not in given:
        # Whoever has made tokens believes that they are asked for.
        raise SettingsError("MCPTASKS_TOKENS_FILE is only read with MCPTASKS_AUTHENTICATION=tokens: set that too")
    match mode:
        case "none":
            return None
        case "tokens":
            if path is None:
                raise SettingsError("MCPTASKS_AUTHENTICATION=tokens needs MCPTASKS_TOKENS_FILE")
            return Path(path).expanduser()
        case _:
            raise SettingsError(f"MCPTASKS_AUTHENTICATION must be none or tokens, not {mode!r}")


def _log_level(given: Mapping[str, str]) -> str:
    level = given.get("MCPTASKS_LOG_LEVEL", "info").lower()
    if level not in LOG_LEVELS:
        raise SettingsError(f"MCPTASKS_LOG_LEVEL must be one of {', '.join(LOG_LEVELS)}, not {level!r}")
    return level
