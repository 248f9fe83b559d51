"""The operator over an API server in memory."""

import pytest

from mcptasks_operator.testing.desk import Desk


@pytest.fixture
def desk() -> Desk:
    """A namespace in memory, and the reconcilers that work on it."""
    return Desk()
