"""Logs: one JSON object a line on standard error. Never arguments, answers or results."""

import logging
import sys

import structlog
from aiohttp.http_exceptions import HttpProcessingError

_SHARED: tuple[structlog.typing.Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
)


class WithoutBrokenRequests(logging.Filter):
    """Drops what aiohttp says of requests that are no HTTP: a traceback each, which quotes what the client sent."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is to be written."""
        return record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError)


def configure_logs(level: str) -> None:
    """Send structlog's and the standard library's logs to standard error as JSON, from `level` up."""
    number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*_SHARED, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_SHARED,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    handler.addFilter(WithoutBrokenRequests())
    logging.basicConfig(handlers=[handler], level=max(number, logging.INFO), force=True)
    # One line a poll says nothing; the metrics count them.
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
