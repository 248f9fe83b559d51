"""`python -m mcptasks.job.run`: a tool on its author's own machine."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcptasks.job.standin.desk import Question
from mcptasks.job.standin.inputs import InputError, arguments_from
from mcptasks.job.standin.terminal import ask

SECONDS = 30.0
TOOL = """
from mcptasks.job import task, choice

def main(name: str, count: int = 3) -> str:
    for _ in task.track(range(count), "reading"):
        print("working", flush=True)
    colour = task.ask("Which colour?", choice(["red", "green"], default="green"), key="colour")
    return f"{name} is {colour}" if task.confirm("Sure?") else "no"

task.run(main)
"""
SCHEMA = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer", "minimum": 1, "default": 2},
        "token": {"type": "string", "writeOnly": True},
    },
}


@dataclass
class Ended:
    code: int
    out: str
    err: str

    @property
    def result(self) -> Any:
        return json.loads(self.out)

    @property
    def text(self) -> str:
        return "\n".join(part["text"] for part in self.result["content"])


Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a tool with that command line and those lines typed."""

    def run_tool(source: str, *arguments: str, typed: str = "", name: str = "tool.py") -> Ended:
        (tmp_path / name).write_text(source)
        ended = subprocess.run(
            [sys.executable, "-m", "mcptasks.job.run", name, *arguments],
            cwd=tmp_path,
            input=typed,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    return run_tool


def test_a_tool_runs_without_a_cluster_and_its_result_is_printed(run: Run) -> None:
    ended = run(TOOL, "--arg", "name=fox", "--arg", "count:=2", typed="red\nyes\n")

    assert (ended.code, ended.text) == (0, "fox is red")
    assert ended.result["isError"] is False
    assert "[2 of 2] reading" in ended.err
    assert ended.err.count("working") == 2
    assert "? Which colour?" in ended.err


def test_what_is_typed_wrong_is_asked_again_and_an_empty_line_is_the_default(run: Run) -> None:
    ended = run(TOOL, "--arg", "name=fox", typed="blue\n\nperhaps\ny\n")

    assert ended.text == "fox is green"
    assert "must be one of red, green" in ended.err
    assert "yes or no?" in ended.err


def test_the_end_of_the_input_declines(run: Run) -> None:
    ended = run(TOOL, "--arg", "name=fox")

    assert (ended.code, ended.text) == (1, "declined: Which colour?")
    assert "Ctrl-D" not in ended.err  # nobody types here


def test_answers_may_be_written_down(run: Run, tmp_path: Path) -> None:
    (tmp_path / "answers.json").write_text(json.dumps({"colour": "red", "Sure?": {"answer": True}}))

    assert run(TOOL, "--arg", "name=fox", "--answers", "answers.json").text == "fox is red"


def test_an_answer_that_does_not_fit_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "answers.json").write_text('{"colour": "blue"}')
    ended = run(TOOL, "--arg", "name=fox", "--answers", "answers.json")

    assert ended.text == "not answered: Which colour?"
    assert "colour: /answer: must be one of red, green" in ended.err


def test_a_schema_types_the_arguments_and_is_kept(run: Run, tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    source = "import os\nprint(os.environ['ARG_NAME'], os.environ['ARG_COUNT'], os.environ.get('ARG_TOKEN'))"

    ended = run(source, "--schema", "schema.json", "--arg", "name=3", "--arg", "token=x")
    assert (ended.code, ended.text) == (0, "3 2 None\n")

    for arguments, words in (
        (["--arg", "count=2"], "/name: is required"),
        (["--arg", "name=x", "--arg", "count=0"], "/count: must be at least 1"),
        (["--arg", "name=x", "--arg", "more=1"], "/more: there is no such property"),
        (["--arg", "name=x", "--arg", "count=many"], "'many' is no JSON"),
        (["--arg", "name"], "'name' is neither name=text nor name:=json"),
    ):
        ended = run(source, "--schema", "schema.json", *arguments)
        assert (ended.code, ended.out) == (2, "")
        assert words in ended.err


def test_a_whole_mcptool_serves_as_the_schema_and_its_result_is_checked(run: Run, tmp_path: Path) -> None:
    output = {"type": "object", "required": ["rows"], "properties": {"rows": {"type": "integer"}}}
    tool = {"kind": "McpTool", "spec": {"inputSchema": SCHEMA, "outputSchema": output}}
    (tmp_path / "tool.yaml").write_text(json.dumps(tool))  # JSON is YAML too
    arguments = ["--schema", "tool.yaml", "--arg", "name=x"]

    good = run("print('{\"rows\": 3}')", *arguments)
    assert (good.code, good.result["structuredContent"]) == (0, {"rows": 3})
    wrong = run('print(\'{"rows": "3"}\')', *arguments)
    assert (wrong.code, wrong.text) == (1, "the result breaks the outputSchema: /rows: must be of type integer")
    none = run("from mcptasks.job import task\ntask.run(lambda: 'text')", *arguments)
    assert none.text == "the tool has an outputSchema, and its result has no structured content"


def test_arguments_may_come_from_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"name": "fox", "count": 1}')
    ended = run(TOOL, "--arguments", "a.json", "--arg", "name=owl", typed="\ny\n")

    assert ended.text == "owl is green"


