"""What a pod is told of its task, by variables (docs/tools.md). Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The variables `MCPTASK_...`; None where one is not set or empty."""

    task_id: str | None = None
    tool: str | None = None
    url: str | None = None
    """Where the task's endpoint is; without one, a tool works by files alone."""
    token_file: Path | None = None
    arguments_file: Path | None = None
    answers_file: Path | None = None
    result_file: Path | None = None


def read_environment(variables: Mapping[str, str]) -> Environment:
    """The task's variables among those of a process.

    >>> read_environment({"MCPTASK_ID": "mt-x", "MCPTASK_URL": "http://tasks/v1/tasks/mt-x/"}).url
    'http://tasks/v1/tasks/mt-x'
    """

    def path(name: str) -> Path | None:
        value = variables.get(name)
        return Path(value) if value else None

    return Environment(
        task_id=variables.get("MCPTASK_ID") or None,
        tool=variables.get("MCPTASK_TOOL") or None,
        url=variables.get("MCPTASK_URL", "").rstrip("/") or None,
        token_file=path("MCPTASK_TOKEN_FILE"),
        arguments_file=path("MCPTASK_ARGUMENTS"),
        answers_file=path("MCPTASK_ANSWERS"),
        result_file=path("MCPTASK_RESULT"),
    )
