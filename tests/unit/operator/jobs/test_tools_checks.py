"""Whether a tool is fit to be called, as far as that is known without a cluster."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_crds import names
from mcptasks_crds.tool import McpTool
from mcptasks_operator.tool_checks import ToolFault, environment_gap, name_conflicts, tool_problems, trial_job

Make = Callable[..., Any]


def question(key: str, *, message: str = "Sure?", properties: Any = None) -> Any:
    form = {"type": "object", "properties": properties or {"sure": {"type": "boolean"}}}
    return {"key": key, "message": message, "requestedSchema": form, "when": "beforeStart"}


def test_a_good_tool_has_no_problems(make_tool: Make, make_pod: Make) -> None:
    properties = {"branch": {"type": "string"}, "n": {"type": "integer", "default": 3}}
    tool = make_tool(
        make_pod(command=["sh", "-c", 'git checkout "$ARG_BRANCH"', "$(ARG_N)"]),
        inputSchema={"type": "object", "properties": properties, "required": ["branch"]},
        outputSchema={"type": "object"},
        questions=[question("sure"), question("who", properties={"who": {"type": "string", "format": "email"}})],
    )

    assert tool_problems(tool) == ()
    assert environment_gap(tool) is None


@pytest.mark.parametrize(
    ("spec", "fault", "text"),
    [
        pytest.param({"inputSchema": {"type": 7}}, ToolFault.SCHEMA_INVALID, "inputSchema: /type: 7", id="no type"),
        pytest.param(
            {"inputSchema": {"type": "object", "properties": {"a": {"pattern": "("}}}},
            ToolFault.SCHEMA_INVALID,
            "inputSchema: ",
            id="no regular expression",
        ),
        pytest.param(
            {"inputSchema": {"type": "object", "$ref": "https://example.com/s"}},
            ToolFault.SCHEMA_INVALID,
            "inputSchema: ",
            id="a schema from elsewhere",
        ),
        pytest.param(
            {"inputSchema": {"type": "string"}},
            ToolFault.SCHEMA_INVALID,
            "inputSchema.type: must be object, not string",
            id="arguments that are no object",
        ),
        pytest.param(
            {"outputSchema": {}},
            ToolFault.SCHEMA_INVALID,
            "outputSchema.type: must be object, not absent",
            id="a result of any type",
        ),
        pytest.param(
            {"inputSchema": {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "a b"}}}},
            ToolFault.SCHEMA_INVALID,
            "inputSchema: x-mcp-header: each must be an HTTP token",
            id="a header that is none",
        ),
        pytest.param(
            {"inputSchema": {"type": "object", "additionalProperties": {"writeOnly": True}}},
            ToolFault.SCHEMA_UNSUPPORTED,
            "inputSchema: writeOnly outside of properties",
            id="a secret without a name",
        ),
        pytest.param(
            {"questions": [question("ok"), question("sure", properties={"a": {"type": "string", "pattern": "a"}})]},
            ToolFault.QUESTION_INVALID,
            "questions[sure].requestedSchema: /properties/a: ",
            id="a question that no client could show",
        ),
        pytest.param(
            {"questions": [question("sure", properties={"a": {"type": "string", "title": "<" * 2731}})]},
            ToolFault.QUESTION_INVALID,
            "questions[sure].requestedSchema: takes 16",
            id="a question that a task could not keep",
        ),
        pytest.param(
            {"questions": [question(f"q{n}", message="<" * 683) for n in range(8)]},
            ToolFault.QUESTION_INVALID,
            "questions: take 33",
            id="more questions than a task could keep",
        ),
        pytest.param(
            {"job": {"template": {"spec": {"restartPolicy": "Always", "containers": [{"name": "a"}]}}}},
            ToolFault.JOB_REFUSED,
            "job.template.spec.restartPolicy: Always",
            id="a template that is refused",
        ),
        pytest.param(
            {"job": {"template": {"spec": {"containers": [{"name": "a", "args": ["$(ARG_NO)"]}]}}}},
            ToolFault.JOB_REFUSED,
            "job.template.spec.containers[0].args[0]: $(ARG_NO): no property of inputSchema has that variable",
            id="a variable that is not there",
        ),
        pytest.param(
            {
                "inputSchema": {"type": "object", "properties": {"password": {"writeOnly": True}}},
                "job": {"template": {"spec": {"containers": [{"name": "a", "args": ["$(ARG_PASSWORD)"]}]}}},
            },
            ToolFault.JOB_REFUSED,
            "job.template.spec.containers[0].args[0]: $(ARG_PASSWORD): the property password has no variable: it is w",
            id="a secret as a variable",
        ),
    ],
)
def test_each_problem_names_its_field(spec: Any, fault: ToolFault, text: str, make_tool: Make) -> None:
    first, *more = tool_problems(make_tool(**spec))

    assert first.fault is fault
    assert str(first).startswith(text)
    assert more == []


def test_an_unsafe_expansion_is_refused_and_the_cure_is_told(make_tool: Make, make_pod: Make) -> None:
    pod = make_pod(command=["sh", "-c", "git checkout $(ARG_BRANCH)"])

    (problem,) = tool_problems(make_tool(pod, properties={"branch": {}}))

    assert problem.fault is ToolFault.UNSAFE_EXPANSION
    assert problem.field == "job.template.spec.containers[0].command[2]"
    assert '"$ARG_BRANCH"' in problem.message
    assert "the arguments file" in problem.message
    assert "a program that does not interpret it" in problem.message


def test_all_problems_are_told_at_once(make_tool: Make) -> None:
    tool = make_tool(
        {"restartPolicy": "Always", "containers": [{"name": "a"}]},
        inputSchema={"type": "array"},
        outputSchema={"type": "nonsense"},
    )

    assert {problem.field for problem in tool_problems(tool)} == {"inputSchema.type", "outputSchema", ""}


def test_the_gap_names_each_property_that_is_only_in_the_file(make_tool: Make) -> None:
    gap = environment_gap(make_tool(properties={"a-b": {}, "a_b": {}, "fine": {}, "long": {"default": "x" * 40_000}}))

    assert gap is not None
    assert all(name in gap for name in ("a-b", "a_b", "long", "32 KiB", "$MCPTASK_ARGUMENTS"))
    assert "fine" not in gap


def test_a_named_secret_is_only_in_the_file(make_tool: Make) -> None:
    definitions = {"t": {"type": "string", "writeOnly": True}}
    schema = {"type": "object", "properties": {"token": {"$ref": "#/$defs/t"}}, "$defs": definitions}
    tool = make_tool(inputSchema=schema)

    assert tool_problems(tool) == ()
    assert "token: it is writeOnly" in (environment_gap(tool) or "")


def test_a_secret_must_not_stand_in_a_header(make_tool: Make) -> None:
    token = {"type": "string", "x-mcp-header": "Token"}
    nested = {"type": "object", "properties": {"token": token | {"writeOnly": True}}}
    fine = make_tool(inputSchema={"type": "object", "properties": {"token": token, "other": {"writeOnly": True}}})

    assert tool_problems(fine) == ()
    for name, schema in (("token", token | {"writeOnly": True}), ("login", nested)):
        (problem,) = tool_problems(make_tool(inputSchema={"type": "object", "properties": {name: schema}}))
        assert problem.fault is ToolFault.SCHEMA_UNSUPPORTED
        assert problem.field == f"inputSchema.properties.{name}"
        assert "x-mcp-header at a secret" in problem.message


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"additionalProperties": {"writeOnly": True}},
        {"patternProperties": {"^x": {"writeOnly": True}}},
        {"allOf": [{"properties": {"a": {"writeOnly": True}}}]},
        {"$ref": "#/$defs/arguments", "$defs": {"arguments": {"properties": {"a": {"writeOnly": True}}}}},
        {"$ref": "#anchor", "$defs": {"a": {"$anchor": "anchor", "properties": {"a": {"writeOnly": True}}}}},
        {"writeOnly": True},
    ],
    ids=str,
)
def test_a_secret_without_a_name_of_its_own_is_refused(elsewhere: dict[str, Any], make_tool: Make) -> None:
    (problem,) = tool_problems(make_tool(inputSchema={"type": "object", "properties": {"a": {}}} | elsewhere))

    assert problem.fault is ToolFault.SCHEMA_UNSUPPORTED
    assert "writeOnly outside of properties" in problem.message


@pytest.mark.parametrize("place", ["template", "inputSchema", "outputSchema", "questions"])
def test_a_tool_that_is_nested_too_deeply_is_a_problem_and_no_crash(
    place: str, make_tool: Make, make_pod: Make
) -> None:
    deep: Any = {}
    for _ in range(2000):
        deep = {"x": deep}
    schema = {"type": "object", "properties": {"a": {"default": deep}}}
    spec: dict[str, Any] = {place: schema}
    if place == "template":
        spec = {"job": {"template": {"spec": {**make_pod(), "x": deep}}}}
    if place == "questions":
        spec = {place: [question("sure", properties={"a": {"type": "string", "default": deep}})]}

    problems = tool_problems(make_tool(**spec))

    assert any("deeply" in str(problem) or "Recursion" in str(problem) for problem in problems)
    assert environment_gap(make_tool(**spec)) is None


def test_the_trial_takes_no_arguments_and_the_name_of_no_task(make_tool: Make) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    job = trial_job(make_tool(inputSchema=schema))

    assert job["metadata"]["namespace"] == "tools"
    assert not names.is_task_id(job["metadata"]["name"])
    assert {"name": "ARG_N", "value": ""} in job["spec"]["template"]["spec"]["containers"][0]["env"]


def tool_of(resource: str, *, created: str | None, name: str | None = None) -> McpTool:
    return McpTool.model_validate(
        {
            "metadata": {"name": resource, "creationTimestamp": created},
            "spec": {"name": name, "description": "x", "job": {"template": {}}},
        }
    )


@pytest.mark.requirement("tools/names")
def test_the_oldest_tool_has_the_name() -> None:
    tools = [
        tool_of("young", created="2026-03-01T00:00:00Z", name="build"),
        tool_of("build", created="2026-02-01T00:00:00Z"),
        tool_of("old", created="2026-01-01T00:00:00Z", name="build"),
        tool_of("other", created="2026-04-01T00:00:00Z"),
    ]

    conflicts = name_conflicts(tools)

    assert conflicts.keys() == {"young", "build"}
    assert conflicts["young"].fault is ToolFault.NAME_TAKEN
    assert "old" in conflicts["young"].message


@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "c", "d", "e"]),
        st.tuples(st.sampled_from(["x", "y"]), st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", None])),
    ),
    st.randoms(use_true_random=False),
)
def test_each_name_has_one_owner_whatever_the_order(tools: dict[str, tuple[str, str | None]], random: Any) -> None:
    made = [tool_of(resource, created=created, name=name) for resource, (name, created) in tools.items()]
    conflicts = name_conflicts(made)
    random.shuffle(made)

    assert name_conflicts(made) == conflicts
    for name in {name for name, _ in tools.values()}:
        owners = [resource for resource, (owned, _) in tools.items() if owned == name and resource not in conflicts]
        assert len(owners) == 1
