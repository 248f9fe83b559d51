"""Asks each of the URLs it is given, all at once, and prints what came of each: an HTTP status, or what failed."""

import json
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

SECONDS = 4.0
"""A first packet that is dropped is sent again after one second, and after three."""


def asked(url: str) -> str:
    """Whatever the answer is, somebody was there to give it."""
    try:
        with urllib.request.urlopen(url, timeout=SECONDS) as answer:
            return f"HTTP {answer.status}"
    except urllib.error.HTTPError as error:
        return f"HTTP {error.code}"
    except OSError as error:
        return str(getattr(error, "reason", error))


if __name__ == "__main__":
    with ThreadPoolExecutor(max_workers=16) as threads:
        came = dict(zip(sys.argv[1:], threads.map(asked, sys.argv[1:]), strict=True))
    sys.stdout.write(json.dumps(came))
