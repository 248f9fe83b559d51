"""Pods that report progress ten times a second each, as a process of its own.

Each has its own moment in the tenth of a second, as pods have that were started at different times; all at once they
would wait for each other, here and at the server. One that is late leaves a report out, and keeps its moment.

Arguments: host, port, seconds, and a file of JSON: a list of `[task, token]`. A value is the time at which it is sent,
in milliseconds of the monotonic clock, which all processes of the machine share. Prints JSON: how many were taken, and
the last value of each task.
"""

import asyncio
import json
import math
import sys
import time
from pathlib import Path
from typing import Final

import uvloop

INTERVAL_SECONDS: Final = 0.1


async def _report(where: tuple[str, int], *, task: str, token: str, due: float, until: float) -> tuple[int, float]:
    reader, writer = await asyncio.open_connection(*where)
    count, value = 0, 0.0
    while due < until:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        value = round(time.monotonic() * 1000)
        body = json.dumps({"progress": value})
        head = f"PUT /v1/tasks/{task}/progress HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        assert answer.startswith("http/1.1 202"), answer
        await reader.readexactly(int(answer.partition("content-length: ")[2].partition("\r\n")[0]))
        count += 1
        due += INTERVAL_SECONDS * max(1, math.ceil((time.monotonic() - due) / INTERVAL_SECONDS))
    writer.close()
    return count, value


async def _run(host: str, port: int, seconds: float, pods: list[tuple[str, str]]) -> None:
    began = time.monotonic()
    moments = [began + INTERVAL_SECONDS * number / len(pods) for number in range(len(pods))]
    done = await asyncio.gather(
        *(
            _report((host, port), task=task, token=token, due=due, until=began + seconds)
            for (task, token), due in zip(pods, moments, strict=True)
        )
    )
    last = {task: value for (task, _), (_, value) in zip(pods, done, strict=True)}
    print(json.dumps({"taken": sum(count for count, _ in done), "last": last}))


if __name__ == "__main__":
    uvloop.run(_run(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), json.loads(Path(sys.argv[4]).read_text())))
