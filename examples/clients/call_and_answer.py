"""An MCP client that answers what a tool asks, in a few lines: here by what stands on its command line.

    python examples/clients/call_and_answer.py deploy-shop '{"version": "1.2"}' '{"approve": {"approved": true}}'

A question that has no answer there is left to others, and the task waited for. The server is $MCPTASKS_SERVER.
"""

import asyncio
import json
import os
import sys
from typing import Any

from mcptasks import FORMS, Answering, Question, TaskHandle, TasksClient, ToolResult, call_and_answer, wait_and_answer
from mcptasks.models import CompletedTask


async def main(tool: str, arguments: str = "{}", answers: str = "{}") -> ToolResult | None:
    """The tool's result, where there is one."""
    known: dict[str, Any] = json.loads(answers)

    async def answer(question: Question, refusal: str | None) -> dict[str, Any] | None:
        if question.key not in known or refusal is not None:
            return None  # left to others; a program with a window would show question.message and question.form
        print(f"? {question.message}  {json.dumps(known[question.key])}", file=sys.stderr)
        return {"action": "accept", "content": known[question.key]}

    answering = Answering(answerer=answer, leaves=True)
    server = os.environ.get("MCPTASKS_SERVER", "http://127.0.0.1:8080/mcp")
    async with TasksClient(server, capabilities=FORMS) as client:
        called = await call_and_answer(client, tool, arguments, answering)
        if isinstance(called, TaskHandle):
            task = await wait_and_answer(called, answering)
            return task.result if isinstance(task, CompletedTask) else None
        return called if isinstance(called, ToolResult) else None


if __name__ == "__main__":
    result = asyncio.run(main(*sys.argv[1:]))
    print("no result" if result is None else result.text)
    sys.exit(result is None or result.is_error)
