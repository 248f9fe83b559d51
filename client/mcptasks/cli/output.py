"""What goes to standard output: the result and nothing else. Why there is none goes to standard error."""

import json
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from mcptasks.job.results import TWIN_TOO_LARGE
from mcptasks.logs import TaskLog
from mcptasks.models import (
    CancelledTask,
    CompletedTask,
    FailedTask,
    InputRequired,
    InputRequiredTask,
    Task,
    Tool,
    ToolResult,
)
from mcptasks.questions import Question, questions_of

from .asked import answer_commands, document_of, lines_of, retry_words, with_commands
from .moments import shown
from .options import Output
from .pretty import pretty


class Printer:
    """Writes results to a stream."""

    def __init__(
        self,
        output: Output,
        *,
        stream: TextIO | None = None,
        errors: TextIO | None = None,
        options: Sequence[str] = (),
    ) -> None:
        """`options`: what a command needs to reach the same server, should one be shown."""
        self._output = output
        self._options = tuple(options)
        self._stream = sys.stdout if stream is None else stream
        self._errors = sys.stderr if errors is None else errors

    def result(self, result: ToolResult) -> None:
        """The result of a call that never was a task."""
        if self._output is Output.JSON:
            self._json({"status": "completed", "result": result.document()})
        else:
            self._text(text_of(result))

    def outcome(self, task: Task) -> None:
        """How a task ended. As text, that is its result, or on the other stream why it has none; as JSON, the task."""
        if self._output is Output.JSON:
            self._json(task.document())
        elif isinstance(task, CompletedTask):
            self._text(text_of(task.result))
        elif isinstance(task, FailedTask):
            print(f"mcptasks: {task.task_id} failed: {printable(task.error.message)}", file=self._errors)
        elif isinstance(task, CancelledTask):
            print(f"mcptasks: {task.task_id} was cancelled", file=self._errors)

    def asked(self, task: InputRequiredTask, *, notes: Iterable[str] = ()) -> None:
        """A task that needs answers. As text: its id, and on the other stream its questions; as JSON, the task."""
        questions = questions_of(task)
        commands = {key: answer_commands(each, task.task_id, options=self._options) for key, each in questions.items()}
        if self._output is Output.JSON:
            self._json(with_commands(task.document(), {key: first for key, (first, *_) in commands.items()}))
        else:
            self._line(task.task_id)
            self._stream.flush()  # where both streams are one, what belongs first comes first
            self._complain(f"mcptasks: {task.task_id} needs an answer:")
            self._complain(*(line for key, each in questions.items() for line in lines_of(each, commands[key])))
        self._complain(*self._strange(task), *notes)

    def asked_first(self, tool: str, asking: InputRequired, *, notes: Iterable[str] = ()) -> None:
        """What a tool asks before anything is started."""
        questions = questions_of(asking)
        words = {key: retry_words(each) for key, each in questions.items()}
        call = shlex.join(["mcptasks", "call", *self._options, tool])
        if self._output is Output.JSON:
            shown = {key: f"{call} {first}" for key, (first, *_) in words.items()}
            self._json(with_commands(asking.document(), shown))
        else:
            self._complain(f"mcptasks: {tool} asks before it starts; repeat the call with the answers:")
            for key, each in questions.items():
                self._complain(*lines_of(each, [f"{call} ... {word}" for word in words[key]]))
        self._complain(*self._strange(asking), *notes)

    def questions(self, task_id: str, questions: Sequence[Question]) -> None:
        """The open questions of a task, with the commands that answer them."""
        commands = {each.key: answer_commands(each, task_id, options=self._options) for each in questions}
        if self._output is Output.JSON:
            found = {each.key: document_of(each, commands[each.key]) for each in questions}
            self._json({"taskId": task_id, "questions": found})
            return
        for each in questions:
            for line in lines_of(each, commands[each.key]):
                self._line(line)

    def answered(self, task_id: str, key: str, action: str) -> None:
        """An answer that was given: one JSON document, or nothing."""
        if self._output is Output.JSON:
            self._json({"taskId": task_id, "key": key, "action": action})

    def approvals(self, found: Sequence[Mapping[str, Any]]) -> None:
        """What waits for approvers, as a table."""
        if self._output is Output.JSON:
            self._json(list(found))
            return
        cells = [[_cell(value) for value in row.values()] for row in found]
        table = [[name.upper() for name in found[0]], *cells] if found else []
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for row in table:
            self._line("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

    def task(self, task: Task) -> None:
        """A task as it is now."""
        if self._output is Output.JSON:
            self._json(task.document())
            return
        fields: dict[str, object] = {"task": task.task_id, "status": str(task.status)}
        if task.status_message:
            fields["message"] = task.status_message
        fields["created"] = shown(task.created_at)
        fields["updated"] = shown(task.last_updated_at)
        fields["kept for"] = "ever" if task.ttl_ms is None else f"{task.ttl_ms / 1000:g} s from its creation"
        for name, value in fields.items():
            self._line(f"{name + ':':<10} {value}")
        if isinstance(task, InputRequiredTask):
            self.questions(task.task_id, list(questions_of(task).values()))

    def log(self, task_id: str, log: TaskLog) -> None:
        """What a task has printed, and nothing where there is nothing."""
        if self._output is Output.JSON:
            self._json(
                {"taskId": task_id, "source": log.source, "isWhole": log.is_whole, "note": log.note, "text": log.text}
            )
        elif log.text:
            self._line(log.text.removesuffix("\n"))

    def handle(self, task_id: str) -> None:
        """The id of a task that goes on."""
        if self._output is Output.JSON:
            self._json({"taskId": task_id, "status": "working"})
        else:
            self._line(task_id)

    def tools(self, tools: Iterable[Tool]) -> None:
        """The tools, one after the other, with their arguments."""
        if self._output is Output.JSON:
            self._json([tool.document() for tool in tools])
            return
        for tool in tools:
            self._line(f"{tool.name}  {_first_line(tool.title or tool.description or '')}".rstrip())
            for line in _parameters(tool.input_schema):
                self._line(f"    {line}")

    def _complain(self, *lines: str) -> None:
        for line in lines:
            print(printable(line), file=self._errors)

    def _strange(self, asking: InputRequired | InputRequiredTask) -> list[str]:
        """What is said of requests that are no forms."""
        known = questions_of(asking)
        return [f"{key}: a request that this client cannot answer" for key in asking.input_requests if key not in known]

    def _json(self, document: Any) -> None:
        is_utf8 = (self._stream.encoding or "").lower().replace("-", "") == "utf8"
        # Half a character (a lone surrogate) can be written as an escape alone.
        text = json.dumps(document, indent=2, ensure_ascii=not is_utf8)
        self._stream.write(text.encode("utf-8", "backslashreplace").decode() + "\n")

    def _text(self, text: str) -> None:
        """A result's text; the end of its last line is there once, whether the tool has written it or not."""
        self._line(text.removesuffix("\n"))

    def _line(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        text = text.encode(encoding, "backslashreplace").decode(encoding)
        # A tool's text must not be able to rewrite the terminal's screen.
        self._stream.write((printable(text) if self._stream.isatty() else text) + "\n")


def text_of(result: ToolResult) -> str:
    """The result for people: its text, with a word in place of what is none. A structure is laid out for reading."""
    text = "\n".join(_block(block) for block in result.content)
    if result.structured_content is None:
        return text
    if not text or _is_json_of(text, result.structured_content):
        return pretty(result.structured_content)
    before, notice, after = text.partition(TWIN_TOO_LARGE)
    return f"{before}{pretty(result.structured_content)}{after}" if notice else text


def printable(text: str) -> str:
    """The text with control characters (line breaks and tabs aside) written out.

    >>> printable("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    return "".join(
        character if character.isprintable() or character in "\n\t" else repr(character)[1:-1] for character in text
    )


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else _first_line(str(value))


def _is_json_of(text: str, value: Any) -> bool:
    """Whether the text is only the structure once more, as the protocol recommends for older clients."""
    try:
        return bool(json.loads(text) == value)
    except (ValueError, RecursionError):
        return False


def _block(block: Mapping[str, Any]) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": "resource_link", "uri": str(uri)}:
            return uri
        case _:
            return f"[{block.get('type', 'unknown')} {block.get('mimeType', '')}".rstrip() + "]"


def _parameters(schema: Mapping[str, Any]) -> Iterable[str]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return
    required = schema.get("required", ())
    for name, part in properties.items():
        if not isinstance(part, Mapping):
            continue
        kind = (
            "one of " + ", ".join(map(str, part["enum"]))
            if isinstance(part.get("enum"), list)
            else str(part.get("type", "any"))
        )
        notes = ["required"] if name in required else []
        notes += [f"default {json.dumps(part['default'])}"] if "default" in part else []
        about = _first_line(str(part.get("description", "")))
        yield f"{name}: {kind}" + (f" ({', '.join(notes)})" if notes else "") + (f"  {about}" if about else "")


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
