"""Writes a large table of orders, the same bytes each time, with the dirt that real tables have.

    python make_orders.py ROWS FILE

A million rows are about 78 MB. The table is made, not shipped, so that an image need not carry it; the numbers come
from a seeded generator, so that two runs of a tool on it can be compared.

About one row in 500 is dirty: an empty or unreadable number, a decimal comma, a missing or a surplus field, a field
with commas, quotes and a line break in it, bytes that are not UTF-8. Prices have a heavy tail, categories and countries
are uneven, and orders grow over the years, as they do.
"""

import os
import random
import signal
import struct
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Final

SEED: Final = 20261129
CHUNK_ROWS: Final = 20_000
HEADER: Final = b"order_id,placed_on,customer,country,category,channel,status,quantity,unit_price,discount,note\n"

COUNTRIES: Final = ("DE", "FR", "NL", "AT", "CH", "IT", "ES", "PL", "CZ", "SE", "DK", "FI", "NO", "BE", "IE", "PT")
CATEGORIES: Final = ("books", "garden", "kitchen", "music", "office", "outdoor", "sports", "tools", "toys")
CHANNELS: Final = ("web", "app", "shop", "phone")
STATUSES: Final = ("delivered", "delivered", "delivered", "delivered", "shipped", "returned", "cancelled", "open")
NOTES: Final = (
    "",
    "",
    "",
    "gift wrapping, please",
    "leave at the neighbour's",
    'engraving: ""A. L.""',
    "call before delivery",
)
FIRST_DAY: Final = date(2019, 1, 1)
DAYS: Final = 2800
_NUMBERS: Final = struct.Struct("<IHHHHHH")
"""The random numbers of one row."""


def rows(count: int) -> Iterator[bytes]:
    """The table's rows in chunks, without its header."""
    source = random.Random(SEED)
    days = [(FIRST_DAY + timedelta(days=number)).isoformat() for number in range(DAYS)]
    for start in range(0, count, CHUNK_ROWS):
        size = min(CHUNK_ROWS, count - start)
        drawn = _NUMBERS.iter_unpack(source.randbytes(_NUMBERS.size * size))
        yield b"".join(_row(start + offset, numbers, days) for offset, numbers in enumerate(drawn))


def _row(number: int, drawn: tuple[int, ...], days: list[str]) -> bytes:
    customer, a, b, c, d, e, f = drawn
    # The square root makes later days likelier, the squares make early countries and categories so.
    day = days[int((a / 65536) ** 0.5 * DAYS)]
    country = COUNTRIES[(b * b >> 28) & 15]
    category = CATEGORIES[c * c * len(CATEGORIES) >> 32]
    price = 250 + (d * d >> 20) + (100_000 if d % 997 == 0 else 0)
    note = NOTES[f % len(NOTES)]
    line = (
        f"{number + 1:09d},{day},C{customer % 400_000:07d},{country},{category},{CHANNELS[e & 3]},"
        f'{STATUSES[e >> 2 & 7]},{1 + (e >> 5 & 7)},{price // 100}.{price % 100:02d},{(f & 3) * 5},"{note}"\n'
    )
    return line.encode() if e * 500 >> 16 else _dirty(line.encode(), f)


def _dirty(line: bytes, kind: int) -> bytes:
    """The row as somebody typed it, exported it badly, or cut it off."""
    fields = line.rstrip(b"\n").split(b",", 10)
    match kind % 8:
        case 0:
            fields[7] = b""
        case 1:
            fields[8] = b'"' + fields[8].replace(b".", b",") + b'"'
        case 2:
            fields[8] = b"n/a"
        case 3:
            fields[1] = b"31.02." + fields[1][:4]
        case 4:
            del fields[9:]
        case 5:
            fields.append(b"surplus")
        case 6:
            fields[10] = b'"M\xfcller, 2nd floor\nring twice"'
        case _:
            fields[3] = b""
    return b",".join(fields) + b"\n"


def main(arguments: list[str]) -> None:
    """Write the table."""
    # A cancelled task ends at once: the first process of a container has no default for SIGTERM.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(128 + signal.SIGTERM))
    count, path = int(arguments[0]), Path(arguments[1])
    with path.open("wb") as file:
        file.write(HEADER)
        file.writelines(rows(count))
    print(f"{path}: {count} rows, {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
