"""The examples as tools: what they promise to clients, and that their pods run what is there."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcptasks_crds.schemas import Schema
from mcptasks_crds.tool import McpTool

ROOT = Path(__file__).parents[3]
NAMES = [path.stem for path in sorted((ROOT / "examples" / "tools").glob("*.yaml"))]


def containers(tool: McpTool) -> list[dict[str, Any]]:
    pod = tool.spec.job.template["spec"]
    return [*pod.get("initContainers", ()), *pod["containers"]]


def test_there_are_examples() -> None:
    assert NAMES == ["deploy-shop", "run-tests", "summarize-table", "train-classifier"]


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_is_described_for_people_models_and_programs(name: str, tool: Callable[[str], McpTool]) -> None:
    spec = tool(name).spec

    assert tool(name).metadata.name == name
    assert spec.title
    assert spec.annotations is not None
    assert isinstance(spec.annotations["readOnlyHint"], bool)
    assert spec.output_schema is not None
    assert all(part["description"] for part in spec.input_schema["properties"].values())


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_can_be_called_without_arguments_and_its_defaults_are_allowed(
    name: str, tool: Callable[[str], McpTool]
) -> None:
    schema = tool(name).spec.input_schema
    defaults = {key: part["default"] for key, part in schema["properties"].items()}

    assert Schema(schema).violation({}) is None
    assert Schema(schema).violation(defaults) is None
    assert set(defaults) == set(schema["properties"])


@pytest.mark.parametrize("name", NAMES)
def test_every_program_that_a_pod_runs_is_in_the_image(name: str, tool: Callable[[str], McpTool]) -> None:
    for container in containers(tool(name)):
        python, program, *_ = container["command"]
        assert python == "python"
        assert (ROOT / Path(program).relative_to("/src")).is_file()
        assert container["image"] == "mcptasks-examples:dev"


def test_what_the_shop_is_made_of_is_there(tool: Callable[[str], McpTool]) -> None:
    documents = yaml.safe_load_all((ROOT / "examples" / "shop.yaml").read_text("utf-8"))
    objects = {(each["kind"], each["metadata"]["name"]): each for each in documents}
    spec = tool("deploy-shop").spec
    (question,) = spec.questions

    assert ("ServiceAccount", spec.job.template["spec"]["serviceAccountName"]) in objects
    (deployment,) = objects["Role", "shop-deployer"]["rules"][0]["resourceNames"]
    assert ("Deployment", deployment) in objects
    assert question.approvers is not None
    bound = objects["RoleBinding", "shop-approver"]["subjects"]
    assert tuple(subject["name"] for subject in bound) == question.approvers.groups
