"""How large the parts of a task may be, so that a task that could be created can always be ended.

An object must stay below `OBJECT_STORED_BYTES`, or etcd (1.5 MiB a request) refuses the write that would end the task.
What counts is the object *as stored*: JSON text by Go's encoder, which writes `<`, `>`, `&`, U+2028, U+2029 and most
control characters as six bytes (`stored_bytes` is that rule). `maxLength` counts characters, so it bounds nothing
by itself: one character is one to six stored bytes.

Who holds a text to its limit:

* the long ones (result, log, answers, questions): a CEL rule of the CRD counts the stored bytes themselves, so the API
  server refuses what does not fit, whoever writes it. It looks only at what a write changes, for counting costs a
  millisecond for 64 KiB, and progress is written often.
* the arguments: a CEL rule counts their plain UTF-8 bytes, for that is what an annotation and a Secret count. Their
  worst case, six times that, is in the sum.
* the short ones: `maxLength`, with six bytes for each character in the sum.

`tests/unit/crds/test_limits.py` adds up the worst case of all maxima. Writers use `clip`, `keep_head` and `keep_tail`
with the limits below, each of which is in stored bytes unless it says otherwise: what fits a limit in stored bytes also
fits the same number as `maxLength`.
"""

import re
from typing import Final

KIB: Final = 1024

OBJECT_STORED_BYTES: Final = 1024 * KIB
"""A whole task, metadata included. Annotations that others set are theirs to bound (Kubernetes: 256 KiB of text)."""
METADATA_STORED_BYTES: Final = 64 * KIB
"""What is set aside for a task's metadata: names, labels, owners, managed fields."""
WORST_STORED_BYTES_PER_CHARACTER: Final = 6
"""The most that one character takes in an object as stored."""

ARGUMENTS_INLINE_BYTES: Final = 16 * KIB
"""Arguments in the task itself (`spec.arguments`), in plain UTF-8 bytes. Larger ones go to a Secret."""
ARGUMENTS_BYTES: Final = 256 * KIB
"""Arguments at all, in plain UTF-8 bytes."""

RESULT_STORED_BYTES: Final = 256 * KIB
"""A result, be it `status.result.inline` or `status.report.result`: a task never has both."""
LARGE_RESULT_BYTES: Final = 1024 * KIB
"""A result with all parts that were added before it, in plain UTF-8 bytes. What does not fit the task is in Secrets."""
CONTENT_INLINE_STORED_BYTES: Final = RESULT_STORED_BYTES // 2
"""How much of such parts the task endpoint keeps in the task itself, so that a tool's end always finds room there."""
REFUSED_END_STORED_BYTES: Final = 512
"""Each end of a result that was too large (`status.report.tooLarge`)."""
VIOLATION_STORED_BYTES: Final = 512
"""How a result that is in a Secret breaks the tool's output schema (`status.report.resultFrom.violation`)."""
MAX_CONTENT_POSTS: Final = 128
"""How often a task's pods add parts to its result (`status.report.content`). The parts count with the result."""
CONTENT_KEY_LENGTH: Final = 16
"""Of the hash of such a post's key, in characters."""
LOG_TAIL_STORED_BYTES: Final = 64 * KIB
"""`status.logTail`."""

MAX_QUESTIONS: Final = 64
"""Questions that one task's pods ask."""
MAX_TOOL_QUESTIONS: Final = 16
"""Questions that a tool asks before its pod starts."""
MAX_ANSWERS: Final = MAX_QUESTIONS + MAX_TOOL_QUESTIONS
"""Answers of one task."""
QUESTION_KEY_LENGTH: Final = 64
"""Of a question's key, in characters."""
QUESTION_KEY_PATTERN: Final = rf"^[A-Za-z0-9_.-]{{1,{QUESTION_KEY_LENGTH}}}$"
"""A question's key; ASCII without escapes, for it stands in the managed fields too."""
QUESTION_MESSAGE_STORED_BYTES: Final = 4 * KIB
"""One question's message."""
QUESTION_SCHEMA_STORED_BYTES: Final = 16 * KIB
"""One question's form schema."""
QUESTIONS_STORED_BYTES: Final = 48 * KIB
"""The messages and schemas of all questions that a task's pods ask."""
TOOL_QUESTIONS_STORED_BYTES: Final = 32 * KIB
"""All questions that a tool asks before its pod starts: messages, schemas (as JSON text) and who approves."""
MAX_APPROVERS: Final = 16
"""Users, and groups, that may answer one question of a tool."""
APPROVER_LENGTH: Final = 256
"""Of an approver's name, in characters."""
ANSWER_STORED_BYTES: Final = 16 * KIB
"""One answer."""
ANSWERS_STORED_BYTES: Final = 64 * KIB
"""All answers of a task, the names of those who gave them, and their reasons."""
ANSWER_REASON_LENGTH: Final = 1024
"""Of the reason that somebody gives for an answer, in characters."""
MAX_ASKINGS: Final = 8
"""How often a question is asked, each time under a new key, because an answer was not what it asks for."""
ANSWERER_SEEN_STORED_BYTES: Final = 96
"""`status.answers[].by`: who answered, cut. Whole it is in `spec.answers`."""
ANSWERS_SEEN_STORED_BYTES: Final = 12_800
"""All texts of `status.answers`: more than the operator ever writes, for each of them is cut."""

