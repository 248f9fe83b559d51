"""What polls show of a task is made once for each version of it."""

from datetime import UTC, datetime

import pytest

from mcptasks_crds.task import McpTask
from mcptasks_server.caller import ANONYMOUS
from mcptasks_server.projection import detailed_task
from mcptasks_server.testing import InMemoryTaskStore
from mcptasks_server.testing.contract import new_task, over, questions
from mcptasks_server.views import TaskViews


@pytest.fixture
def store() -> InMemoryTaskStore:
    """Where the tasks are."""
    return InMemoryTaskStore(clock=lambda: datetime.now(UTC))


async def created(store: InMemoryTaskStore) -> McpTask:
    return await store.create(new_task(), caller=ANONYMOUS)


async def test_a_view_is_what_the_projection_says(store: InMemoryTaskStore) -> None:
    views, task = TaskViews(), await created(store)

    for elicitation in (True, False):
        shown = detailed_task(task, elicitation=elicitation).members()
        assert views.members_of(task, elicitation=elicitation) == shown


async def test_the_same_version_is_made_once(store: InMemoryTaskStore) -> None:
    views, task = TaskViews(), await created(store)

    assert views.members_of(task, elicitation=True) is views.members_of(task, elicitation=True)


async def test_a_newer_version_is_shown_at_once(store: InMemoryTaskStore) -> None:
    views, task = TaskViews(), await created(store)
    before = views.members_of(task, elicitation=True)["status"]
    await store.write_status(task.metadata.name, over())

    after = await store.get(task.metadata.name, caller=ANONYMOUS)

    assert (before, views.members_of(after, elicitation=True)["status"]) == ("working", "completed")


async def test_a_client_without_forms_is_shown_no_other_clients_view(store: InMemoryTaskStore) -> None:
    views, task = TaskViews(), await created(store)
    await store.write_status(task.metadata.name, questions("sure"))
    asks = await store.get(task.metadata.name, caller=ANONYMOUS)

    assert views.members_of(asks, elicitation=True)["status"] == "input_required"
    assert views.members_of(asks, elicitation=False)["status"] == "working"


async def test_a_view_goes_with_its_task(store: InMemoryTaskStore) -> None:
    views, task = TaskViews(), await created(store)
    views.members_of(task, elicitation=True)
    views.members_of(task, elicitation=False)
    assert len(views) == 2

    del task

    assert len(views) == 0
