"""docs/jobs.md: its programs run and give what the page says, and its tables are the code's."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from mcptasks import job
from mcptasks.job import errors, run
from mcptasks.job.standin import Desk, StandIn
from mcptasks.job.standin.bodies import Reply

PAGE: Final = "docs/jobs.md"
SECONDS: Final = 30.0

Answers = Mapping[str, Any]
CASES: Final[list[tuple[str, list[str], Answers, str]]] = [
    ("A program", ["text=hey", "times:=2"], {"Say it 2 times?": True}, "hey hey"),
    ("Arguments", ["customer=fox", "pieces:=2"], {}, '{"pieces": 2, "tags": 0}'),
    ("Progress", [], {}, "done"),
    (
        "Questions",
        [],
        {"Which colour?": "red", "order": {"size": "s", "extras": ["olives"], "pieces": 2, "gift": True}},
        '{"colour": "red", "note": "", "size": "s", "extras": ["olives"], "pieces": 2, "discount": null, "gift": true}',
    ),
    ("Results", [], {}, "The first finding, while there are still more to come."),
    ("Errors", ["city=Oz"], {}, "There is no city Oz."),
    ("When it is stopped", [], {}, ""),
    ("Async programs", [], {"What shall you be told?": "hello"}, "hello"),
]


def programs(page: Any) -> dict[str, str]:
    """The programs of the page by their section."""
    found: dict[str, str] = {}
    for section in re.split(r"^## ", page.text, flags=re.MULTILINE)[1:]:
        for block in re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL):
            found[section.splitlines()[0]] = block
    return found


def run_tool(program: Path, arguments: list[str], answers: Answers) -> subprocess.CompletedProcess[str]:
    book = program.with_suffix(".json")
    book.write_text(json.dumps(answers))
    command = [sys.executable, "-m", "mcptasks.job.run", program.name, "--answers", book.name]
    command += [part for argument in arguments for part in ("--arg", argument)]
    return subprocess.run(
        command, cwd=program.parent, capture_output=True, text=True, check=False, timeout=SECONDS, input=""
    )


def test_every_program_of_the_page_is_tried(page: Callable[[str], Any]) -> None:
    assert list(programs(page(PAGE))) == [section for section, *_ in CASES] + ["Tests of your own"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_program_gives_what_it_says(
    case: tuple[str, list[str], Answers, str], page: Callable[[str], Any], tmp_path: Path
) -> None:
    section, arguments, answers, text = case
    program = tmp_path / "tool.py"
    program.write_text(programs(page(PAGE))[section], "utf-8")

    ended = run_tool(program, arguments, answers)

    result = json.loads(ended.stdout)
    assert ended.returncode == (1 if section == "Errors" else 0), ended.stderr
    assert (result["content"] or [{"text": ""}])[0]["text"] == text
    assert result["isError"] is (section == "Errors")


def test_the_result_of_the_page_has_all_its_parts(page: Any, tmp_path: Path) -> None:
    program = tmp_path / "tool.py"
    program.write_text(programs(page(PAGE))["Results"], "utf-8")

    result = json.loads(run_tool(program, [], {}).stdout)

    assert [part["type"] for part in result["content"]] == ["text", "text", "image", "resource", "resource_link"]
    assert result["structuredContent"] == {"rows": 2}


def test_the_test_of_the_page_passes(page: Any, tmp_path: Path) -> None:
    source = programs(page(PAGE))["Tests of your own"]
    ended = subprocess.run(
        [sys.executable, "-c", source], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=SECONDS
    )

    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize(("go", "text"), [(True, "went on"), (False, "stopped after three steps")])
def test_the_shell_script_does_the_same(go: bool, text: str, page: Any, tmp_path: Path) -> None:
    (script,) = page(PAGE).blocks("sh")
    program = tmp_path / "tool.sh"
    program.write_text(script, "utf-8")

    ended = run_tool(program, [], {"go": go})

    assert json.loads(ended.stdout) == {"content": [{"type": "text", "text": text}]}
    assert "[3 of 3] step 3" in ended.stderr


class AwayDesk(Desk):
    """An endpoint that is away when the last progress is told, and has not written it at once when it is back."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.replies = [Reply(status=503, headers={"Retry-After": "1"})] * 2
        self.seen: list[tuple[str, int]] = []

    def handle(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        is_last = target.endswith("/progress?wait=10") and b'"progress": 3' in body
        reply = self.replies.pop() if is_last and self.replies else super().handle(method, target, headers, body)
        self.seen.append((target.rpartition("/")[2], reply.status))
        return reply


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_nothing_overtakes_the_last_progress_of_the_shell_script(page: Any, tmp_path: Path) -> None:
    (script,) = page(PAGE).blocks("sh")
    desk = AwayDesk(task_id="mt-shell", tool="shell", arguments="{}")
    desk.answer("go", {"action": "accept", "content": {"go": True}})
    stand_in = StandIn(desk, directory=tmp_path)
    with stand_in.serving():
        environment = {**os.environ, **stand_in.environment()}
        subprocess.run(["sh", "-c", script], env=environment, check=True, timeout=SECONDS, capture_output=True)

    assert desk.seen[-6:] == [
        ("progress?wait=10", 503),
        ("progress?wait=10", 503),
        ("progress?wait=10", 200),
        ("go", 201),
        ("go?wait=30", 200),
        ("result", 204),
    ]


def test_the_shell_script_is_short(page: Any) -> None:
    (script,) = page(PAGE).blocks("sh")

    assert len([line for line in script.splitlines() if not line.startswith("#")]) <= 14


def test_the_options_are_the_commands_own(page: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.main(["--help"])
    options = set(re.findall(r"(--\w+)", capsys.readouterr().out)) - {"--help"}
    documented = " ".join(row["option"] for row in page(PAGE).rows("option"))

    assert set(re.findall(r"(--\w+)", documented)) == options


def test_the_errors_are_the_packages_own(page: Any) -> None:
    documented = " ".join(
        row["raised by mcptasks.job"] for row in page(PAGE).rows("raised by `mcptasks.job`".replace("`", ""))
    )
    kinds = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and kind.__module__ == errors.__name__ and name not in ("JobError", "ToolError")
    }

    assert set(re.findall(r"\w+(?:Error|Cancelled)", documented)) == kinds


@pytest.mark.parametrize("column", ["field", "part"])
def test_the_functions_of_the_tables_are_there(column: str, page: Any) -> None:
    names = [name for row in page(PAGE).rows(column) for name in re.findall(r"(\w+)\(", row[column])]

    assert names
    assert all(callable(getattr(job, name)) for name in names)