CALLER_STORED_BYTES: Final = 512
"""The name of a caller or of somebody who answers."""
MESSAGE_STORED_BYTES: Final = 4 * KIB
"""`status.message` and `status.error.message`."""
CONDITION_MESSAGE_STORED_BYTES: Final = 256
"""`status.conditions[].message`, which is `status.message` cut short: the same is not kept twice at length."""
PROGRESS_MESSAGE_STORED_BYTES: Final = 1 * KIB
"""`status.report.progress.message`."""
PROGRESS_DISPLAY_STORED_BYTES: Final = 64
"""`status.report.progress.display`."""
PROGRESS_TOKEN_STORED_BYTES: Final = 256
"""`spec.progressToken`."""

_QUESTION_KEY: Final = re.compile(QUESTION_KEY_PATTERN.strip("^$"))
_TWO_BYTES: Final = b'"\\\b\f\n\r\t'
_SIX_BYTES: Final = bytes(set(range(0x20)) - set(_TWO_BYTES)) + b"<>&"
_LINE_SEPARATORS: Final = ("\u2028".encode(), "\u2029".encode())

_ELLIPSIS: Final = "\u2026"


def is_question_key(text: str) -> bool:
    """Whether a question may have that key."""
    return _QUESTION_KEY.fullmatch(text) is not None


def stored_bytes(text: str) -> int:
    r"""How many bytes a text takes inside an object as the API server stores it, its two quotes aside.

    Kubernetes 1.30 and later; older ones are built with a Go that writes backspace and form feed as six bytes too.
    A lone surrogate counts as the replacement character that the API server makes of it.

    >>> [stored_bytes(text) for text in ("plain", "<", chr(34), "\n", "\N{GRINNING FACE}")]
    [5, 6, 2, 2, 4]
    """
    raw = text.encode("utf-8", "surrogatepass")
    doubled = len(raw) - len(raw.translate(None, _TWO_BYTES))
    escaped = len(raw) - len(raw.translate(None, _SIX_BYTES))
    separators = sum(raw.count(separator) for separator in _LINE_SEPARATORS)
    return len(raw) + doubled + 5 * escaped + 3 * separators


def keep_head(text: str, max_stored: int) -> str:
    """The longest beginning of the text that takes at most `max_stored` stored bytes."""
    candidate = text[:max_stored]  # a character takes at least one byte
    low, high = 0, len(candidate)
    while low < high:
        middle = (low + high + 1) // 2
        if stored_bytes(candidate[:middle]) <= max_stored:
            low = middle
        else:
            high = middle - 1
    return candidate[:low]


def keep_tail(text: str, max_stored: int) -> str:
    """The longest end of the text that takes at most `max_stored` stored bytes."""
    candidate = text[max(0, len(text) - max_stored) :]
    low, high = 0, len(candidate)
    while low < high:
        middle = (low + high) // 2
        if stored_bytes(candidate[middle:]) <= max_stored:
            high = middle
        else:
            low = middle + 1
    return candidate[low:]


def clip(text: str, max_stored: int) -> str:
    """The text itself where it fits, else its beginning and an ellipsis: for what people read.

    >>> clip("a long message", 9)
    'a long\u2026'
    """
    if stored_bytes(text) <= max_stored:
        return text
    return keep_head(text, max_stored - stored_bytes(_ELLIPSIS)) + _ELLIPSIS
