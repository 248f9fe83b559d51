"""What the end of a tool's container means: its result, its error, or the platform's.

Exit code 0 is a result, any other a tool error, and so is a process that was killed for its memory. A tool error is a
completed task too: the tool ran. Only a container that never ran, and a result that was lost or is too large, are
failures of the platform.
"""

import signal
from dataclasses import replace
from typing import Final

from mcptasks_crds import limits
from mcptasks_crds.logtails import LogSeen
from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import TaskResult

from .causes import is_for_another_processor
from .decision import ReadLog
from .observation import Termination
from .situation import NEVER_RAN, Situation
from .structured import Rejected, check, last_line
from .toolarge import refused_words, with_refused
from .toolresults import fitting_tail, structured_result, text_result
from .verdicts import Ask, End, Verdict, failed

NO_OUTPUT: Final = "(no output)"
_OUT_OF_MEMORY: Final = "OOMKilled"
_EXIT_BY_SIGNAL: Final = 128
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"


def result_of(situation: Situation, end: Termination) -> Verdict:
    """The verdict on a tool that ended by itself."""
    if end.reason in NEVER_RAN:
        other = is_for_another_processor(end.message)
        reason = Reason.IMAGE_ARCHITECTURE if other else Reason.CONTAINER_CANNOT_RUN
        return failed(reason, f"the container could not be started: {end.message or end.reason}")
    if end.exit_code != 0 or end.reason == _OUT_OF_MEMORY:
        return _tool_error(situation, end)
    if end.message.strip():
        return _given(situation, end)
    return _printed(situation)


def tool_error(reason: Reason, message: str, *, said: str, log: LogSeen | None, kept: str | None = None) -> End:
    """A completed task whose result is an error: what the tool said, then what happened to it.

    What stands in the result does not stand in the log's tail once more. `kept` is the tail as an earlier look at the
    log left it, for where the log is gone by now.
    """
    message = limits.clip(message, limits.MESSAGE_STORED_BYTES)
    tail = log_tail(log) or kept
    if said:
        text = fitting_tail(said, lambda part: text_result(f"{part}\n{message}", is_error=True))
        return _completed(reason, message, text_result(f"{text}\n{message}", is_error=True), log_tail=tail)
    text = _log_text(log, ending=f"\n{message}", is_error=True, kept=kept)
    return _completed(reason, message, text, log_tail=None)


def never_ran(reason: Reason, message: str) -> End:
    """A completed task whose result is an error: the tool was not let run."""
    message = limits.clip(message, limits.MESSAGE_STORED_BYTES)
    return _completed(reason, message, text_result(message, is_error=True), log_tail=None)


def needs_log(situation: Situation) -> Ask | None:
    """The need for the log of the tool's container, as long as it was not met."""
    if situation.log is not None or situation.pod is None:
        return None
    return Ask(need=ReadLog(pod=situation.pod.name, container=situation.execution.container))


def log_tail(log: LogSeen | None) -> str | None:
    """As much of the end of the log as a task keeps."""
    if log is None or log.unreadable or not log.text:
        return None
    return limits.keep_tail(log.text, limits.LOG_TAIL_STORED_BYTES)


def _tool_error(situation: Situation, end: Termination) -> Verdict:
    said = end.message if end.message.strip() else ""
    if not said and situation.log is not None and is_for_another_processor(situation.log.text, whole=True):
        return failed(Reason.IMAGE_ARCHITECTURE, f"the container could not be started: {situation.log.text.strip()}")
    reason, message = _why(end)
    message = with_refused(situation, message)
    return needs_log(situation) or tool_error(reason, message, said=_with_cut(said, end), log=situation.log)


def _why(end: Termination) -> tuple[Reason, str]:
    number = end.signal or end.exit_code - _EXIT_BY_SIGNAL
    if end.reason == _OUT_OF_MEMORY:
        which = "the container" if end.exit_code else "a process of the container"
        return Reason.OUT_OF_MEMORY, f"{which} used more memory than its limit (exit code {end.exit_code})"
    if number in set(signal.Signals):
        return Reason.SIGNALLED, f"exit code {end.exit_code} (signal {signal.Signals(number).name})"
    return Reason.EXIT_CODE, f"exit code {end.exit_code}"


