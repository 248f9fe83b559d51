"""Summarises a CSV table of any size in one pass and bounded memory: rows, columns, the largest groups, what is dirty.

    python summarize_table.py FILE

The tool `summarize-table`: its arguments come as `ARG_GROUP_BY`, `ARG_SUM` and `ARG_TOP`; the summary is written as
JSON to `$MCPTASK_RESULT`, which holds 4096 bytes, so the summary is made to fit.
"""

import csv
import json
import os
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, Final

BATCH_ROWS: Final = 20_000
SAMPLE_ROWS: Final = 1000
"""What a column holds is told from its first rows."""
MOST_DISTINCT: Final = 1000
"""Beyond this a column's values are not counted one by one."""
MOST_GROUPS: Final = 10_000
MOST_COLUMNS: Final = 16
LONGEST_NAME: Final = 40
RESULT_BYTES: Final = 4096
"""Kubernetes keeps no more of a termination message."""


class UnusableError(Exception):
    """The table, or what is asked of it, makes no sense."""


@dataclass(kw_only=True)
class Column:
    """What is known of a column so far."""

    name: str
    kind: str
    empty: int = 0
    unreadable: int = 0
    least: Any = None
    greatest: Any = None
    total: float = 0.0
    numbers: int = 0
    values: set[str] | None = field(default_factory=set)
    """The distinct values; None where there are too many."""

    def take(self, cells: tuple[str, ...]) -> None:
        """Take in the cells of a batch."""
        filled = [cell for cell in cells if cell] if "" in cells else cells
        self.empty += len(cells) - len(filled)
        read: list[Any] = list(filled)
        if self.kind != "text":
            read = [value for cell in filled if (value := READERS[self.kind](cell)) is not None]
        self.unreadable += len(filled) - len(read)
        if read:
            self.least = min(read if self.least is None else [self.least, *read])
            self.greatest = max(read if self.greatest is None else [self.greatest, *read])
        if self.kind == "number":
            self.numbers += len(read)
            self.total += sum(read)
        if self.values is not None:
            self.values.update(filled)
            if len(self.values) > MOST_DISTINCT:
                self.values = None

    def summary(self) -> dict[str, Any]:
        """The column as the tool gives it."""
        found: dict[str, Any] = {"name": self.name[:LONGEST_NAME], "kind": self.kind, "empty": self.empty}
        if self.unreadable:
            found["unreadable"] = self.unreadable
        if self.values is not None:
            found["distinct"] = len(self.values)
        if self.least is not None and self.kind != "text":
            found |= {"min": _plain(self.least), "max": _plain(self.greatest)}
        if self.numbers:
            found["mean"] = round(self.total / self.numbers, 4)
        return found


def read_number(cell: str) -> float | None:
    """The cell's number, if it holds one."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if isfinite(value) else None


def read_date(cell: str) -> str | None:
    """The cell's date, if it holds one. Dates in ISO 8601 sort as text."""
    try:
        date.fromisoformat(cell)
    except ValueError:
        return None
    return cell


READERS: Final = {"number": read_number, "date": read_date}


def kind_of(cells: Iterable[str]) -> str:
    """What a column holds: the kind that nine out of ten of its filled cells can be read as."""
    filled = [cell for cell in cells if cell]
    for kind, read in READERS.items():
        if filled and sum(read(cell) is not None for cell in filled) >= 0.9 * len(filled):
            return kind
    return "text"


def summarize(path: Path, *, group_by: str, sum_of: str, top: int) -> dict[str, Any]:
    """The summary of a table.

    Args:
        path: the table, with a header.
        group_by: the column whose values make the groups.
        sum_of: the column that is added up for each group.
        top: how many groups to give, the ones with the greatest sum first.

    Raises:
        UnusableError: the table has no header, not these columns, or too many groups.
    """
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        reader = csv.reader(file)
        header = next(reader, None)
        if not header:
            raise UnusableError(f"{path} has no header")
        key, addend = _position(header, group_by), _position(header, sum_of)
        columns: list[Column] = []
        counts: Counter[str] = Counter()
        sums: defaultdict[str, float] = defaultdict(float)
        rows = misshapen = 0
        for batch in _batches(reader):
            whole = [row for row in batch if len(row) == len(header)]
            rows += len(batch)
            misshapen += len(batch) - len(whole)
            cells = list(zip(*whole, strict=True)) or [()] * len(header)
            if not columns:
                kinds = (kind_of(islice(column, SAMPLE_ROWS)) for column in cells)
                columns = [Column(name=name, kind=kind) for name, kind in zip(header, kinds, strict=True)]
            for column, taken in zip(columns, cells, strict=True):
                column.take(taken)
            counts.update(cells[key])
            for group, cell in zip(cells[key], cells[addend], strict=True):
                sums[group] += read_number(cell) or 0.0
            if len(counts) > MOST_GROUPS:
                raise UnusableError(f"{group_by} has more than {MOST_GROUPS} values; it makes no groups")
    groups = [
        {"value": group[:LONGEST_NAME], "rows": counts[group], "sum": round(total, 2)}
        for group, total in sorted(sums.items(), key=lambda item: (-item[1], item[0]))[:top]
    ]
    return {
        "rows": rows,
        "bytes": path.stat().st_size,
        "misshapenRows": misshapen,
        "columns": [column.summary() for column in columns[:MOST_COLUMNS]],
        "groupBy": group_by,
        "sumOf": sum_of,
        "groupsInAll": len(counts),
        "groups": groups,
    }


def fitting(summary: dict[str, Any]) -> str:
    """The summary as JSON that fits into the result: the smallest groups are left out, then the last columns."""
    kept = {**summary, "groups": list(summary["groups"]), "columns": list(summary["columns"])}
    while len(_compact(kept).encode()) > RESULT_BYTES:
        (kept["groups"] or kept["columns"]).pop()
    return _compact(kept)


def _compact(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _batches(reader: Iterator[list[str]]) -> Iterator[list[list[str]]]:
    while batch := list(islice(reader, BATCH_ROWS)):
        yield batch


def _position(header: list[str], name: str) -> int:
    if name not in header:
        raise UnusableError(f"there is no column {name!r}; the table has {', '.join(header)}")
    return header.index(name)


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def main(arguments: list[str]) -> None:
    """Summarise the table and hand in the result."""
    # A cancelled task ends at once: the first process of a container has no default for SIGTERM.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(128 + signal.SIGTERM))
    result = Path(os.environ["MCPTASK_RESULT"])
    path = Path(arguments[0])
    started = time.perf_counter()
    try:
        summary = summarize(
            path,
            group_by=os.environ["ARG_GROUP_BY"],
            sum_of=os.environ["ARG_SUM"],
            top=int(os.environ["ARG_TOP"]),
        )
    except UnusableError as error:
        result.write_text(str(error)[:RESULT_BYTES])
        sys.exit(1)
    result.write_text(fitting(summary), encoding="utf-8")
    print(f"{summary['rows']} rows, {summary['bytes'] / 1e6:.1f} MB in {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
