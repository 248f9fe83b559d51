"""What a caller sends is what the pod gets, byte for byte, on a real kubelet and in an image built for root."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mcptasks_crds.arguments import MAX_VALUE_BYTES
from mcptasks_crds.tool import McpTool

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(240)]

Make = Callable[..., McpTool]
RunCall = Callable[[McpTool, str], Awaitable[Any]]

HOSTILE = {
    "injection": '"; id #"',
    "substitution": '"`id` $(id) ${HOME}"',
    "secret": '"x $(DB) y"',
    "service": '"$(KUBERNETES_SERVICE_HOST)"',
    "dollars": '"$$ $$$ $ $("',
    "other": '"$(ARG_INJECTION)"',
    "emoji": '"\\ud83d\\ude00 \N{GRINNING FACE}"',
    "newline": '"a\\nb\\r\\n\\tc\\n"',
    "quotes": '"\\"\' \\\\ \\/"',
    "separators": '"a\\u2028b\u2029c\u0085d"',
    "control": '"\\u0001\\u001b\\u007f"',
    "empty": '""',
    "null": "null",
    "one": "1.0",
    "tiny": "1e-400",
    "big": "123456789012345678901234567890",
    "deep": '{"b" : 1.0,\n  "a": [null, "\\u0000", "\\ud800", "$(DB)"]}',
    "nul": '"a\\u0000b"',
    "half": '"\\ud800"',
    "flag": "true",
}
"""Each argument as it is written in JSON."""


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def expected_variables(sources: Mapping[str, str], *, default: str = "") -> dict[str, str]:
    """By Python's own JSON reader: what each variable should hold; what none can hold is left out."""
    expected: dict[str, str] = {}
    for name, source in sources.items():
        value = source if not source.startswith('"') else json.loads(source)
        is_text = value.encode("utf-8", "replace").decode() == value
        if is_text and "\0" not in value and len(value.encode()) <= MAX_VALUE_BYTES:
            expected[f"ARG_{name.upper()}"] = digest(value)
    return {**expected, "ARG_OMITTED": digest(""), "ARG_DEFAULTED": digest(default)}


def written(sources: Mapping[str, str]) -> str:
    return "{" + ",\n ".join(f'"{name}" : {source}' for name, source in sources.items()) + "}"


async def test_hostile_arguments_come_out_of_the_pod_as_they_went_in(make_tool: Make, run_call: RunCall) -> None:
    default = "$(DB); `id`\n$$"
    text = written(HOSTILE)

    ran = await run_call(make_tool(HOSTILE, default=default), text)

    for container in ("first", "main"):
        report = ran.reports[container]
        assert report["variables"] == expected_variables(HOSTILE, default=default)
        assert report["file"] == digest(text)
        assert report["secret"] == "TOPSECRET"
    assert ran.reports["main"]["words"] == [digest(default), digest(f"--x={default}")]


async def test_arguments_of_200_kib_come_out_of_the_pod_as_they_went_in(make_tool: Make, run_call: RunCall) -> None:
    sources = {
        **HOSTILE,
        "long": json.dumps("\u00e9$(DB)\n" * 20_000, ensure_ascii=False),
        "longest": json.dumps("x" * MAX_VALUE_BYTES),
    }
    text = written(sources)

    ran = await run_call(make_tool(sources, default="$(DB)"), text)

    assert len(text.encode()) > 200 * 1024
    for report in ran.reports.values():
        assert report["variables"] == expected_variables(sources, default="$(DB)")
        assert "ARG_LONG" not in report["variables"]
        assert "ARG_LONGEST" in report["variables"]
        assert report["file"] == digest(text)
    assert ran.reports["main"]["words"] == [digest("$(DB)"), digest("--x=$(DB)")]


async def test_an_image_built_for_root_runs_restricted(make_tool: Make, run_call: RunCall) -> None:
    ran = await run_call(make_tool(()), "{}")

    report = ran.reports["main"]
    assert report["user"] == [65532, False, False]
    assert report["home"] == ["/tmp", True]
    assert report["token"] is False
    assert report["told"] == {
        "MCPTASK_ID": ran.pod["metadata"]["labels"]["mcptasks.dev/task"],
        "MCPTASK_TOOL": "report",
        "MCPTASK_ARGUMENTS": "/mcptask/arguments.json",
        "MCPTASK_ANSWERS": "/mcptask/answers.json",
        "MCPTASK_RESULT": "/dev/termination-log",
    }


def source_of(text: str, ascii_only: bool) -> str:
    halves = any("\ud800" <= character <= "\udfff" for character in text)
    return json.dumps(text, ensure_ascii=ascii_only or halves)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
sources_of_one = (
    st.builds(source_of, st.text(st.characters(exclude_categories=())), st.booleans())
    | st.lists(st.sampled_from(["$", "(", ")", "DB", "ARG_P1", ";id", "\n", "'", '"', "\\"]))
    .map("".join)
    .map(json.dumps)
    | st.from_regex(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,3})?", fullmatch=True)
    | st.builds(json.dumps, json_values, indent=st.sampled_from([None, 1]))
)
calls = st.tuples(st.lists(sources_of_one, max_size=24), st.sampled_from([0, 20_000]))
"""What is written for each argument, and how much more there is: with more, the arguments go by a Secret."""


@settings(
    max_examples=5,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # an example takes seconds: no time to make it smaller
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(calls, min_size=3, max_size=3))
async def test_any_arguments_come_out_of_the_pod_as_they_went_in(
    make_tool: Make, run_call: RunCall, together: list[tuple[list[str], int]]
) -> None:
    async def run_one(values: list[str], padding: int) -> None:
        sources = {f"p{index}": source for index, source in enumerate(values)}
        sources["padding"] = json.dumps("x" * padding)
        ran = await run_call(make_tool(sources), written(sources))
        for report in ran.reports.values():
            assert report["variables"] == expected_variables(sources)
            assert report["file"] == digest(written(sources))

    await asyncio.gather(*(run_one(values, padding) for values, padding in together))
