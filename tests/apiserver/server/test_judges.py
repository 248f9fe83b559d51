"""That a whole run of the tests has all its judges."""

import pytest

from mcptasks_server.testing import judges

pytestmark = pytest.mark.apiserver


def test_fastmcps_models_judge_every_task_that_is_shown() -> None:
    assert len(judges.OTHERS) == 1, "fastmcp's models are not installed: `make programs` does it"
