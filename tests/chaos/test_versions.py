"""The recorder's judge finds each thing that may not happen to a task, and nothing wrong with a good life."""

from typing import Any

import pytest

from mcptasks_chaos.versions import wrong_steps


def task(phase: str | None = None, *, cancel: bool = False, **status: Any) -> dict[str, Any]:
    return {"spec": {"cancelRequested": cancel}, "status": status | ({} if phase is None else {"phase": phase})}


def test_a_good_life_is_right() -> None:
    job = {"name": "mt-a", "uid": "u"}
    life = [
        task(),
        task("Pending", job=job, expiresAt="2026-01-01T00:00:00Z"),
        task("InputRequired", job=job, expiresAt="2026-01-01T00:00:00Z"),
        task("Pending", job=job, expiresAt="2026-01-01T00:30:00Z"),
        task("Running", job=job | {"podName": "p"}, attempts=1, expiresAt="2026-01-01T00:30:00Z"),
        task("Running", cancel=True, job=job, attempts=1, expiresAt="2026-01-01T00:30:00Z"),
        task("Completed", cancel=True, job=job, attempts=1, result={"inline": "{}"}, expiresAt="2026-01-01T00:30:00Z"),
        task("Completed", cancel=True, job=job, attempts=1, result={"inline": "{}"}, expiresAt="2026-01-01T00:30:00Z"),
    ]

    assert wrong_steps(life) == []


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (task("Completed"), task("Failed"), "Completed became Failed"),
        (task("Completed"), task(), "Completed became nothing"),
        (task("Completed"), task("Completed", message="more"), "changed after its end"),
        (task("Stopping"), task("Running"), "Stopping became Running"),
        (task("Running"), task("Pending"), "second attempt"),
        (task("Running", attempts=1), task("Running", attempts=2), "status.attempts went from 1 to 2"),
        (task("Pending", job={"uid": "a"}), task("Pending", job={"uid": "b"}), "status.job.uid changed from a to b"),
        (task("Pending", expiresAt="2026-01-02"), task("Pending", expiresAt="2026-01-01"), "expiresAt fell"),
        (task("Running", cancel=True), task("Running"), "the cancel was taken back"),
    ],
)
def test_what_may_not_happen_is_found(before: dict[str, Any], after: dict[str, Any], words: str) -> None:
    assert any(words in found for found in wrong_steps([task(), before, after])), wrong_steps([task(), before, after])
