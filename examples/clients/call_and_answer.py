"""An MCP client that can put questions before a person: it calls a tool, and answers what is asked.

    python examples/clients/call_and_answer.py deploy-shop version=1.2 --accept approve approved:=true

A question that no `--accept` or `--decline` names is left to others: the client goes on waiting for the task.
The server is $MCPTASKS_SERVER; the result is printed as JSON.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from mcptasks import InputRequired, InputRequiredTask, TaskHandle, TasksClient, ToolResult
from mcptasks.cli.arguments import arguments_from
from mcptasks.models import CompletedTask, Task


async def main(options: argparse.Namespace) -> int:
    """Call, and answer."""
    answers = {
        key: {"action": "accept", "content": json.loads(arguments_from(fields))} for key, *fields in options.accept
    }
    answers |= {key: {"action": "decline"} for key in options.decline}
    server = os.environ.get("MCPTASKS_SERVER", "http://127.0.0.1:8080/mcp")
    async with TasksClient(server, capabilities={"elicitation": {}}) as client:
        called = await client.call_tool(options.tool, arguments_from(options.argument))
        match called:
            case TaskHandle():
                return show(await ended(called, answers))
            case ToolResult():
                print(called.text)
                return 1 if called.is_error else 0
            case InputRequired():
                print(f"asked before there is a task: {called.input_requests}", file=sys.stderr)
                return 4


async def ended(handle: TaskHandle, answers: dict[str, Any]) -> Task:
    """The task once it is over, its questions answered as they come."""
    said: set[str] = set()

    def tell(task: Task) -> None:
        line = f"{handle.id} {task.status}: {task.status_message or ''}"
        if line not in said:
            print(line, file=sys.stderr, flush=True)
            said.add(line)

    while True:
        task = await handle.wait(on_update=tell)
        if not isinstance(task, InputRequiredTask):
            return task
        asked = {key: request["params"]["message"] for key, request in task.input_requests.items()}
        given = {key: answers[key] for key in asked if key in answers}
        for key, message in asked.items():
            print(f"? {message}  {json.dumps(given[key]) if key in given else 'left to others'}", file=sys.stderr)
        if given:
            await handle.answer(given)
        else:
            await asyncio.sleep(1)


def show(task: Task) -> int:
    """Print how it ended; the exit code."""
    if not isinstance(task, CompletedTask):
        return 3
    structured = task.result.structured_content
    print(task.result.text if structured is None else json.dumps(structured))
    return 1 if task.result.is_error else 0


def read(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Call a tool and answer what it asks.")
    parser.add_argument("tool")
    parser.add_argument("argument", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--accept", nargs="+", action="append", default=[], metavar=("KEY", "NAME:=VALUE"))
    parser.add_argument("--decline", action="append", default=[], metavar="KEY")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(read())))
