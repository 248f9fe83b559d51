"""What a tool gives, as MCP's result."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from mcptasks.job import JobError, NoEndpointError, Part, audio, file, image, link, text_part
from mcptasks.job.endpoint import json_body
from mcptasks.job.files import write_result
from mcptasks.job.results import result_from, result_of
from mcptasks_server.taskendpoint.bodies import result_body

PNG = b"\x89PNG\r\n\x1a\n rest"


@dataclass
class Summary:
    rows: int


class Model(BaseModel):
    row_count: int = Field(alias="rowCount")


@pytest.mark.parametrize(
    ("value", "texts", "structured"),
    [
        (None, [], None),
        ("done", ["done"], None),
        (3, ["3"], None),
        ([1, "a"], ['[1, "a"]'], None),
        ({"rows": 1}, ['{"rows": 1}'], {"rows": 1}),
        (Summary(rows=2), ['{"rows": 2}'], {"rows": 2}),
        (Model(rowCount=3), ['{"rowCount": 3}'], {"rowCount": 3}),
        ([text_part("a"), "b", 4], ["a", "b", "4"], None),
    ],
)
def test_what_a_function_returns_becomes_the_result(value: Any, texts: list[str], structured: Any) -> None:
    result = result_from(value)

    assert [part["text"] for part in result["content"]] == texts
    assert result.get("structuredContent") == structured
    assert result["isError"] is False


@pytest.mark.parametrize("value", [float("nan"), {"a": float("inf")}, object(), {"a": {1, 2}}])
def test_what_json_cannot_hold_is_refused_with_words(value: Any) -> None:
    with pytest.raises(JobError, match="cannot be written as JSON"):
        result_from(value)


def test_what_json_cannot_hold_is_refused_beside_a_text_too() -> None:
    with pytest.raises(JobError, match="cannot be written as JSON"):
        result_of("done", structured={"loss": float("nan")})


def test_structured_content_must_be_an_object() -> None:
    with pytest.raises(JobError, match="structured: must be an object"):
        result_of(structured=[1])


@pytest.mark.parametrize(
    ("part", "kind", "mime_type"),
    [
        (image(PNG), "image", "image/png"),
        (image(b"\xff\xd8\xff"), "image", "image/jpeg"),
        (image(b"RIFF    WEBP"), "image", "image/webp"),
        (image(b"anything", mime_type="image/x"), "image", "image/x"),
        (audio(b"RIFF    WAVE"), "audio", "audio/wav"),
        (audio(b"OggS"), "audio", "audio/ogg"),
    ],
)
def test_media_are_told_by_their_first_bytes(part: Part, kind: str, mime_type: str) -> None:
    assert (part.block["type"], part.block["mimeType"]) == (kind, mime_type)
    assert base64.b64decode(part.block["data"])


def test_media_whose_kind_cannot_be_told_are_refused() -> None:
    with pytest.raises(ValueError, match="mime_type"):
        image(b"who knows")
    with pytest.raises(ValueError, match="mime_type"):
        audio(PNG)


def test_files_are_text_where_they_can_be(tmp_path: Path) -> None:
    (tmp_path / "a b.csv").write_text("x,y\n")
    (tmp_path / "c.bin").write_bytes(b"\xff\x00")

    first, second = (file(tmp_path / name).block["resource"] for name in ("a b.csv", "c.bin"))

    assert first == {"uri": "file:///a%20b.csv", "mimeType": "text/csv", "text": "x,y\n"}
    assert second == {"uri": "file:///c.bin", "mimeType": "application/octet-stream", "blob": "/wA="}
    with pytest.raises(ValueError, match="name"):
        file(b"bytes")


def test_every_part_is_one_that_clients_and_the_server_take() -> None:
    parts = [image(PNG), audio(b"ID3"), file(b"\xff", name="x"), file(b"x", name="y"), link("https://x/y", name="y")]
    result = result_of("done", structured={"a": 1.0}, parts=parts)

    assert len(CallToolResult.model_validate(result).content) == 6
    assert json.loads(result_body(json_body(result)).text) == result


def test_halves_of_surrogate_pairs_become_what_can_be_sent() -> None:
    body = json_body(result_of("a\ud800b \ud83d\ude00", structured={"\udfff": "\ud800"}))

    assert json.loads(body)["content"][0]["text"] == "a\ufffdb \N{GRINNING FACE}"
    assert json.loads(body)["structuredContent"] == {"\ufffd": "\ufffd"}


@pytest.mark.parametrize(
    ("result", "written"),
    [
        (result_of("done"), "done"),
        (result_of("said", structured={"n": 1}), '{"n": 1}'),
        (result_of("x" * 4096), "x" * 4096),
        (result_of(), ""),
    ],
)
def test_without_an_endpoint_a_result_goes_into_the_file(tmp_path: Path, result: dict[str, Any], written: str) -> None:
    write_result(result, tmp_path / "result")

    assert (tmp_path / "result").read_text() == written


def test_what_the_file_cannot_hold_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_result(result_of("y" * 4097), tmp_path / "result")

    assert capsys.readouterr().out == "y" * 4097 + "\n"
    assert not (tmp_path / "result").exists()


def test_a_picture_without_an_endpoint_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(NoEndpointError, match="image needs the task endpoint, and \\$MCPTASK_URL is not set"):
        write_result(result_of(parts=[image(PNG)]), tmp_path / "result")
