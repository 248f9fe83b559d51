"""Values: each is documented, used, checked, and shown in the chart's README."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

pytestmark = pytest.mark.apiserver  # helm is built where it is not there


def test_every_value_is_documented_where_it_stands(default_values: Mapping[str, Any], documented_values: Any) -> None:
    documented = {value.path for value in documented_values}

    undocumented = [path for path in leaves(default_values) if not any(is_below(path, known) for known in documented)]

    assert undocumented == []


def test_every_documented_value_is_used_by_a_template(chart: Path, documented_values: Any) -> None:
    templates = "\n".join(path.read_text() for path in (chart / "templates").rglob("*") if path.is_file())
    # A helper that puts the image into a variable reads its parts from there.
    templates = templates.replace("$image.", ".Values.image.")

    unused = [
        value.path
        for value in documented_values
        if not re.search(rf"\.Values\.{re.escape(value.path)}\b(?!\.)", templates)
    ]

    assert unused == []


def test_the_values_that_turn_on_everything_name_every_value(
    documented_values: Any, everything: Mapping[str, Any], default_values: Mapping[str, Any]
) -> None:
    set_there = set(leaves(everything))

    forgotten = [value.path for value in documented_values if not any(is_below(path, value.path) for path in set_there)]

    assert forgotten == []


def test_the_schema_takes_the_defaults_and_everything(
    chart: Path, default_values: Mapping[str, Any], everything: Mapping[str, Any]
) -> None:
    schema = json.loads((chart / "values.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)

    for values in (default_values, everything):
        jsonschema.validate(values, schema, cls=jsonschema.Draft7Validator)


def test_the_schema_knows_exactly_the_values_that_there_are(chart: Path, documented_values: Any) -> None:
    schema = json.loads((chart / "values.schema.json").read_text())

    known = set(schema_paths(schema, schema)) - {"global"}

    documented = {value.path for value in documented_values}
    assert [
        path for path in known if not any(is_below(path, value) or is_below(value, path) for value in documented)
    ] == []
    assert {value for value in documented if value not in known} == set()


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"replicas": 3}, "replicas"),
        ({"server": {"replica": 3}}, "replica"),
        ({"server": {"replicas": "3"}}, "replicas"),
        ({"server": {"service": {"type": "External"}}}, "type"),
        ({"server": {"allowedHosts": ["a, b"]}}, "allowedHosts"),
        ({"image": {"name": "mcptasks"}}, "name"),
        ({"image": {"digest": "latest"}}, "digest"),
        ({"imagePullSecrets": ["secret"]}, "imagePullSecrets"),
        ({"logLevel": "chatty"}, "logLevel"),
        ({"operator": {"replicas": -1}}, "replicas"),
        ({"podSecurityContext": {"runAsUser": 0}}, "runAsUser"),
        ({"podSecurityContext": {"runAsNonRoot": False}}, "runAsNonRoot"),
        ({"tasks": {"namespace": "Not_A_Namespace"}}, "namespace"),
        ({"networkPolicy": {"clients": [{"podSelektor": {}}]}}, "podSelektor"),
    ],
)
def test_a_value_that_is_wrong_or_unknown_is_refused_by_name(
    values: dict[str, Any], named: str, refusal_of: Callable[[Mapping[str, Any]], str]
) -> None:
    said = refusal_of(values)

    assert "values don't meet the specifications of the schema" in said
    assert named in said


def test_tokens_that_no_mode_asks_for_are_refused(refusal_of: Callable[[Mapping[str, Any]], str]) -> None:
    said = refusal_of({"server": {"authentication": {"tokensSecret": "tokens"}}})

    assert "server.authentication.mode is not tokens" in said


def test_the_readme_shows_the_values_as_they_are(chart: Path, documented_values: Any) -> None:
    rows = [f"| `{value.path}` | {value.comment} | `{json.dumps(value.default)}` |" for value in documented_values]
    table = "\n".join(["| value | what it is | default |", "| --- | --- | --- |", *rows])

    readme = (chart / "README.md").read_text()

    assert table in readme, f"charts/mcptasks/README.md should have this table:\n{table}"


def test_the_chart_installs_the_version_that_it_comes_with(chart: Path) -> None:
    project = tomllib.loads((chart.parents[1] / "pyproject.toml").read_text())["project"]

    assert yaml.safe_load((chart / "Chart.yaml").read_text())["appVersion"] == project["version"]


def leaves(values: Mapping[str, Any], *, above: str = "") -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, above=f"{above}{name}.")
        else:
            yield f"{above}{name}"


def is_below(path: str, value: str) -> bool:
    return path == value or path.startswith(f"{value}.")


def schema_paths(schema: Mapping[str, Any], root: Mapping[str, Any], *, above: str = "") -> Iterator[str]:
    if reference := schema.get("$ref"):
        schema = root["definitions"][reference.removeprefix("#/definitions/")]
    for name, part in schema.get("properties", {}).items():
        yield f"{above}{name}"
        yield from schema_paths(part, root, above=f"{above}{name}.")
