"""All tools of a server as one list."""

import pytest
from structlog.testing import capture_logs

from mcptasks_server.catalogue import CombinedCatalogue
from mcptasks_server.errors import UnavailableError
from mcptasks_server.testing import FixedCatalogue, ready_tool
from mcptasks_server.toolpack import ToolPack
from mcptasks_server.toolpack.packs import packs_of
from mcptasks_server.toolpack.running import Runner
from mcptasks_server.tools import InlineTool


def inline(*names: str) -> tuple[InlineTool, ...]:
    """Tools of a pack."""
    pack = ToolPack("p")

    async def work() -> None: ...

    for name in names:
        pack.tool(name=name)(work)
    return packs_of([pack], runner=Runner()).tools


def test_a_packs_tools_come_first_in_their_own_order() -> None:
    catalogue = CombinedCatalogue(FixedCatalogue(ready_tool("b"), ready_tool("a")), packs=inline("z", "y"))

    assert [tool.name for tool in catalogue.tools()] == ["z", "y", "a", "b"]
    assert [catalogue.find(name) for name in ("z", "y", "a", "b")] == list(catalogue.tools())
    assert catalogue.find("c") is None


def test_a_mcptool_whose_name_a_pack_has_is_not_served_and_warned_of_once() -> None:
    jobs = FixedCatalogue(ready_tool("same"), ready_tool("other"))
    catalogue = CombinedCatalogue(jobs, packs=inline("same"))

    with capture_logs() as logs:
        listed = [catalogue.tools(), catalogue.tools()][-1]

    assert [tool.name for tool in listed] == ["same", "other"]
    assert isinstance(catalogue.find("same"), InlineTool)
    assert [log["tool"] for log in logs] == ["same"]


def test_a_mcptool_that_comes_back_is_warned_of_again() -> None:
    jobs = FixedCatalogue(ready_tool("same"))
    catalogue = CombinedCatalogue(jobs, packs=inline("same"))

    with capture_logs() as logs:
        catalogue.tools()
        jobs.offer()
        catalogue.tools()
        jobs.offer(ready_tool("same"))
        catalogue.tools()

    assert [log["tool"] for log in logs] == ["same", "same"]


def test_no_list_is_given_while_a_part_of_it_is_not_known() -> None:
    jobs = FixedCatalogue()
    jobs.is_known = False
    catalogue = CombinedCatalogue(jobs, packs=inline("mine"))

    assert catalogue.find("mine") is not None
    with pytest.raises(UnavailableError):
        catalogue.tools()
