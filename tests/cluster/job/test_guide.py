"""docs/authors-guide.md, done from its beginning to its end on a real cluster."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from mcptasks_devcluster.productimage.building import image_name

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(600)]

ROOT: Final = Path(__file__).parents[3]
PAGE: Final = (ROOT / "docs" / "authors-guide.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


async def test_the_commands_of_the_authors_guide_print_what_it_shows(shell: Callable[..., str], tmp_path: Path) -> None:
    for block in (*blocks("python"), *blocks("yaml")):
        name = re.match(r"# (\S+)\n", block)
        assert name is not None
        (tmp_path / name[1]).write_text(block.replace("mcptasks:dev", image_name("runtime", tag="test")), "utf-8")

    shown = blocks("console")
    for block in shown:
        script = "\n".join(re.findall(r"^\$ (.*)$", block, re.MULTILINE))
        printed = await asyncio.to_thread(shell, script, folder=tmp_path)  # the way to the server is this loop's work
        assert printed == re.sub(r"^\$ .*\n", "", block, flags=re.MULTILINE)
    assert len(shown) == 7
