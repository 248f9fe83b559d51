"""A process that cannot serve says why in one line, and ends."""

import json
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("environment", "code", "words"),
    [
        ({"MCPTASKS_PORT": "eighty"}, 2, "MCPTASKS_PORT"),
        ({"MCPTASKS_TOOLPACKS": "weather"}, 2, "tool pack weather"),
        ({}, 1, "Service host/port is not set"),
        ({"MCPTASKS_KUBECONFIG": "/nonexistent/kubeconfig"}, 1, "kube-config"),
    ],
    ids=["a-wrong-setting", "a-tool-pack-that-is-not-there", "no-cluster", "no-kubeconfig"],
)
def test_a_server_that_cannot_start_says_why(environment: dict[str, str], code: int, words: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "mcptasks_server"],
        env={"HOME": "/tmp", **environment},  # a user that no passwd file knows has no other
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )

    assert ended.returncode == code
    last = ended.stderr.splitlines()[-1]
    assert words in last
    assert "Traceback" not in ended.stderr
    if code == 1:
        assert json.loads(last)["event"] == "cannot serve"
