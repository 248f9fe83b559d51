"""What goes on without a request, for tests that need not wait for a minute."""

from typing import Any

from mcptasks_server.background import Background


class CountingBackground(Background):
    """A background that counts the calls which were cut. Without more, those that may come back have no time to."""

    def __init__(self, *, survives_seconds: float = 0.0) -> None:
        super().__init__(survives_seconds=survives_seconds)
        self.cuts = 0
        """How many calls were cut."""

    def abandon(self, *args: Any, **options: Any) -> None:
        """Count it."""
        self.cuts += 1
        super().abandon(*args, **options)

    @property
    def has_settled(self) -> bool:
        """Whether a call was cut, and all is done that was to be done about it."""
        return self.cuts > 0 and len(self) == 0
