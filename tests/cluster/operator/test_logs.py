"""What tools print, read from a real kubelet: never claimed to be whole, never in anybody's way."""

import asyncio
import json
from typing import Any

import pytest

from mcptasks_crds.kube import TASKS
from mcptasks_crds.limits import LOG_TAIL_STORED_BYTES, stored_bytes
from mcptasks_devcluster.holds import longest_hold
from mcptasks_operator.testing.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(240)]

PROGRAMS = {
    "100 MB in short lines": "for n in range(1_000_000): sys.stdout.write('x' * 99 + chr(10))\nprint('THE END')",
    "50 MB in one line": "for n in range(800): sys.stdout.write('x' * 65536)\nprint('THE END')",
    "bytes that are no text": "sys.stdout.buffer.write(bytes(range(256)) * 400)\nprint('THE END')",
}
TRIES = 4
"""The kubelet rotates a log at 10 MiB, at any moment, and gives out the newest file alone: what a tool printed may be
gone from under a reader. So the end must be seen once in a few tries, and something valid every time."""

MOST_SECONDS = 0.25
"""Of the CPU, for which the operator's loop may be held: other tasks wait meanwhile."""


def job(image: str, program: str) -> dict[str, Any]:
    command = ["python3", "-c", f"import sys\n{program}"]
    return {"template": {"spec": {"containers": [{"name": "tool", "image": image, "command": command}]}}}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
@pytest.mark.requirement("failures/f1-20", "failures/f2-18")
async def test_a_huge_or_strange_log_gives_a_valid_bounded_result_and_holds_up_no_other_task(
    operated: World, python_image: str, program: str
) -> None:
    await operated.tool("loud", job=job(python_image, program))
    await operated.tool("quiet", job=job(python_image, "print('hush')"))

    seen_whole_end = False
    with longest_hold() as hold:  # the operator's loop is the test's
        for _ in range(TRIES):
            loud, quiet = await operated.call("loud", arguments="{}"), await operated.call("quiet", arguments="{}")
            loud_end, quiet_end = await asyncio.gather(ended(operated, loud), ended(operated, quiet))

            text = json.loads(loud_end["result"]["inline"])["content"][0]["text"]
            assert (loud_end["phase"], loud_end["reason"]) == ("Completed", "Succeeded")
            assert stored_bytes(loud_end.get("logTail", "")) <= LOG_TAIL_STORED_BYTES
            assert "hush" in quiet_end["result"]["inline"]
            seen_whole_end = "THE END" in text[-100:]
            if seen_whole_end:
                break

    assert seen_whole_end
    assert hold.seconds < MOST_SECONDS, hold.by


async def test_nothing_printed_is_an_empty_result(operated: World, python_image: str) -> None:
    await operated.tool("silent", job=job(python_image, "pass"))

    status = await ended(operated, await operated.call("silent", arguments="{}"))

    assert (status["phase"], status["reason"]) == ("Completed", "Succeeded")
    assert json.loads(status["result"]["inline"]).get("isError") is not True


async def ended(world: World, task: str) -> dict[str, Any]:
    """The status at the end, for which a busy machine is given some time."""
    for _ in range(4):
        try:
            return await world.status(task)
        except TimeoutError:
            continue
    found = await world.kube.get(TASKS, world.namespace, task)
    raise AssertionError(f"{task} did not end: {found.get('status')}")
