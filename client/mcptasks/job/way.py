"""The way to a task's endpoint: what is asked and waited for, and what is reported in the background."""

from pathlib import Path

from .endpoint import Answer, Endpoint, Request
from .errors import OvertakenError
from .reporter import Reporter


class Way:
    """An endpoint, and the one thread that reports to it."""

    def __init__(self, url: str, token_file: Path | None) -> None:
        self.endpoint = Endpoint(url, token_file)
        self.reporter = Reporter(self._report)

    def _report(self, request: Request) -> Answer:
        """Tell how far the tool is, or look at the task."""
        try:
            return self.endpoint.attempt(request)
        except OvertakenError:
            self.endpoint.is_stopping = True  # no progress contradicts another: the task is over
            raise