def test_any_program_will_do(run: Run) -> None:
    ended = run('echo "told: $1"; echo "$ARG_NAME" > "$MCPTASK_RESULT"', "--arg", "name=x", "--", "y", name="tool.sh")
    assert (ended.code, ended.text) == (0, "x\n")
    assert "told: y" in ended.err

    ended = run("echo broken; exit 3", name="tool.sh")
    assert (ended.code, ended.text) == (1, "broken\n\n\nexit code 3")


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mcptasks.job.run", "./nothing"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert "nothing" in ended.stderr


def test_ctrl_c_cancels_the_task(tmp_path: Path) -> None:
    (tmp_path / "tool.py").write_text(
        "from mcptasks.job import task\nimport time\ntask.progress(1)\ntask.run(lambda: time.sleep(60))"
    )
    # What runs in the background of a shell has the signal ignored.
    heeding = "import signal, runpy; signal.signal(signal.SIGINT, signal.default_int_handler)"
    start = "runpy.run_module('mcptasks.job.run', run_name='__main__', alter_sys=True)"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{heeding}; {start}", "tool.py"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "[1]\n"

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SECONDS)

    assert (process.returncode, out) == (3, "")
    assert "cancelled" in err


def test_the_pods_environment_is_the_documented_one(run: Run) -> None:
    ended = run("import os\nprint(*sorted(name for name in os.environ if name.startswith('MCPTASK_')))")

    assert set(ended.text.split()) >= {
        "MCPTASK_ID",
        "MCPTASK_TOOL",
        "MCPTASK_URL",
        "MCPTASK_TOKEN_FILE",
        "MCPTASK_ARGUMENTS",
        "MCPTASK_ANSWERS",
        "MCPTASK_RESULT",
    }
    assert os.environ.get("MCPTASK_URL") is None


def test_each_kind_of_field_can_be_typed() -> None:
    form = {
        "properties": {
            "name": {"type": "string", "title": "Name", "description": "Yours"},
            "count": {"type": "integer"},
            "ratio": {"type": "number"},
            "sure": {"type": "boolean"},
            "some": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "default": ["a"]},
            "left out": {"type": "string"},
        },
        "required": ["name", "count", "ratio", "sure", "some"],
    }
    lines = iter(["fox", "x", "3", "1.5", "no", "a, b", ""])
    shown: list[str] = []

    answer = ask(Question(key="k", message="Well?", form=form), read=lambda _: next(lines), show=shown.append)

    assert answer == {
        "action": "accept",
        "content": {"name": "fox", "count": 3, "ratio": 1.5, "sure": False, "some": ["a", "b"]},
    }
    assert shown[0] == "\n? Well?    (Ctrl-D declines)"
    assert "  Yours" in shown
    assert "  a whole number, such as 3?" in shown


def test_arguments_without_a_schema_are_texts_unless_they_are_json() -> None:
    assert arguments_from(["a=1", "b:=1", "c:=[1.0]"], document=None, schema={}) == {"a": "1", "b": 1, "c": [1.0]}
    for wrong in (["a:=x"], ["=1"], ["a"]):
        with pytest.raises(InputError):
            arguments_from(wrong, document=None, schema={})
    with pytest.raises(InputError):
        arguments_from([], document="[]", schema={})
