"""Points in time as the objects hold them: RFC 3339, UTC, milliseconds."""

from datetime import UTC, datetime


def format_time(moment: datetime) -> str:
    """The moment as the objects and the wire hold it.

    >>> format_time(datetime(2026, 11, 29, 21, 45, 32, 325999, tzinfo=UTC))
    '2026-11-29T21:45:32.325Z'
    """
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """The moment that such a text (or Kubernetes' own, without a fraction) stands for."""
    return datetime.fromisoformat(text)
