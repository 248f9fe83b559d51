"""What is remembered of a cluster between two runs of this tool."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

ProviderName = Literal["context", "kind", "local"]
Size = Literal["light", "full"]


@dataclass(frozen=True, kw_only=True)
class Record:
    """Written by ``up`` before anything is started, so that ``down`` knows what to look for after a crash."""

    name: str
    provider: ProviderName
    size: Size
    port: int = 0
    """Of the API server on loopback; the local provider's."""

    def write(self, path: Path) -> None:
        """Whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".new")
        unfinished.write_text(json.dumps(asdict(self)))
        unfinished.replace(path)


def read_record(path: Path) -> Record | None:
    """The reverse; None where there is none."""
    if not path.exists():
        return None
    return Record(**json.loads(path.read_text()))
