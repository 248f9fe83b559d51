"""The environment, read once; what is wrong is named."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcptasks_operator.errors import SettingsError
from mcptasks_operator.settings import Settings

NOWHERE = Path("/does/not/exist")


def test_an_empty_environment_gives_the_defaults() -> None:
    settings = Settings.from_environment({}, namespace_file=NOWHERE)

    assert settings == Settings(namespace="default")
    assert settings.port == 8081


def test_a_pods_own_namespace_is_the_default(tmp_path: Path) -> None:
    (tmp_path / "namespace").write_text("ours\n")

    assert Settings.from_environment({}, namespace_file=tmp_path / "namespace").namespace == "ours"


def test_every_variable_is_read() -> None:
    settings = Settings.from_environment(
        {
            "MCPTASKS_NAMESPACE": "jobs",
            "MCPTASKS_LOG_LEVEL": "DEBUG",
            "MCPTASKS_KUBECONFIG": "/etc/kubeconfig",
            "MCPTASKS_CONTEXT": "kind",
            "MCPTASKS_OPERATOR_PORT": "9000",
            "MCPTASKS_OPERATOR_HOST": "::",
            "MCPTASKS_OPERATOR_WORKERS": "3",
            "MCPTASKS_ASSIGN_UID": "false",
            "MCPTASKS_RESYNC_SECONDS": "10",
        },
        namespace_file=NOWHERE,
    )

    assert settings == Settings(
        namespace="jobs",
        log_level="debug",
        kubeconfig=Path("/etc/kubeconfig"),
        context="kind",
        port=9000,
        host="::",
        workers=3,
        assign_uid=False,
        resync_seconds=10,
    )


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MCPTASKS_OPERATOR_PORT", "http"),
        ("MCPTASKS_OPERATOR_PORT", "70000"),
        ("MCPTASKS_OPERATOR_WORKERS", "0"),
        ("MCPTASKS_RESYNC_SECONDS", "61"),
        ("MCPTASKS_LOG_LEVEL", "loud"),
        ("MCPTASKS_ASSIGN_UID", "perhaps"),
    ],
)
def test_a_wrong_value_is_refused_with_the_variables_name_and_the_value(variable: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"{variable}: .*{value}"):
        Settings.from_environment({variable: value}, namespace_file=NOWHERE)


def test_a_process_with_a_wrong_setting_says_so_and_exits_with_2() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "mcptasks_operator"],
        env=os.environ | {"MCPTASKS_OPERATOR_PORT": "http"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 2
    assert ran.stderr == "mcptasks-operator: MCPTASKS_OPERATOR_PORT: 'http' is not a whole number\n"
