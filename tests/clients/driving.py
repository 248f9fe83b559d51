"""What the drivers in Python share: run the cases that the command line names, at once, and print what was seen.

It runs in the clients' own environments, so it needs nothing but the standard library.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Case = Callable[[str], Awaitable[dict[str, Any]]]
"""Given the server's URL, does one thing with the client and says what the client saw."""


def drive(cases: Mapping[str, Case]) -> None:
    """Run the cases `URL CASE...` of the command line; one that raises is shown as what it raised."""
    url, *names = sys.argv[1:]
    print(json.dumps(asyncio.run(_all(url, {name: cases[name] for name in names}))))


async def _all(url: str, cases: Mapping[str, Case]) -> dict[str, Any]:
    seen = await asyncio.gather(*(_one(url, case) for case in cases.values()))
    return dict(zip(cases, seen, strict=True))


async def _one(url: str, case: Case) -> dict[str, Any]:
    try:
        return await case(url)
    except Exception as error:  # noqa: BLE001  # whatever a client raises is what is to be seen
        return {"raised": _words(error)}


def _words(error: BaseException) -> str:
    """An error's type and text; a group's are those of what is in it."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_words(each) for each in error.exceptions)
    return f"{type(error).__name__}: {error}"