def _given(situation: Situation, end: Termination) -> Verdict:
    """The tool wrote its result to `$MCPTASK_RESULT`."""
    schema = situation.execution.output_schema
    if schema is None:
        text = fitting_tail(_with_cut(end.message, end), lambda part: text_result(part, is_error=False))
        return _completed(Reason.SUCCEEDED, "completed", text_result(text, is_error=False))
    rejected = check(end.message, schema)
    if rejected is None:
        return _structured(end.message.strip())
    cut = f"; {_cut_note(end)}" if _may_be_cut(end) else ""
    return _invalid(f"what the tool wrote to $MCPTASK_RESULT breaks its outputSchema: {rejected.why}{cut}", end.message)


def _printed(situation: Situation) -> Verdict:
    """The tool wrote no result, so what it printed is one."""
    log = situation.log
    if log is None:
        return needs_log(situation) or failed(Reason.RESULT_LOST, "the tool ended well, and its pod is gone")
    if (refused := refused_words(situation)) is not None:
        return replace(failed(Reason.RESULT_TOO_LARGE, refused), log_tail=log_tail(log))
    if log.unreadable:
        return failed(Reason.RESULT_LOST, f"the tool ended well, but its log could not be read: {log.unreadable}")
    schema = situation.execution.output_schema
    if schema is None:
        return _completed(Reason.SUCCEEDED, "completed", _log_text(log, ending="", is_error=False))
    return _printed_structure(log, schema)


def _printed_structure(log: LogSeen, schema: str) -> End:
    line = last_line(log.text)
    rejected = _unfit(log, line) or check(line, schema)
    if rejected is None:
        return _structured(line, log_tail=log_tail(log))
    return _invalid(
        "the tool wrote nothing to $MCPTASK_RESULT, and the last line that it printed breaks its outputSchema: "
        f"{rejected.why}",
        log.text,
    )


def _unfit(log: LogSeen, line: str) -> Rejected | None:
    """What keeps a log's last line from being JSON, whatever its form."""
    if not line:
        return Rejected(why="it is empty")
    if not log.is_whole and "\n" not in log.text.rstrip():
        size = len(log.text.encode("utf-8", "surrogatepass"))
        return Rejected(why=f"it is too long: only its last {size} bytes are kept")
    return None


def _structured(source: str, log_tail: str | None = None) -> End:
    result = structured_result(source)
    if result is None:
        size = len(source.encode("utf-8", "surrogatepass"))
        too_large = failed(Reason.RESULT_TOO_LARGE, f"the result of {size} bytes takes more room than a task has")
        return replace(too_large, log_tail=log_tail)
    return _completed(Reason.SUCCEEDED, "completed", result, log_tail=log_tail)


def _invalid(message: str, said: str) -> End:
    message = limits.clip(message, limits.MESSAGE_STORED_BYTES)
    text = fitting_tail(said, lambda part: text_result(f"{message}\n{part}", is_error=True))
    return _completed(Reason.OUTPUT_INVALID, message, text_result(f"{message}\n{text}", is_error=True))


def _completed(reason: Reason, message: str, result: str, log_tail: str | None = None) -> End:
    return End(
        phase=Phase.COMPLETED, reason=reason, message=message, result=TaskResult(inline=result), log_tail=log_tail
    )


def _log_text(log: LogSeen | None, *, ending: str, is_error: bool, kept: str | None = None) -> str:
    """A result that is the end of the log; it says so where it is not the whole."""
    source, is_whole = _readable(log, kept)

    def build(part: str) -> str:
        size = len(part.encode("utf-8", "surrogatepass"))
        note = "" if is_whole and part == source else f"... (only the last {size} bytes are kept)\n"
        return text_result(f"{note}{part or NO_OUTPUT}{ending}", is_error=is_error)

    return build(fitting_tail(source, build))


def _readable(log: LogSeen | None, kept: str | None) -> tuple[str, bool]:
    """What there is of the log, and whether that is all that there is to say."""
    if log is not None and not log.unreadable:
        return log.text, log.is_whole
    if kept:
        return kept, False
    return ("", True) if log is None else (f"(the log could not be read: {log.unreadable})", True)


def _may_be_cut(end: Termination) -> bool:
    # A byte that was no text has become a character of three.
    kept = len(end.message.replace(_REPLACEMENT, "?").encode("utf-8", "surrogatepass"))
    return kept >= end.message_limit


def _cut_note(end: Termination) -> str:
    return f"it may be cut: Kubernetes keeps at most {end.message_limit} bytes of it"


def _with_cut(message: str, end: Termination) -> str:
    return f"{message}\n({_cut_note(end)})" if message and _may_be_cut(end) else message
