"""The batch job: a table is made, and summarised."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcptasks_crds.schemas import Schema
from mcptasks_crds.tool import McpTool

PROGRAM = Path(__file__).parents[3] / "examples" / "programs" / "summarize_table.py"
DEFAULTS = {"ARG_GROUP_BY": "country", "ARG_SUM": "unit_price", "ARG_TOP": "3"}


def table(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    return str(path)


def summary(run: Any, path: str, **environment: str) -> Any:
    ended = run("summarize_table.py", path, environment={**DEFAULTS, **environment})
    assert ended.code == 0, ended.log
    return json.loads(ended.result)


def test_the_table_is_the_same_each_time_and_as_long_as_asked(run: Any, tmp_path: Path) -> None:
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for file in files:
        assert run("make_orders.py", "30000", str(file)).code == 0

    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].read_bytes().count(b"\n") >= 30001
    assert 70 <= files[0].stat().st_size / 30000 <= 90


def test_a_longer_table_begins_like_a_shorter_one(run: Any, tmp_path: Path) -> None:
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for file, rows in zip(files, ("20000", "40000"), strict=True):
        run("make_orders.py", rows, str(file))

    assert files[1].read_bytes().startswith(files[0].read_bytes())


def test_the_summary_of_the_orders_is_what_the_tool_promises(
    run: Any, tmp_path: Path, tool: Callable[[str], McpTool]
) -> None:
    orders = str(tmp_path / "orders.csv")
    run("make_orders.py", "50000", orders)
    schema = tool("summarize-table").spec.output_schema
    assert schema is not None

    found = summary(run, orders)

    assert Schema(schema).violation(found) is None
    assert found["rows"] == 50000
    assert found["bytes"] == Path(orders).stat().st_size
    assert 0 < found["misshapenRows"] < 200
    kinds = {column["name"]: column["kind"] for column in found["columns"]}
    assert kinds["placed_on"] == "date"
    assert kinds["unit_price"] == "number"
    assert kinds["note"] == "text"
    assert [group["value"] for group in found["groups"]] == ["DE", "FR", "NL"]
    assert sum(column.get("unreadable", 0) for column in found["columns"]) > 0


def test_figures_are_right_on_a_table_that_can_be_counted_by_hand(run: Any, tmp_path: Path) -> None:
    content = (
        b"country,unit_price,day\n"
        b"DE,1.5,2020-01-01\nDE,2.5,2020-01-03\nFR,10,2020-01-02\nFR,x,2020-01-02\n,3,\nDE,1\n"
        b'"N\nL","7",2020-01-02\n' + b"FR,0,2020-01-02\n" * 10
    )

    found = summary(run, table(tmp_path, content))

    assert (found["rows"], found["misshapenRows"], found["groupsInAll"]) == (17, 1, 4)
    country, price, day = found["columns"]
    assert country == {"name": "country", "kind": "text", "empty": 1, "distinct": 3}
    assert price == {
        "name": "unit_price",
        "kind": "number",
        "empty": 0,
        "unreadable": 1,
        "distinct": 7,
        "min": 0,
        "max": 10,
        "mean": 1.6,
    }
    assert (day["kind"], day["empty"], day["min"], day["max"]) == ("date", 1, "2020-01-01", "2020-01-03")
    assert found["groups"] == [
        {"value": "FR", "rows": 12, "sum": 10.0},
        {"value": "N\nL", "rows": 1, "sum": 7.0},
        {"value": "DE", "rows": 2, "sum": 4.0},
    ]


def test_bytes_that_are_no_text_spoil_a_cell_and_not_the_job(run: Any, tmp_path: Path) -> None:
    found = summary(run, table(tmp_path, b"country,unit_price\nM\xfcnchen,1\n"))

    assert found["groups"][0]["value"] == "M\ufffdnchen"


def test_a_table_without_rows_has_a_summary(run: Any, tmp_path: Path) -> None:
    found = summary(run, table(tmp_path, b"country,unit_price\n"))

    assert (found["rows"], found["columns"], found["groups"]) == (0, [], [])


@pytest.mark.parametrize(
    ("content", "environment", "message"),
    [
        (b"", {}, "has no header"),
        (b"a,b\n1,2\n", {}, "there is no column 'country'; the table has a, b"),
        (
            b"country,unit_price\n" + b"".join(b"%d,1\n" % number for number in range(10_001)),
            {},
            "country has more than 10000 values",
        ),
    ],
)
def test_what_makes_no_sense_is_a_tool_error_that_says_so(
    run: Any, tmp_path: Path, content: bytes, environment: dict[str, str], message: str
) -> None:
    ended = run("summarize_table.py", table(tmp_path, content), environment={**DEFAULTS, **environment})

    assert ended.code == 1
    assert message in ended.result


def test_a_summary_fits_into_the_result_whatever_the_table_holds(run: Any, tmp_path: Path) -> None:
    names = [f"column {number} " + "\u00e4" * 90 for number in range(40)]
    lines = [",".join([*names, "country", "unit_price"])]
    lines += ["a," * 40 + "\u00e4" * 100 + f"{number},{number}" for number in range(30)]

    path = table(tmp_path, "\n".join(lines).encode())
    ended = run("summarize_table.py", path, environment={**DEFAULTS, "ARG_TOP": "20"})

    assert ended.code == 0
    assert len(ended.result.encode()) <= 4096
    assert json.loads(ended.result)["rows"] == 30


def test_a_job_that_is_told_to_end_does_so_at_once(tmp_path: Path) -> None:
    endless = tmp_path / "endless.csv"
    os.mkfifo(endless)
    process = subprocess.Popen(
        [sys.executable, PROGRAM, endless], env={**os.environ, **DEFAULTS, "MCPTASK_RESULT": str(tmp_path / "result")}
    )
    with endless.open("wb"):  # is open once the program reads
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 128 + signal.SIGTERM
