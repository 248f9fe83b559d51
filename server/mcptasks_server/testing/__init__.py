"""Doubles of the server's collaborators, for tests: they keep their Protocols' promises (`contract` proves it)."""

from .catalogue import FixedCatalogue, ready_tool
from .store import InMemoryTaskStore

__all__ = ["FixedCatalogue", "InMemoryTaskStore", "ready_tool"]
