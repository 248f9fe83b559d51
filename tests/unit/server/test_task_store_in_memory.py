"""The double keeps the promises that the real store keeps (`tests/apiserver/server` runs the same contract on it)."""

from datetime import UTC, datetime

import pytest

from mcptasks_server.testing import InMemoryTaskStore
from mcptasks_server.testing.contract import Hand, TaskStoreContract


class TestTheTaskStoreInMemory(TaskStoreContract):
    @pytest.fixture
    def store(self) -> InMemoryTaskStore:
        return InMemoryTaskStore(clock=lambda: datetime.now(UTC))

    @pytest.fixture
    def hand(self, store: InMemoryTaskStore) -> Hand:
        return store.write_status
