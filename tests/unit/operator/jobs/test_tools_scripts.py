"""Where an expanded argument would be code, and where it is only a word."""

from collections.abc import Callable
from typing import Any

import pytest

from mcptasks_operator.scripts import unsafe_expansions
from mcptasks_operator.templates import read_template

Make = Callable[..., Any]
MAIN = "job.template.spec.containers[0]"


def found(make_pod: Make, **container: Any) -> list[tuple[str, str, str]]:
    pod = read_template({"spec": make_pod(**container)})["spec"]
    return [(each.field.removeprefix(f"{MAIN}."), each.variable, each.program) for each in unsafe_expansions(pod)]


@pytest.mark.parametrize(
    ("command", "at", "program"),
    [
        (["sh", "-c", "git checkout $(ARG_X)"], 2, "sh"),
        (["/bin/sh", "-c", "$(ARG_X)"], 2, "sh"),
        (["/bin/bash", "-euo", "pipefail", "-c", 'echo "$(ARG_X)"'], 4, "bash"),
        (["bash", "-ec", "echo '$(ARG_X)'"], 2, "bash"),
        (["bash", "-c", "-o", "pipefail", "-e", "echo $(ARG_X)"], 5, "bash"),
        (["busybox", "ash", "-c", "$(ARG_X)"], 3, "ash"),
        (["timeout", "5", "dash", "-c", "echo $(ARG_X)"], 4, "dash"),
        (["tini", "--", "sh", "-c", "echo $(ARG_X)"], 4, "sh"),
        (["sh", "-c", "echo a$$$(ARG_X)"], 2, "sh"),
        (["sh", "-c", 'exec "$@"', "sh", "python3", "-c", "print('$(ARG_X)')"], 6, "python3"),
        (["python", "-c", "print($(ARG_X))"], 2, "python"),
        (["/usr/bin/python3.12", "-W", "error", "-Ic", "print($(ARG_X))"], 4, "python3.12"),
        (["python3", "-cprint('$(ARG_X)')"], 1, "python3"),
        (["perl", "-ne", "print if /$(ARG_X)/"], 2, "perl"),
        (["perl", "-e", "1", "-e", "$(ARG_X)"], 4, "perl"),
        (["ruby", "-e", "puts '$(ARG_X)'"], 2, "ruby"),
        (["node", "--eval=console.log($(ARG_X))"], 1, "node"),
        (["node", "-p", "$(ARG_X)"], 2, "node"),
        (["php", "-r", "echo $(ARG_X);"], 2, "php"),
        (["pwsh", "-Command", "echo $(ARG_X)"], 2, "pwsh"),
        (["env", "-S", "sh -c $(ARG_X)"], 2, "env"),
        (["env", "--split-string=sh $(ARG_X)"], 1, "env"),
        (["awk", "-F", ",", "/$(ARG_X)/", "file"], 3, "awk"),
        (["sed", "-e", "s/$(ARG_X)/b/", "file"], 2, "sed"),
        (["sed", "-n", "s/$(ARG_X)/b/", "file"], 2, "sed"),
    ],
)
def test_an_argument_inside_a_program_is_found(command: list[str], at: int, program: str, make_pod: Make) -> None:
    assert found(make_pod, command=command) == [(f"command[{at}]", "ARG_X", program)]


@pytest.mark.parametrize(
    "command",
    [
        ["git", "checkout", "$(ARG_X)"],
        ["tool", "--to=$(ARG_X)", "-c", "$(ARG_X)"],
        ["git", "-c", "http.extraHeader=$(ARG_X)", "clone"],
        ["sh", "-c", 'git checkout "$ARG_X"'],
        ["sh", "-c", 'git checkout "$1"', "sh", "$(ARG_X)"],
        ["sh", "-c", "echo $$(ARG_X)"],
        ["sh", "-c", "echo $(DATE)"],
        ["sh", "/script.sh", "-c", "$(ARG_X)"],
        ["bash", "-o", "pipefail", "/script.sh", "$(ARG_X)"],
        ["python", "-m", "tool", "--name=$(ARG_X)"],
        ["python", "tool.py", "-c", "$(ARG_X)"],
        ["python", "-c", "import sys; print(sys.argv[1])", "$(ARG_X)"],
        ["env", "NAME=$(ARG_X)", "tool"],
        ["awk", "-f", "program.awk", "$(ARG_X)"],
        ["awk", "-v", "x=$(ARG_X)", "{print x}"],
        ["sed", "-e", "s/a/b/", "$(ARG_X)"],
        ["node", "--require", "a", "main.js", "-e", "$(ARG_X)"],
    ],
)
def test_an_argument_that_is_only_a_word_is_let_be(command: list[str], make_pod: Make) -> None:
    assert found(make_pod, command=command) == []


def test_command_and_args_are_one_command_line(make_pod: Make) -> None:
    assert found(make_pod, command=["sh"], args=["-c", "echo $(ARG_X)"]) == [("args[1]", "ARG_X", "sh")]


def test_arguments_for_the_shell_of_an_unknown_image_are_recognised(make_pod: Make) -> None:
    assert found(make_pod, args=["-ec", "echo $(ARG_X)"]) == [("args[1]", "ARG_X", "sh")]
    assert found(make_pod, args=["-c", "$(ARG_CONFIG)"]) == []
    assert found(make_pod, args=["hello $(ARG_X)"]) == []


def test_an_argument_that_comes_by_the_authors_own_variables_is_found(make_pod: Make) -> None:
    env = [
        {"name": "LATER", "value": "$(SCRIPT)"},
        {"name": "PART", "value": "checkout $(ARG_X)"},
        {"name": "SCRIPT", "value": "git $(PART)"},
        {"name": "HARMLESS", "value": "$$(ARG_X)"},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ]

    assert found(make_pod, env=env, command=["sh", "-c", "$(SCRIPT)"]) == [("command[2]", "SCRIPT", "sh")]
    for harmless in ("$(LATER)", "$(HARMLESS)", "$(SECRET)", "eval $SCRIPT"):
        assert found(make_pod, env=env, command=["sh", "-c", harmless]) == []


def test_probes_are_looked_at_too(make_pod: Make) -> None:
    probe = {"exec": {"command": ["sh", "-c", "test -e $(ARG_X)"]}}

    assert found(make_pod, livenessProbe=probe) == [("livenessProbe.exec.command[2]", "ARG_X", "sh")]
    assert found(make_pod, livenessProbe={"exec": {"command": "sh -c"}}, readinessProbe=[], startupProbe={}) == []


def test_each_container_is_looked_at() -> None:
    unsafe = {"name": "a", "command": ["sh", "-c", "$(ARG_X)"]}
    pod = {"initContainers": [unsafe], "containers": [{"name": "tool"}, unsafe]}

    fields = [each.field for each in unsafe_expansions(pod)]

    assert fields == [
        "job.template.spec.initContainers[0].command[2]",
        "job.template.spec.containers[1].command[2]",
    ]
