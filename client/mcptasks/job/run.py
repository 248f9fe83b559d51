"""Runs a tool on your own machine, without a cluster: `python -m mcptasks.job.run tool.py --arg name=value`.

A stand-in for the task endpoint listens on a loopback port; questions are asked on the terminal or answered from a
file; the result is printed as the client would get it. What the tool prints goes to standard error.
Ctrl-C cancels the task.

Exit codes: 0 a result, 1 a tool error, 2 a wrong command line, 3 cancelled.
"""

import argparse
import json
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .standin.answerbook import WrongAnswerError, find_answer
from .standin.desk import Desk, Question
from .standin.inputs import InputError, argument_variables, arguments_from, schemas_from
from .standin.outcome import checked, result_of_end
from .standin.program import Program, command_of
from .standin.server import StandIn
from .standin.terminal import ask

TASK_ID = "mt-on-your-own-machine"
POLL_SECONDS = 0.05


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; the exit code."""
    options = _options(arguments)
    try:
        input_schema, output_schema = ({}, None) if options.schema is None else schemas_from(_read(options.schema))
        document = None if options.arguments is None else options.arguments.read_text("utf-8")
        given = arguments_from(options.arg, document=document, schema=input_schema)
        book = {} if options.answers is None else _read(options.answers)
        if not isinstance(book, Mapping):
            raise InputError(f"{options.answers}: must be a JSON object")
    except (InputError, OSError, ValueError) as error:
        _show(f"mcptasks.job.run: {error}")
        return 2
    asker = _Asker(book)
    desk = Desk(
        task_id=TASK_ID,
        tool=Path(options.program).stem,
        arguments=json.dumps(given, ensure_ascii=False),
        answers=asker,
        told=_show_progress,
    )
    with TemporaryDirectory(prefix="mcptask-") as directory:
        variables = argument_variables(input_schema, given)
        return _run(desk, Path(directory), command_of(options.program, options.rest), variables, output_schema)


def _run(
    desk: Desk,
    directory: Path,
    command: Sequence[str],
    variables: Mapping[str, str],
    output_schema: Mapping[str, Any] | None,
) -> int:
    files = {name: directory / f"{name}.json" for name in ("arguments", "answers")}
    desk.arguments_file, result_file = str(files["arguments"]), directory / "result"
    stand_in = StandIn(desk, directory=directory)
    with stand_in.serving():
        task = desk.handle("GET", f"/v1/tasks/{TASK_ID}", {"authorization": f"Bearer {desk.token}"}, b"")
        files["arguments"].write_text(json.dumps(json.loads(task.body)["arguments"], ensure_ascii=False), "utf-8")
        files["answers"].write_text("{}")
        result_file.touch()
        environment = {f"MCPTASK_{name.upper()}": str(path) for name, path in files.items()}
        environment |= {"MCPTASK_RESULT": str(result_file), **variables, **stand_in.environment()}
        try:
            program = Program(command, environment=environment)
        except OSError as error:
            _show(f"mcptasks.job.run: {error}")
            return 2
        code = _ended(program, desk)
    result = desk.whole_result
    if result is None and desk.is_cancelled:
        _show("cancelled")
        return 3
    if result is None:
        said = result_file.read_text("utf-8", "replace")
        result = result_of_end(code=code, file=said, log=program.log(), output_schema=output_schema)
        result = {**result, "content": [*desk.parts, *result["content"]]}
    result = checked(result, output_schema)
    print(json.dumps(result, ensure_ascii=False, indent=2), flush=True)
    return 1 if result.get("isError") is True else 0


def _ended(program: Program, desk: Desk) -> int:
    """The program's exit code; it is stopped where its task is cancelled (Ctrl-C), or has its result."""
    try:
        while (code := program.wait(POLL_SECONDS)) is None:
            if desk.whole_result is not None:
                return program.stop()
    except KeyboardInterrupt:
        desk.cancel()
        return program.stop()
    return code


class _Asker:
    """Finds answers: those that are written down, then the terminal's."""

    def __init__(self, book: Mapping[str, Any]) -> None:
        self._book = book
        self._one_at_a_time = threading.Lock()

    def __call__(self, question: Question) -> dict[str, Any]:
        """The answer."""
        try:
            found = find_answer(self._book, question)
        except WrongAnswerError as error:
            _show(f"mcptasks.job.run: {error}")
            return {"action": "cancel"}
        if found is not None:
            _show(f"? {question.message}\n  {json.dumps(found, ensure_ascii=False)}")
            return found
        with self._one_at_a_time:
            return ask(question, read=_read_line, show=_show, is_typed=sys.stdin.isatty())


def _read_line(prompt: str) -> str:
    print(prompt, end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line


def _show_progress(progress: Mapping[str, Any]) -> None:
    total = f" of {progress['total']:g}" if progress.get("total") is not None else ""
    _show(f"[{progress['progress']:g}{total}] {progress.get('message') or ''}".rstrip())


def _show(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _read(path: Path) -> Any:
    text = path.read_text("utf-8")
    if path.suffix not in (".yaml", ".yml"):
        return json.loads(text)
    try:
        import yaml  # noqa: PLC0415  # only who gives a YAML file needs it
    except ImportError as error:
        raise InputError(f"{path}: reading YAML takes PyYAML (pip install PyYAML); or give it as JSON") from error
    return yaml.safe_load(text)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m mcptasks.job.run",
        description="Run a tool on this machine, without a cluster.",
        epilog="What stands after -- is the program's own command line.",
    )
    parser.add_argument("program", help="the tool's program; .py and .sh files are run by Python and sh")
    parser.add_argument("--arg", action="append", default=[], metavar="NAME=TEXT", help="an argument; NAME:=JSON too")
    parser.add_argument("--arguments", type=Path, metavar="FILE", help="a JSON file with all of them")
    parser.add_argument(
        "--answers", type=Path, metavar="FILE", help="a JSON file: answers by a question's key or words"
    )
    parser.add_argument(
        "--schema", type=Path, metavar="FILE", help="the inputSchema, or a whole McpTool (JSON or YAML)"
    )
    given = list(sys.argv[1:] if arguments is None else arguments)
    own = given.index("--") if "--" in given else len(given)
    options = parser.parse_args(given[:own])
    options.rest = given[own + 1 :]
    return options


if __name__ == "__main__":
    sys.exit(main())
