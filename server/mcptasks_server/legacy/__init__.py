"""The legacy era (2025-11-25, 2025-06-18, 2025-03-26): a handshake, sessions, and the server's own requests.

The way of a request: `era` (version, session, method) -> `exchange` (what the client can, how it is told and asked) ->
the work that both eras share, or `tasks` (the experimental tasks) -> `projection` (what of a task this wire shows).
"""

from .era import LegacyEra

__all__ = ["LegacyEra"]
