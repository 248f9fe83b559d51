"""Moments, as people are shown them: all in the same form. Pure."""

from datetime import UTC, datetime


def shown(moment: datetime) -> str:
    """A moment to the second.

    >>> shown(datetime.fromisoformat("2026-12-01T15:30:00.123+01:00"))
    '2026-12-01T14:30:00Z'
    """
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def shown_text(text: str) -> str:
    """The same of a server's text; as it is where that is no moment.

    >>> shown_text("2026-12-01T14:30:00.000Z"), shown_text("soon")
    ('2026-12-01T14:30:00Z', 'soon')
    """
    try:
        return shown(datetime.fromisoformat(text))
    except ValueError:
        return text
