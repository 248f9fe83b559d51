"""What no Job is made of, and that the message names the field."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from mcptasks_crds.reasons import Reason
from mcptasks_operator.errors import JobRefusedError
from mcptasks_operator.jobs import render

Make = Callable[..., Any]
SPEC = "job.template.spec"
MAIN = f"{SPEC}.containers[0]"


def refusal(task: Any, tool: Any) -> tuple[Reason, str]:
    with pytest.raises(JobRefusedError) as caught:
        render(task, tool)
    return caught.value.reason, caught.value.message


@pytest.mark.parametrize(
    ("pod", "field"),
    [
        ({"restartPolicy": "OnFailure"}, "restartPolicy: OnFailure"),
        ({"restartPolicy": "Always"}, "restartPolicy: Always"),
        ({"activeDeadlineSeconds": 5}, "activeDeadlineSeconds"),
        ({"volumes": [{"name": "a"}, {"name": "mcptask"}]}, "volumes[1].name: mcptask"),
        ({"volumes": [{"name": "mcptask-tmp-0"}]}, "volumes[0].name: mcptask-tmp-0"),
        ({"containers": []}, "containers: "),
        ({"containers": None}, "containers: "),
        ({"containers": "tool"}, "containers: "),
        ({"containers": [{"image": "i"}]}, "containers[0].name: "),
        ({"containers": [{"name": "a"}], "initContainers": [7]}, "initContainers[0]: "),
        ({"tolerations": ["all"]}, "tolerations[0]: "),
        ({"terminationGracePeriodSeconds": "5"}, "terminationGracePeriodSeconds: "),
        ({"terminationGracePeriodSeconds": -1}, "terminationGracePeriodSeconds: "),
        ({"terminationGracePeriodSeconds": 86_401}, "terminationGracePeriodSeconds: "),
        ({"terminationGracePeriodSeconds": 10**12}, "terminationGracePeriodSeconds: "),
        ({"initContainers": [{"name": "a", "env": [{"name": "ARG_A"}]}]}, "initContainers[0].env[0].name: ARG_A"),
    ],
)
def test_a_pod_that_breaks_what_a_task_promises_is_refused(
    pod: Any, field: str, make_tool: Make, make_task: Make, make_pod: Make
) -> None:
    reason, message = refusal(make_task(), make_tool({**make_pod(), **pod}))

    assert reason is Reason.TOOL_INVALID
    assert message.startswith(f"{SPEC}.{field}")


@pytest.mark.parametrize(
    ("container", "field"),
    [
        ({"restartPolicy": "Always"}, "restartPolicy"),
        ({"restartPolicyRules": []}, "restartPolicyRules"),
        ({"env": [{"name": "A", "value": "b"}, {"name": "ARG_BRANCH"}]}, "env[1].name: ARG_BRANCH"),
        ({"env": [{"name": "MCPTASK_URL"}]}, "env[0].name: MCPTASK_URL"),
        ({"env": {"A": "b"}}, "env: "),
        ({"env": [{"value": "b"}]}, "env[0].name: "),
        ({"envFrom": [{"prefix": "ARG_", "secretRef": {"name": "s"}}]}, "envFrom[0].prefix: ARG_"),
        ({"volumeMounts": [{"name": "v", "mountPath": "/mcptask"}]}, "volumeMounts[0].mountPath: /mcptask"),
        ({"volumeMounts": [{"name": "v", "mountPath": "/x/../mcptask/a/"}]}, "volumeMounts[0].mountPath: /x/"),
        ({"volumeDevices": [{"name": "v", "devicePath": "/mcptask"}]}, "volumeDevices[0].devicePath"),
        ({"volumeMounts": [{"name": "v", "mountPath": "//mcptask//"}]}, "volumeMounts[0].mountPath: //mcptask//"),
        ({"volumeMounts": [{"name": "v", "mountPath": "mcptask"}]}, "volumeMounts[0].mountPath: mcptask"),
        ({"terminationMessagePath": "result"}, "terminationMessagePath: "),
        ({"terminationMessagePath": "/tmp/out"}, "terminationMessagePath: /tmp/out"),
        ({"terminationMessagePolicy": "FallbackToLogsOnError"}, "terminationMessagePolicy: FallbackToLogsOnError"),
        ({"command": "sh -c true"}, "command: "),
        ({"args": [1]}, "args[0]: "),
        ({"securityContext": []}, "securityContext: "),
        ({"securityContext": {"capabilities": {"add": "ALL"}}}, "securityContext.capabilities.add: "),
        ({"resources": {"limits": ["cpu"]}}, "resources.limits: "),
        ({"args": ["$(ARG_UNKNOWN)"]}, "args[0]: $(ARG_UNKNOWN)"),
        ({"env": [{"name": "A", "value": "$(ARG_UNKNOWN)"}]}, "env[0].value: $(ARG_UNKNOWN)"),
    ],
)
def test_a_container_that_breaks_what_a_task_promises_is_refused(
    container: Any, field: str, make_tool: Make, make_task: Make, make_pod: Make
) -> None:
    reason, message = refusal(make_task(), make_tool(make_pod(**container)))

    assert reason is Reason.TOOL_INVALID
    assert message.startswith(f"{MAIN}.{field}")


@pytest.mark.parametrize("place", ["labels", "annotations"])
def test_keys_that_are_ours_are_refused_wherever_they_stand(
    place: str, make_tool: Make, make_task: Make, make_pod: Make
) -> None:
    metadata = {place: {"mcptasks.dev/task": "mt-other"}}
    on_the_job = make_tool(job={"metadata": metadata, "template": {"spec": make_pod()}})

    assert refusal(make_task(), on_the_job)[1].startswith(f"job.metadata.{place}: mcptasks.dev/task")
    assert refusal(make_task(), make_tool(metadata=metadata))[1].startswith(f"job.template.metadata.{place}: mcptasks")


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(
            {"initContainers": [{"name": "proxy", "image": "i", "restartPolicy": "Always"}]}, id="a sidecar restarts"
        ),
        pytest.param(
            {
                "containers": [
                    {"name": "other", "image": "i", "restartPolicy": "Never"},
                    {"name": "tool", "image": "i"},
                ]
            },
            id="a container beside the tool has rules of its own",
        ),
        pytest.param(
            {
                "initContainers": [
                    {
                        "name": "fetch",
                        "image": "i",
                        "terminationMessagePath": "/tmp/out",
                        "terminationMessagePolicy": "FallbackToLogsOnError",
                    }
                ]
            },
            id="a container beside the tool ends in its own words",
        ),
        pytest.param({"terminationGracePeriodSeconds": 86_400}, id="a day of grace"),
        pytest.param(
            {
                "containers": [
                    {
                        "name": "a",
                        "env": [{"name": "MY_ARG_A"}, {"name": "ARGS"}],
                        "volumeMounts": [{"name": "v", "mountPath": "/mcptasks"}],
                        "args": ["$$(ARG_UNKNOWN)", "$(OTHER)", "$ARG_UNKNOWN"],
                    }
                ]
            },
            id="names that only look like ours",
        ),
    ],
)
def test_what_breaks_no_promise_is_not_refused(pod: Any, make_tool: Make, make_task: Make, make_pod: Make) -> None:
    assert render(make_task(), make_tool({**make_pod(), **pod}))["kind"] == "Job"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "not a JSON object"),
        ("[1]", "not a JSON object"),
        ("{", "not a JSON object"),
        ('{"n": 1, "n": 2}', 'the member "n" occurs twice'),
        ('{"n": NaN}', "NaN"),
        ('{"n": "x"}', "/n: "),
        ('{"list": [1, "x"]}', "/list/1: "),
        ('{"a/b~c": 1}', "/a~1b~0c: "),
        ('{"n": 1, "extra": 2}', "extra"),
        ('{"n": 1.5, "list": 7}', "/n: 1.5"),
    ],
)
def test_arguments_that_break_the_schema_are_refused_with_the_pointer(
    arguments: str, message: str, make_tool: Make, make_task: Make
) -> None:
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "list": {"type": "array", "items": {"type": "integer"}},
            "a/b~c": {"type": "string"},
        },
        "additionalProperties": False,
    }

    reason, found = refusal(make_task(arguments), make_tool(inputSchema=schema))

    assert reason is Reason.ARGUMENTS_INVALID
    assert message in found


def test_arguments_that_only_an_exact_reader_accepts_are_accepted(make_tool: Make, make_task: Make) -> None:
    properties = {"n": {"type": "integer", "minimum": 2**63}, "s": {"type": "string", "maxLength": 1}}

    arguments = '{"n": 123456789012345678901234567890, "s": "\\ud800"}'

    assert render(make_task(arguments), make_tool(properties=properties))["kind"] == "Job"


def test_arguments_in_a_secret_are_not_checked(make_tool: Make, make_task: Make) -> None:
    tool = make_tool(inputSchema={"type": "object", "required": ["n"]})

    assert render(make_task(None, argumentsFrom={"secretName": "s"}), tool)["kind"] == "Job"


def test_a_secret_that_stands_in_the_task_is_refused_and_not_quoted(make_tool: Make, make_task: Make) -> None:
    """Somebody wrote it there by hand, or the tool was edited since it was called."""
    tool = make_tool(properties={"token": {"type": "string", "maxLength": 9, "writeOnly": True}, "n": {}})

    for text in ('{"token": "hunter2"}', '{"token": "hunter2 and more of it"}'):
        reason, message = refusal(make_task(text), tool)
        assert reason is Reason.ARGUMENTS_INVALID
        assert "token" in message
        assert "hunter2" not in message
    assert render(make_task('{"n": 1}'), tool)["kind"] == "Job"


def test_an_invalid_schema_is_the_tools_fault(make_tool: Make, make_task: Make) -> None:
    reason, message = refusal(make_task(), make_tool(inputSchema={"type": "nonsense"}))

    assert reason is Reason.TOOL_INVALID
    assert message.startswith("inputSchema: ")


@pytest.mark.parametrize("value", ["\\u0000", "\\ud800", "x" * 33_000])
def test_a_value_that_no_variable_holds_is_refused_where_the_command_takes_the_variable(
    value: str, make_tool: Make, make_task: Make, make_pod: Make
) -> None:
    tool = make_tool(make_pod(args=["--to=$(ARG_TO)"]), properties={"to": {}, "other": {}})

    reason, message = refusal(make_task(f'{{"to": "{value}"}}'), tool)

    assert reason is Reason.ARGUMENTS_INVALID
    assert message.startswith("/to: ")
    assert render(make_task(f'{{"other": "{value}"}}'), tool)["kind"] == "Job"


WORDS = (
    *("metadata", "labels", "annotations", "spec", "containers", "initContainers", "volumes", "tolerations"),
    *("name", "command", "args", "env", "envFrom", "prefix", "value", "volumeMounts", "mountPath", "resources"),
    *("limits", "securityContext", "capabilities", "add"),
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)


@given(anything, anything, anything)
def test_whatever_a_template_is_it_becomes_a_job_or_is_refused(
    make_tool: Make, make_task: Make, metadata: Any, pod: Any, container: Any
) -> None:
    words = container if isinstance(container, dict) else {}
    containers = {"containers": [{**words, "name": "tool"}]}
    template = {"metadata": metadata, "spec": {**containers, **(pod if isinstance(pod, dict) else {})}}
    try:
        job = render(make_task(), make_tool(job={"template": template}))
    except JobRefusedError as error:
        message = error.message
        event("refused")
    else:
        message = "job.template"
        assert job["spec"]["template"]["spec"]["containers"]
        event("rendered")

    assert message.startswith("job.template")
