"""The table of clients in docs/clients.md says of each what the tests on a cluster try, and nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcptasks_crds.tool import DEFAULT_HOLD_SECONDS

ROOT = Path(__file__).parents[3]
PAGE = "docs/clients.md"
CLIENTS = yaml.safe_load((ROOT / "tests" / "clients" / "cases.yaml").read_text())
CASES = ("list", "result", "tool error", "failure", "cancel", "question", "progress", "restart")


def test_the_table_shows_what_is_tried_with_each_client(page: Callable[[str], Any]) -> None:
    shown = {
        (row["client"], row["wire"], row["door"]): {case: row[case] for case in CASES}
        for row in page(PAGE).rows("client")
    }

    assert shown == {
        (client["name"].replace("`", ""), str(client["wire"]), client["door"]): {
            case: "yes" if case in client["cases"] else "no" if case in client.get("missing", {}) else ""
            for case in CASES
        }
        for client in CLIENTS.values()
    }


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_that_is_asked_also_says_no_and_what_it_lacks_is_not_tried(client: str) -> None:
    cases, missing = CLIENTS[client]["cases"], CLIENTS[client].get("missing", {})

    assert ("question" in cases) == ("refusal" in cases)
    assert not cases.keys() & missing.keys()


def test_the_versions_are_those_that_are_installed(page: Callable[[str], Any]) -> None:
    pins = "".join(file.read_text() for file in sorted((ROOT / "tests" / "clients").glob("*/requirements.in")))
    node = (ROOT / "tests" / "node" / "clients" / "package.json").read_text()
    text = page(PAGE).prose()

    assert "fastmcp-tasks==4.1.4" in pins
    assert "fastmcp-tasks 4.1.4" in text
    assert "mcp==1.30.0" in pins
    assert "SDK 1.30.0" in text
    for package, version in (("client", "2.4.0"), ("ext-tasks", "0.2.2"), ("inspector", "2.12.0")):
        assert f'"@modelcontextprotocol/{package}": "{version}"' in node
        assert version in text


def test_a_call_is_held_as_long_as_the_page_says(page: Callable[[str], Any]) -> None:
    assert f"if the tool is done within {DEFAULT_HOLD_SECONDS} s" in page(PAGE).text
