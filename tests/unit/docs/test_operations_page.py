"""docs/operations.md names metrics, values and rights as they are in the code and in the chart."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from prometheus_client import CollectorRegistry, generate_latest

from mcptasks_operator.metrics import Metrics as OperatorMetrics
from mcptasks_operator.service import Operator
from mcptasks_operator.settings import Settings
from mcptasks_server.metrics import Metrics as ServerMetrics

ROOT = Path(__file__).parents[3]
CHART = ROOT / "charts" / "mcptasks"
PAGE = "docs/operations.md"


async def test_the_metrics_are_those_that_are_exported(page: Callable[[str], Any]) -> None:
    listed = {row["metric"]: row["type"] for row in page(PAGE).rows("metric")}
    # The operator puts its gauges together from its parts; none of them is used here.
    operator = Operator(settings=Settings(namespace="n"), kube=None, cluster=None)  # type: ignore[arg-type]

    assert listed == {**exported(operator.metrics.registry), **exported(ServerMetrics().registry)}
    assert isinstance(operator.metrics, OperatorMetrics)


def exported(registry: CollectorRegistry) -> dict[str, str]:
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", generate_latest(registry).decode(), re.MULTILINE))


def test_every_value_of_the_chart_that_is_named_exists(page: Callable[[str], Any]) -> None:
    values = set(paths(yaml.safe_load((CHART / "values.yaml").read_text())))
    rows = [name for row in page(PAGE).rows("value") for name in row["value"].split(", ")]
    pages = "".join(page(path).prose() for path in (PAGE, "docs/clients.md", "docs/tools.md"))
    first = "|".join(sorted({each.partition(".")[0] for each in values}))
    named = set(re.findall(rf"`((?:{first})\.[A-Za-z]+(?:\.[A-Za-z]+)*)(?:=\w+)?`", pages))

    assert set(rows) <= values
    assert named <= values
    assert len(named) >= 8


def paths(values: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for name, value in values.items():
        yield above + name
        if isinstance(value, dict):
            yield from paths(value, f"{above}{name}.")


def test_the_rights_are_the_charts_own(page: Callable[[str], Any]) -> None:
    listed = {
        (row["service"], resource): row["verbs"]
        for row in page(PAGE).rows("service")
        for resource in row["resource"].split(", ")
    }

    assert listed == {
        (service, resource): ", ".join(rule["verbs"])
        for service in ("operator", "server")
        for rule, resource in rules(service)
    }


def rules(service: str) -> Iterator[tuple[dict[str, Any], str]]:
    text = (CHART / "templates" / service / "role.yaml").read_text()
    (block,) = re.findall(r"^rules:\n((?:  .*\n)+)", text, re.MULTILINE)
    for rule in yaml.safe_load(re.sub(r"^ *\{\{.*\}\}\n", "", block, flags=re.MULTILINE)):  # all that there may be
        for resource in rule["resources"]:
            named = " named " + " ".join(rule["resourceNames"]) if "resourceNames" in rule else ""
            yield rule, resource + named


def test_the_ports_are_those_of_the_chart(page: Callable[[str], Any]) -> None:
    rows = {row["what"]: row["ports"] for row in page(PAGE).rows("what")}
    for service in ("operator", "server"):
        text = (CHART / "templates" / service / "deployment.yaml").read_text()
        assert re.findall(r"\d{4}", rows[service]) == re.findall(r"containerPort: (\d+)", text)
