"""kopf as it is set up: nothing without a time-out, and nothing written."""

import copy

import kopf
import pytest

from mcptasks_crds.base import Json
from mcptasks_crds.kube import Kind
from mcptasks_operator.handlers import register
from mcptasks_operator.startup import kopf_settings
from mcptasks_operator.store import KINDS

HANDLER = kopf.HandlerId("see-jobs")


@pytest.mark.requirement("failures/f1-08")
def test_every_time_out_of_a_watch_is_set() -> None:
    watching = kopf_settings().watching

    for seconds in (
        watching.server_timeout,
        watching.client_timeout,
        watching.connect_timeout,
        watching.inactivity_timeout,
    ):
        assert seconds is not None
        assert 0 < seconds <= 300
    assert isinstance(watching.server_timeout, int), "it goes into the query, where 240.0 is refused"
    assert watching.client_timeout is not None
    assert watching.client_timeout > watching.server_timeout


def test_every_time_out_of_a_request_is_set() -> None:
    networking = kopf_settings().networking

    assert networking.request_timeout is not None
    assert networking.request_timeout <= 60
    assert networking.connect_timeout is not None


@pytest.mark.requirement("failures/f1-06")
def test_kopf_posts_scans_and_pauses_nothing_and_takes_nobodys_finalizer_away() -> None:
    settings = kopf_settings()

    assert settings.posting.enabled is False
    assert settings.scanning.disabled is True
    assert settings.peering.standalone is True
    assert settings.persistence.finalizer != kopf.OperatorSettings().persistence.finalizer


def test_kopf_copies_nothing_of_an_object_and_has_nowhere_to_keep_anything() -> None:
    persistence = kopf_settings().persistence
    body, patch = kopf.Body({"metadata": {"name": "a"}, "spec": {"x": [1]}}), kopf.Patch()
    essence = persistence.diffbase_storage.build(body=body)

    assert essence == persistence.progress_storage.clear(essence=essence) == {}
    persistence.diffbase_storage.store(body=body, patch=patch, essence=essence)
    persistence.progress_storage.store(key=HANDLER, record=kopf.ProgressRecord(), body=body, patch=patch)
    persistence.progress_storage.touch(body=body, patch=patch, value="now")
    persistence.progress_storage.purge(key=HANDLER, body=body, patch=patch)
    assert not patch
    assert persistence.diffbase_storage.fetch(body=body) is None
    assert persistence.progress_storage.fetch(key=HANDLER, body=body) is None


@pytest.mark.requirement("failures/f1-06")
async def test_only_raw_events_are_handled_and_each_goes_to_its_kind() -> None:
    taken: list[tuple[Kind, str | None, str]] = []
    registry = kopf.OperatorRegistry()
    register(registry, lambda kind, type_, document: taken.append((kind, type_, document["metadata"]["name"])))

    watching = registry._watching.get_all_handlers()
    for handler in watching:
        await handler.fn(event={"type": "ADDED", "object": {"metadata": {"name": "a"}}})  # type: ignore[call-arg,misc]

    assert [kind for kind, _, _ in taken] == list(KINDS)
    assert {(type_, name) for _, type_, name in taken} == {("ADDED", "a")}
    for others in (registry._changing, registry._spawning, registry._indexing, registry._webhooks):
        assert list(others.get_all_handlers()) == []


async def test_an_object_is_taken_whole_and_kopf_is_left_with_its_name() -> None:
    """Else each version of each object waits for the collector of cycles, for kopf's views hold each other."""
    taken: list[Json] = []
    registry = kopf.OperatorRegistry()
    register(registry, lambda kind, type_, document: taken.append(document))
    names = {"name": "a", "namespace": "b", "uid": "c"}
    metadata = {**names, "resourceVersion": "1", "managedFields": [{}], "finalizers": ["somebody.else/holds"]}
    seen: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"x": [1]}, "status": {"y": [2]}}
    whole = copy.deepcopy(seen)

    handler = next(iter(registry._watching.get_all_handlers()))
    await handler.fn(event={"type": "MODIFIED", "object": seen})  # type: ignore[call-arg,misc,typeddict-item]

    assert taken == [whole]
    assert seen == {"metadata": names}
