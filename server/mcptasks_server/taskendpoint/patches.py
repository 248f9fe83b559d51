"""What is written of a pod's word: leaves of `status.report`, as merge patches. Pure."""

import hashlib
from datetime import datetime
from typing import Any

from mcptasks_crds import limits, outcomes
from mcptasks_crds.task import ContentSource, Progress, Question, Report, ResultSource, TooLarge

from .bodies import ContentBody, ProgressBody, QuestionBody


def progress_of(body: ProgressBody, *, pod_uid: str) -> Progress:
    """A pod's progress as a task keeps it."""
    message = body.message
    numbers = "/".join(shown(each) for each in (body.progress, body.total) if each is not None)
    return Progress(
        progress=body.progress,
        total=body.total,
        message=None if message is None else limits.clip(message, limits.PROGRESS_MESSAGE_STORED_BYTES),
        display=limits.clip(numbers, limits.PROGRESS_DISPLAY_STORED_BYTES),
        pod_uid=pod_uid,
    )


def shown(number: float) -> str:
    """A number as people read it: one that counts things with all its digits, or 1999999 of 2000001 looks like all.

    >>> [shown(number) for number in (3.0, 1999999.0, 0.1 + 0.2, 100 / 3, 1e300)]
    ['3', '1999999', '0.3', '33.3333', '1e+300']
    """
    return f"{number:.15g}" if number.is_integer() else f"{number:g}"


def progress_patch(progress: Progress) -> dict[str, Any]:
    """All of it: what it does not say is removed."""
    return {"progress": progress.model_dump(mode="json", by_alias=True)}


def question_of(body: QuestionBody, *, now: datetime) -> Question:
    """A pod's question as a task keeps it."""
    return Question(
        message=body.message,
        requested_schema=body.requested_schema,
        asked_at=now,
        model_may_answer=body.model_may_answer,
        expiry_seconds=body.expiry_seconds,
    )


def question_patch(key: str, question: Question) -> dict[str, Any]:
    """One question more."""
    return {"questions": {key: question.manifest()}}


def content_patch(report: Report, body: ContentBody, *, key: str) -> dict[str, Any]:
    """The parts that there are, and those of the body behind them."""
    parts = body.content if report.content is None else outcomes.join_arrays(report.content, body.content)
    return {"content": parts, "contentKeys": [*report.content_keys, key]}


def spilled_content_patch(report: Report, size: int, *, key: str) -> dict[str, Any]:
    """Parts of so many bytes more, which are in a Secret."""
    known = report.content_from
    posts, before = (0, 0) if known is None else (known.posts, known.bytes)
    content_from = ContentSource(posts=posts + 1, bytes=before + size)
    return {"contentFrom": content_from.manifest(), "contentKeys": [*report.content_keys, key]}


def content_key(header: str) -> str:
    """The hash that is kept of an idempotency key."""
    return hashlib.sha256(header.encode("utf-8", "surrogateescape")).hexdigest()[: limits.CONTENT_KEY_LENGTH]


def result_patch(result: str | ResultSource) -> dict[str, Any]:
    """The result, or where it is."""
    return {"result": result} if isinstance(result, str) else {"resultFrom": result.manifest()}


def too_large_patch(refused: TooLarge) -> dict[str, Any]:
    """What is kept of a result that was refused."""
    return {"tooLarge": refused.manifest()}
