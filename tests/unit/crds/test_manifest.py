"""The generated definitions: up to date, described throughout, and safe inside a Helm template."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcptasks_crds import manifest
from mcptasks_crds.manifest import CHART_TEMPLATES, custom_resource_definitions, main, templates

ROOT = Path(__file__).parents[3]
DEFINITIONS = {crd["spec"]["names"]["kind"]: crd for crd in custom_resource_definitions()}


def version(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = DEFINITIONS[kind]["spec"]["versions"][0]
    return found


def fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}.{name}", inner
        yield from fields(inner, f"{path}.{name}")
    for word in ("items", "additionalProperties"):
        if word in schema:
            yield from fields(schema[word], f"{path}[]")


def test_the_files_in_the_chart_are_what_the_models_say() -> None:
    assert main(["--check", str(ROOT / CHART_TEMPLATES)]) == 0


def test_a_check_names_what_is_stale_or_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 0
    assert main(["--check", str(tmp_path)]) == 0
    (tmp_path / "crd-mcptasks.yaml").write_text("old")
    (tmp_path / "crd-mcptools.yaml").unlink()
    assert main(["--check", str(tmp_path)]) == 1
    complaint = capsys.readouterr().err
    assert "crd-mcptasks.yaml is stale" in complaint
    assert "crd-mcptools.yaml is stale" in complaint
    assert (tmp_path / "crd-mcptasks.yaml").read_text() == "old"


@pytest.mark.parametrize("name", ["crd-mcptasks.yaml", "crd-mcptools.yaml"])
def test_a_template_without_its_helm_lines_is_the_definition(name: str) -> None:
    text = templates()[name]
    plain = re.sub(r"\{\{- /\*.*?\*/\}\}", "", text, flags=re.DOTALL)
    plain = "\n".join(line for line in plain.splitlines() if not line.lstrip().startswith("{{-"))
    definition = yaml.safe_load(plain)
    assert definition["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
    assert definition in custom_resource_definitions()
    assert "Do not edit" in text.splitlines()[1]


def test_braces_in_a_description_are_not_helms(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = {"names": {"plural": "xs"}, "description": "say {{ .Values.secret }} here"}
    definition = {"metadata": {"name": "xs.mcptasks.dev"}, "spec": spec}
    monkeypatch.setattr(manifest, "custom_resource_definitions", lambda: (definition,))
    assert 'say {{ "{{" }} .Values.secret }} here' in templates()["crd-xs.yaml"]


@pytest.mark.parametrize("kind", ["McpTask", "McpTool"])
def test_every_field_is_described(kind: str) -> None:
    schema = version(kind)["schema"]["openAPIV3Schema"]
    silent = [path for path, field in fields(schema) if not field.get("description") and path != ".metadata"]
    assert silent == []


@pytest.mark.parametrize("kind", ["McpTask", "McpTool"])
def test_status_is_a_subresource_with_no_defaults_and_no_demands_of_its_own(kind: str) -> None:
    assert version(kind)["subresources"] == {"status": {}}
    status = version(kind)["schema"]["openAPIV3Schema"]["properties"]["status"]
    assert "required" not in status
    assert [path for path, field in fields(status) if "default" in field] == []


def test_a_writer_of_the_report_may_name_one_leaf_alone() -> None:
    status = version("McpTask")["schema"]["openAPIV3Schema"]["properties"]["status"]
    assert "required" not in status["properties"]["report"]


def test_short_names_are_as_documented() -> None:
    assert DEFINITIONS["McpTask"]["spec"]["names"]["shortNames"] == ["mct"]
    assert DEFINITIONS["McpTool"]["spec"]["names"]["shortNames"] == ["mctool"]


def test_selectable_fields_are_required_texts_or_enumerations_and_at_most_eight() -> None:
    properties = dict(fields(version("McpTask")["schema"]["openAPIV3Schema"]))
    paths = [entry["jsonPath"] for entry in version("McpTask")["selectableFields"]]
    assert len(paths) <= 8
    assert all(properties[path]["type"] == "string" for path in paths)
