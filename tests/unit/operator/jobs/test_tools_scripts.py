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
        (["bash", "--rcfile", "x", "-c", "echo $(ARG_X)"], 4, "bash"),
        (["bash", "--init-file", "x", "-O", "extglob", "-c", "echo $(ARG_X)"], 6, "bash"),
        (["csh", "-c", "echo $(ARG_X)"], 2, "csh"),
        (["pypy3", "-Ic", "print($(ARG_X))"], 2, "pypy3"),
        (["nu", "-c", "echo $(ARG_X)"], 2, "nu"),
        (["fish", "--init-command", "echo $(ARG_X)", "-c", "true"], 2, "fish"),
        (["perl", "-Mstrict;$(ARG_X)", "x.pl"], 1, "perl"),
    ],
)
def test_an_argument_inside_a_program_is_found(command: list[str], at: int, program: str, make_pod: Make) -> None:
    assert found(make_pod, command=command) == [(f"command[{at}]", "ARG_X", program)]


@pytest.mark.parametrize(
    "command",
    [
        ["git", "checkout", "$(ARG_X)"],
        ["tool", "--to=$(ARG_X)", "-n", "$(ARG_X)", "--message", "-$(ARG_X)"],
        ["tool", "-config=$(ARG_X)", "--dry-run=$(ARG_X)", "--pattern", "$(ARG_X)"],
        ["make_orders", "$(ARG_X)"],
        ["python", "/src/x.py", "--rows", "$(ARG_X)"],
        ["python", "/src/x.py", "eval", "$(ARG_X)", "--command=$(ARG_X)"],
        ["sh", "-c", 'run "$0"', "$(ARG_X)"],
        ["bash", "--rcfile", "x", "/script.sh", "$(ARG_X)"],
        ["grep", "-e", "$(ARG_X)", "file"],
        ["timeout", "5", "grep", "-c", "$(ARG_X)", "file"],
        ["xargs", "-I", "{}", "cp", "{}", "$(ARG_X)"],
        ["git", "grep", "-e", "$(ARG_X)"],
        ["git", "clone", "--branch=$(ARG_X)", "--", "$(ARG_X)"],
        ["tool", "$(REGION)", "$(ARG_X)", "$(REGION)", "--rows=$(ARG_X)"],
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


@pytest.mark.parametrize(
    ("command", "at", "program"),
    [
        (["su", "nobody", "-c", "echo $(ARG_X)"], 3, "su"),
        (["su", "-lc", "echo $(ARG_X)"], 2, "su"),
        (["bun", "-e", "$(ARG_X)"], 2, "bun"),
        (["deno", "eval", "$(ARG_X)"], 2, "deno"),
        (["deno", "eval", "-T", "$(ARG_X)"], 3, "deno"),
        (["lua", "-e", "print($(ARG_X))"], 2, "lua"),
        (["lua", "-eprint($(ARG_X))"], 1, "lua"),
        (["Rscript", "-e", "$(ARG_X)"], 2, "Rscript"),
        (["julia", "--eval=$(ARG_X)"], 1, "julia"),
        (["psql", "--command", "select $(ARG_X)"], 2, "psql"),
        (["mysql", "--execute=select $(ARG_X)"], 1, "mysql"),
        (["script", "-qc", "echo $(ARG_X)", "/dev/null"], 2, "script"),
        (["flock", "/lock", "-c", "echo $(ARG_X)"], 3, "flock"),
        (["/opt/tool", "-c", "$(ARG_X)"], 2, "tool"),
        (["find", ".", "-exec", "$(ARG_X)", "{}", ";"], 3, "find"),
        (["tar", "-xf", "a", "--checkpoint-action=exec=$(ARG_X)"], 3, "tar"),
        (["scp", "-oProxyCommand=$(ARG_X)", "a", "b:"], 1, "scp"),
        (["git", "-c", "core.sshCommand=$(ARG_X)", "fetch"], 2, "git"),
        (["git", "-c", "alias.x=!$(ARG_X)", "x"], 2, "git"),
        (["git", "-c", "$(ARG_X)", "fetch"], 2, "git"),
        (["git", "clone", "--upload-pack=$(ARG_X)", "a"], 2, "git"),
        (["watch", "-n", "5", "ls $(ARG_X)"], 3, "watch"),
        (["parallel", "echo", "$(ARG_X)"], 2, "parallel"),
        (["ssh", "host", "$(ARG_X)"], 2, "ssh"),
        (["nice", "ssh", "host", "ls", "$(ARG_X)"], 4, "ssh"),
        (["eval", "$(ARG_X)"], 1, "eval"),
        (["python", "-m", "timeit", "-s", "pass", "$(ARG_X)"], 5, "timeit"),
        (["env", "LD_PRELOAD=$(ARG_X)", "tool"], 1, "tool"),
    ],
)
def test_what_any_program_would_run_is_found(command: list[str], at: int, program: str, make_pod: Make) -> None:
    assert found(make_pod, command=command) == [(f"command[{at}]", "ARG_X", program)]


@pytest.mark.parametrize(
    ("command", "at", "program"),
    [
        (["$(ARG_X)"], 0, "the container"),
        (["/bin/$(ARG_X)", "a"], 0, "the container"),
        (["env", "A=b", "$(ARG_X)"], 2, "env"),
        (["timeout", "-k", "1", "5", "$(ARG_X)"], 4, "timeout"),
        (["exec", "/bin/$(ARG_X)"], 1, "exec"),
        (["nice", "-n", "5", "xargs", "-n", "1", "$(ARG_X)"], 6, "xargs"),
        (["sh", "$(ARG_X)"], 1, "sh"),
        (["python", "-u", "$(ARG_X)"], 2, "python"),
        (["python", "-m", "$(ARG_X)"], 2, "python"),
    ],
)
def test_a_program_that_the_caller_would_choose_is_found(
    command: list[str], at: int, program: str, make_pod: Make
) -> None:
    assert found(make_pod, command=command) == [(f"command[{at}]", "ARG_X", program)]


def test_the_first_of_args_alone_may_be_a_subcommand(make_pod: Make) -> None:
    assert found(make_pod, args=["$(ARG_X)", "a"]) == []


@pytest.mark.parametrize(
    "name",
    [
        *(
            "BASH_ENV",
            "ENV",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "LD_AUDIT",
            "NODE_OPTIONS",
            "PYTHONSTARTUP",
            "PYTHONPATH",
        ),
        *(
            "PYTHONPATH",
            "PYTHONHOME",
            "PERL5OPT",
            "PERL5LIB",
            "RUBYOPT",
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "JDK_JAVA_OPTIONS",
        ),
        *("PROMPT_COMMAND", "SHELLOPTS", "PATH", "IFS", "GIT_SSH_COMMAND", "GIT_CONFIG_VALUE_0", "EDITOR"),
    ],
)
def test_a_variable_that_programs_take_code_from_is_found(name: str, make_pod: Make) -> None:
    env = [{"name": "DIR", "value": "/opt/$(ARG_X)"}, {"name": name, "value": "a:$(DIR)"}]

    assert found(make_pod, env=env) == [("env[1].value", "DIR", f"what reads ${name}")]


@pytest.mark.parametrize("name", ["BRANCH", "MY_PATH", "PYTHONUNBUFFERED", "ENVIRONMENT", "JAVA_HOME"])
def test_any_other_variable_may_hold_an_argument(name: str, make_pod: Make) -> None:
    assert found(make_pod, env=[{"name": name, "value": "$(ARG_X)"}]) == []


def test_options_and_programs_behind_the_authors_variables_are_seen(make_pod: Make) -> None:
    env = [{"name": "C", "value": "-c"}, {"name": "SH", "value": "/bin/sh"}, {"name": "N", "value": "-n"}]

    for command in (["sh", "$(C)", "echo $(ARG_X)"], ["$(SH)", "-c", "$(ARG_X)"], ["$(SH)", "$(C)", "$(ARG_X)"]):
        assert found(make_pod, env=env, command=command) == [("command[2]", "ARG_X", "sh")]
    assert found(make_pod, env=env, command=["tool", "$(N)", "to $(ARG_X)"]) == []


def test_a_text_after_a_variable_of_unknown_value_is_found(make_pod: Make) -> None:
    env = [{"name": "C", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}]

    assert found(make_pod, env=env, command=["tool", "$(C)", "echo $(ARG_X)"]) == [
        ("command[2]", "ARG_X", "what $(C) stands for")
    ]
    assert found(make_pod, command=["$(SH)", "-c", "$(ARG_X)"]) == [("command[2]", "ARG_X", "$(SH)")]


def test_command_and_args_are_one_command_line(make_pod: Make) -> None:
    assert found(make_pod, command=["sh"], args=["-c", "echo $(ARG_X)"]) == [("args[1]", "ARG_X", "sh")]


def test_arguments_for_the_shell_of_an_unknown_image_are_recognised(make_pod: Make) -> None:
    assert found(make_pod, args=["-ec", "echo $(ARG_X)"]) == [("args[1]", "ARG_X", "sh")]
    assert found(make_pod, args=["-c", "$(ARG_X)"]) == [("args[1]", "ARG_X", "the image's entry point")]
    assert found(make_pod, args=["--config", "$(ARG_CONFIG)"]) == []
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
