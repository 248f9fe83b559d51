"""Logs: one JSON object a line, our own and those of the libraries alike, and one line for an episode of errors."""

import logging
import sys
from typing import Final

import structlog

from mcptasks_crds.kube import KubeError

from .errors import OperatorError
from .keys import Key
from .metrics import Metrics

LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
QUIET: Final = {
    "kopf": logging.WARNING,
    "kopf._core.reactor.running": logging.ERROR,  # it warns that it leaves the signals to us
    "aiohttp": logging.WARNING,
    "asyncio": logging.WARNING,
}
"""Libraries whose INFO is no change of state."""
EPISODE_SECONDS: Final = 60.0

_log = structlog.get_logger(__name__)


def configure_logging(level: str) -> None:
    """Have everything logged to standard error, from this level on."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(EpisodeFilter())
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.PositionalArgumentsFormatter()],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=LEVELS[level], force=True)
    for name, quiet in QUIET.items():
        logging.getLogger(name).setLevel(max(quiet, LEVELS[level]) if level != "debug" else logging.DEBUG)


class EpisodeFilter(logging.Filter):
    """Lets the warnings of one place in a library through once a minute: kopf tells of each attempt that fails."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[tuple[str, int], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is to be written."""
        if record.levelno < logging.WARNING or not record.name.startswith(tuple(QUIET)):
            return True
        place = (record.pathname, record.lineno)
        if record.created - self._last.get(place, 0.0) < EPISODE_SECONDS:
            return False
        self._last[place] = record.created
        return True


class Journal:
    """Tells of failed passes: once when an episode begins, once when it is over."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def failed(self, key: Key, error: Exception, *, failures: int, delay_seconds: float) -> None:
        """A pass failed. An error that is of no known kind is a fault of ours, and is told with its traceback."""
        self._metrics.failed(key.kind)
        if failures > 1:
            _log.debug("reconcile_failed_again", kind=key.kind, name=key.name, failures=failures, error=str(error))
            return
        known = isinstance(error, (KubeError, OperatorError))
        _log.log(
            logging.WARNING if known else logging.ERROR,
            "reconcile_failed",
            kind=key.kind,
            name=key.name,
            error=str(error) or repr(error),
            delay_seconds=round(delay_seconds, 3),
            exc_info=None if known else error,
        )

    def recovered(self, key: Key, *, failures: int) -> None:
        """A pass succeeded after failures."""
        _log.info("reconcile_recovered", kind=key.kind, name=key.name, failures=failures)
