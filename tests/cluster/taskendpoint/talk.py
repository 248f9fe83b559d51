"""A tool that talks to the task endpoint with nothing but the standard library: what its argument says."""

import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request
from typing import Any

URL = os.environ["MCPTASK_URL"]
FORM = {"type": "object", "properties": {"go": {"type": "boolean"}}, "required": ["go"]}


def say(method: str, path: str, body: object = None, *, url: str = URL, **headers: str) -> tuple[int, Any]:
    """One request, repeated as long as the endpoint is away or asks for patience."""
    while True:
        with open(os.environ["MCPTASK_TOKEN_FILE"]) as file:
            token = file.read()
        sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url + path, data=data, method=method, headers=sent)
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                return answer.status, json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            if error.code in (429, 503):
                time.sleep(float(error.headers.get("Retry-After", "1")))
                continue
            return error.code, json.loads(error.read() or b"{}")
        except OSError:
            time.sleep(0.2)


def ask(key: str, **more: object) -> Any:
    """Ask, and wait until somebody answers."""
    say("PUT", f"/questions/{key}", {"message": "Go on?", "requestedSchema": FORM, **more})
    while True:
        status, body = say("GET", f"/questions/{key}?wait=30")
        if status != 202:
            return body


def text(words: object) -> dict[str, str]:
    """One part of a result."""
    return {"type": "text", "text": words if isinstance(words, str) else json.dumps(words)}


def work(steps: int) -> None:
    """Tell how far it is, asked once in the middle."""
    for step in range(steps):
        say("PUT", "/progress", {"progress": step, "total": steps, "message": f"step {step}"})
        time.sleep(0.4)
    answer = ask("go")
    say("POST", "/content", {"content": [text("first")]}, **{"Idempotency-Key": "first"})
    say("PUT", "/result", {"content": [text(answer["answer"])], "structuredContent": {"n": 1.0}})


def linger() -> None:
    """Give a result, and do not end by itself."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    say("PUT", "/result", {"content": [text("given")]})
    time.sleep(600)


def expire() -> None:
    """Ask what nobody answers."""
    answer = ask("never", expirySeconds=2)
    say("PUT", "/result", {"content": [text(answer)]})


def lie() -> None:
    """Speak for another task, with the token of this one."""
    other = URL.rpartition("/")[0] + "/mt-" + "a" * 32
    said = [say("GET", "", url=other)[0], say("PUT", "/progress", {"progress": 1}, url=other)[0]]
    rights = os.path.exists("/var/run/secrets/kubernetes.io/serviceaccount/token")
    say("PUT", "/result", {"content": [text([said, rights])]})


def level_one() -> None:
    """Add a part over HTTP, and give the result as a file."""
    say("POST", "/content", {"content": [text("first")]})
    with open(os.environ["MCPTASK_RESULT"], "w") as file:
        file.write("second")


def flood() -> None:
    """Report as fast as it goes, for a while."""
    until, number = time.monotonic() + 4, 0
    while time.monotonic() < until:
        number += 1
        say("PUT", "/progress", {"progress": number})
    say("PUT", "/result", {"content": [text(str(number))]})


def large(size: int, *, exit_code: int) -> None:
    """Give a result of about that size; where it is refused, say why and end."""
    sys.stdout.write("on it\n")
    sys.stdout.flush()
    result = {"content": [text("begin" + "x" * size + "end")], "structuredContent": {"size": size}}
    status, body = say("PUT", "/result", result)
    if status != 204:
        sys.stdout.write(f"{body['detail']}\n")
        sys.exit(exit_code)


def read() -> None:
    """Tell what the task is."""
    say("PUT", "/result", {"content": [text(say("GET", "")[1])]})


JOBS = {
    "work": lambda: work(int(os.environ["ARG_STEPS"])),
    "linger": linger,
    "expire": expire,
    "lie": lie,
    "level_one": level_one,
    "flood": flood,
    "large": lambda: large(int(os.environ["ARG_STEPS"]), exit_code=22),
    "careless": lambda: large(int(os.environ["ARG_STEPS"]), exit_code=0),
    "read": read,
}

if __name__ == "__main__":
    JOBS[sys.argv[1]]()
