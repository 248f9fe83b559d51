"""What the drivers in Python share: run the cases that the command line names, at once, and print what was seen.

It runs in the clients' own environments, so it needs nothing but the standard library.
"""

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Mapping
from typing import Any, Final, Protocol

SECONDS: Final = 120.0
"""How long a case may take."""


class Case(Protocol):
    """Given the server's URL, does one thing with the client and says what the client saw."""

    __name__: str

    def __call__(self, url: str, /) -> Awaitable[dict[str, Any]]: ...


def drive(*cases: Case) -> None:
    """Run the cases that the command line, `URL CASE...`, names; one that raises is shown as what it raised."""
    url, *names = sys.argv[1:]
    known = {case.__name__: case for case in cases}
    seen = asyncio.run(_all(url, {name: known[name] for name in names}))
    sys.stdout.write(json.dumps(seen) + "\n")


def next_call(text: str) -> tuple[str, dict[str, Any]] | None:
    """The call that a text says to make next, as a model would read it; None where it says nothing of the kind."""
    found = re.search(r"\bcall `(\w+)` with (\{.*?\})", text, re.IGNORECASE)
    return None if found is None else (found[1], json.loads(found[2]))


async def _all(url: str, cases: Mapping[str, Case]) -> dict[str, Any]:
    seen = await asyncio.gather(*(_one(url, case) for case in cases.values()))
    return dict(zip(cases, seen, strict=True))


async def _one(url: str, case: Case) -> dict[str, Any]:
    try:
        async with asyncio.timeout(SECONDS):
            return await case(url)
    except Exception as error:  # noqa: BLE001  # whatever a client raises is what is to be seen
        return {"raised": _words(error)}


def _words(error: BaseException) -> str:
    """An error's type and text; a group's are those of what is in it."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_words(each) for each in error.exceptions)
    return f"{type(error).__name__}: {error}"
