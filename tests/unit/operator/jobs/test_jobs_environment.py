"""What a caller sends is what the pod's environment holds, through Kubernetes' own expansion.

`expand` is that expansion, as the documentation and the kubelet's own code have it, with no line in common with ours.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcptasks_operator.expansion import escape, references
from mcptasks_operator.jobs import render

Make = Callable[..., Any]


def expand(text: str, known: Mapping[str, str]) -> str:
    """`expansion.Expand` of Kubernetes (third_party/forked/golang/expansion), step by step."""
    expanded, at = "", 0
    while at < len(text):
        if text[at] != "$" or at + 1 == len(text):
            expanded, at = expanded + text[at], at + 1
        elif text[at + 1] == "$":
            expanded, at = expanded + "$", at + 2
        elif text[at + 1] == "(" and (end := text.find(")", at + 2)) >= 0:
            name = text[at + 2 : end]
            expanded, at = expanded + known.get(name, f"$({name})"), end + 1
        else:
            expanded, at = expanded + text[at : at + 2], at + 2
    return expanded


def environment_of(container: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, str]:
    """A container's environment as the kubelet makes it: in order, each value expanded with what came before."""
    made = dict(known)
    for variable in container["env"]:
        made[variable["name"]] = expand(variable["value"], made)
    return made


SECRETS = {"DB": "TOPSECRET", "KUBERNETES_SERVICE_HOST": "10.96.0.1", "A": "$(DB)", "": "EMPTY"}
hostile = st.lists(
    st.sampled_from(
        ["$", "$$", "(", ")", "$(DB)", "$(", "$()", "$(ARG_A)", "`id`", ";", "\n", "\\", "'", '"', "\u2028"]
    )
    | st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=5),
    max_size=12,
).map("".join)


@given(hostile)
@example("x $(DB) $(KUBERNETES_SERVICE_HOST) cost $$5")
@example("$")
@example("$$(DB)")
def test_an_escaped_text_expands_to_itself(text: str) -> None:
    assert expand(escape(text), SECRETS) == text
    assert list(references(escape(text))) == []


@given(hostile)
def test_references_are_what_kubernetes_would_look_up(text: str) -> None:
    class Watched(dict[str, str]):
        def get(self, name: str, default: Any = None) -> Any:
            looked_up.append(name)
            return default

    looked_up: list[str] = []
    expand(text, Watched())

    assert list(references(text)) == looked_up


@given(st.dictionaries(st.sampled_from(["a", "b", "cc"]), hostile), st.sampled_from(["", "$(DB)", "$$"]))
def test_arguments_come_out_of_the_environment_as_they_were_sent(
    make_tool: Make, make_task: Make, make_pod: Make, arguments: dict[str, str], default: str
) -> None:
    tool = make_tool(make_pod(), properties={name: {"default": default} for name in ("a", "b", "cc")})

    pod = render(make_task(json.dumps(arguments)), tool)["spec"]["template"]["spec"]

    environment = environment_of(pod["containers"][0], SECRETS)
    for name in ("a", "b", "cc"):
        assert environment[f"ARG_{name.upper()}"] == arguments.get(name, default)


@given(hostile)
def test_a_command_element_of_its_own_is_the_argument(
    make_tool: Make, make_task: Make, make_pod: Make, value: str
) -> None:
    own = {"name": "PREFIXED", "value": "to-$(ARG_A)"}
    tool = make_tool(make_pod(args=["--a=$(ARG_A)", "$(ARG_A)", "$(PREFIXED)"], env=[own]), properties={"a": {}})

    pod = render(make_task(json.dumps({"a": value})), tool)["spec"]["template"]["spec"]

    container = pod["containers"][0]
    environment = environment_of(container, SECRETS)
    assert [expand(word, environment) for word in container["args"]] == [f"--a={value}", value, f"to-{value}"]


def test_the_variables_of_the_task_come_before_the_authors_own(
    make_tool: Make, make_task: Make, make_pod: Make
) -> None:
    own = [{"name": "WORK", "value": "$(HOME)/$(MCPTASK_ID)"}, {"name": "B", "value": "b"}]
    tool = make_tool(make_pod(env=own), properties={"z": {}, "a": {}})

    container = render(make_task(), tool)["spec"]["template"]["spec"]["containers"][0]

    listed = [variable["name"] for variable in container["env"]]
    assert listed[:2] == ["ARG_Z", "ARG_A"]
    assert listed[-2:] == ["WORK", "B"]
    assert environment_of(container, {})["WORK"].startswith("/tmp/mt-")


@pytest.mark.parametrize("arguments", ['{"n" : 1.0}', '{"n":123456789012345678901234567890,"s":"\\ud800"}', " {\n} "])
def test_the_file_is_made_of_the_text_itself(arguments: str, make_tool: Make, make_task: Make) -> None:
    template = render(make_task(arguments), make_tool())["spec"]["template"]

    assert template["metadata"]["annotations"]["mcptasks.dev/arguments"] == arguments
