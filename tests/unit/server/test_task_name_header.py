"""Requests about tasks without `Mcp-Name`: refused, unless the one setting for clients that leave it out says no."""

import pytest
from multidict import CIMultiDict

from mcptasks_server.errors import HeaderMismatchError
from mcptasks_server.headers import TASK_METHODS, check_routing

ID = "mt-" + "a" * 32


def routing(method: str, **headers: str) -> CIMultiDict[str]:
    return CIMultiDict({"Mcp-Method": method} | {name.replace("_", "-"): value for name, value in headers.items()})


def test_the_methods_of_tasks_are_the_three_that_name_a_task() -> None:
    assert {"tasks/get", "tasks/update", "tasks/cancel"} == TASK_METHODS


@pytest.mark.parametrize("method", sorted(TASK_METHODS))
def test_a_tasks_name_may_be_left_out_only_where_the_setting_says_so(method: str) -> None:
    check_routing(routing(method), method=method, params={"taskId": ID}, require_task_name=False)

    with pytest.raises(HeaderMismatchError, match="Mcp-Name header is required"):
        check_routing(routing(method), method=method, params={"taskId": ID})


@pytest.mark.parametrize("method", sorted(TASK_METHODS))
@pytest.mark.parametrize("value", ["other", "", "=?base64?!!?="])
def test_a_name_that_is_there_is_compared_all_the_same(method: str, value: str) -> None:
    headers = routing(method, Mcp_Name=value)

    with pytest.raises(HeaderMismatchError):
        check_routing(headers, method=method, params={"taskId": ID}, require_task_name=False)


@pytest.mark.parametrize(("method", "parameter"), [("tools/call", "name"), ("resources/read", "uri")])
def test_other_names_are_required_whatever_the_setting_says(method: str, parameter: str) -> None:
    with pytest.raises(HeaderMismatchError, match="Mcp-Name"):
        check_routing(routing(method), method=method, params={parameter: "echo"}, require_task_name=False)
