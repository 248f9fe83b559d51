"""A result without the task endpoint: by `$MCPTASK_RESULT`, else by the log (docs/tools.md)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from .errors import NoEndpointError

RESULT_FILE_BYTES: Final = 4096
"""What `$MCPTASK_RESULT` holds in a pod of up to three containers."""


def write_result(result: Mapping[str, Any], file: Path | None) -> None:
    """Write a result where the operator looks for one.

    What the file cannot hold is printed, as the last line: the log's end is the next best place.

    Raises:
        NoEndpointError: it has parts that only the task endpoint takes.
    """
    raw = _as_text(result).encode("utf-8", "replace")
    if file is None or len(raw) > RESULT_FILE_BYTES:
        print(raw.decode(), flush=True)
    else:
        # Opened to be written into, not replaced: it is a mount of its own.
        file.write_bytes(raw)


def _as_text(result: Mapping[str, Any]) -> str:
    if "structuredContent" in result:
        return json.dumps(result["structuredContent"], ensure_ascii=False, allow_nan=False)
    kinds = sorted({part["type"] for part in result["content"]} - {"text"})
    if kinds:
        raise NoEndpointError(f"a result with {', '.join(kinds)} needs the task endpoint, and $MCPTASK_URL is not set")
    return "\n".join(part["text"] for part in result["content"])
