"""Runs this project's tests from the sources in the image: a CI pipeline as a tool.

    python run_tests.py

The tool `run-tests`: its argument comes as `ARG_SELECTION`. Where all tests pass, a summary as JSON is written to
`$MCPTASK_RESULT`; else the failures are written there as text, and the exit code is pytest's own, which makes the call
a tool error. What pytest prints is the pod's log.

The image's root is read-only: caches are off, and what has to be written goes to `$TMPDIR`.
"""

import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
RESULT_BYTES: Final = 4096
"""Kubernetes keeps no more of a termination message."""
UNIT_TESTS: Final = "tests/unit"
FOLDERS: Final = (UNIT_TESTS, "examples/failing")
"""Where tests are that need no cluster."""


class Recorder:
    """Counts outcomes as pytest reports them."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in one phase of one test."""
        if report.failed:
            self.counts["failed" if report.when == "call" else "errors"] += 1
            self.failures.append(f"{report.nodeid}: {_last_line(report.longreprtext)}")
        elif report.skipped:
            self.counts["skipped"] += 1
        elif report.when == "call":
            self.counts["passed"] += 1

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take in what could not be collected."""
        if report.failed:
            self.counts["errors"] += 1
            self.failures.append(f"{report.nodeid}: {_last_line(report.longreprtext)}")

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Take in what was not selected."""
        self.counts["deselected"] += len(items)


def pytest_arguments(selection: str) -> list[str]:
    """What pytest is told: a selection is a path below a folder of tests, else a `-k` expression, never an option."""
    fixed = ["-p", "no:cacheprovider", "--hypothesis-profile=ci", "-m", "not apiserver and not cluster", "-q"]
    path = selection.partition("::")[0]
    if ".." not in path.split("/") and f"{path}/".startswith(tuple(f"{folder}/" for folder in FOLDERS)):
        return [*fixed, selection]
    # In one element with its option: so a selection that begins with a dash is an expression all the same.
    return [*fixed, *([f"-k{selection}"] if selection else []), UNIT_TESTS]


def summary(recorder: Recorder, *, code: int, seconds: float) -> dict[str, Any]:
    """The summary as the tool gives it."""
    names = ("passed", "failed", "errors", "skipped", "deselected")
    counts = {name: recorder.counts[name] for name in names}
    line = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "no tests"
    return {"exitCode": code, "summary": f"{line} in {seconds:.1f} s", "seconds": round(seconds, 1), **counts}


def report(recorder: Recorder, *, line: str) -> str:
    """What failed, as text that fits into the result."""
    lines = [line, *recorder.failures]
    while len(lines) > 1 and len("\n".join(lines).encode(errors="replace")) > RESULT_BYTES:
        lines.pop()
    return "\n".join(lines).encode(errors="replace")[:RESULT_BYTES].decode(errors="ignore")


def _last_line(text: str) -> str:
    """The line that says what went wrong: pytest marks it with an E."""
    marked = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    return (marked or text.strip().splitlines() or [""])[0][:300]


def main() -> None:
    """Run the selected tests and hand in the summary."""
    # A cancelled task ends at once: the first process of a container has no default for SIGTERM.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(128 + signal.SIGTERM))
    selection = os.environ.get("ARG_SELECTION", "")
    result = Path(os.environ["MCPTASK_RESULT"])
    for name in [name for name in os.environ if name.startswith(("ARG_", "MCPTASK_"))]:
        del os.environ[name]  # the programs that the tests run must not speak for this task
    temporary = Path(os.environ.get("TMPDIR", "/tmp"))
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(temporary / "hypothesis")
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT / "devcluster"))  # in no wheel, but its tests are among the unit tests
    recorder = Recorder()
    started = time.perf_counter()
    code = int(pytest.main(pytest_arguments(selection), plugins=[recorder]))
    found = summary(recorder, code=code, seconds=time.perf_counter() - started)
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:
        found["summary"] = f"{selection!r} selects no test"
    text = json.dumps(found) if code == 0 else report(recorder, line=found["summary"])
    result.write_text(text, encoding="utf-8")
    sys.exit(code)


if __name__ == "__main__":
    main()
