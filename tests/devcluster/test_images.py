"""The sandbox image, and images by name."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from mcptasks_devcluster.errors import CommandError, UnavailableError
from mcptasks_devcluster.images import PAUSE_IMAGE, canonical, export_image, write_pause_image


def test_the_sandbox_image_is_one_program_in_one_layer(tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(b"static")
    write_pause_image(tmp_path / "program", tmp_path / "image.tar")
    with tarfile.open(tmp_path / "image.tar") as image:
        manifest = json.loads(_content(image, "manifest.json"))[0]
        config = json.loads(_content(image, manifest["Config"]))
        layer = _content(image, manifest["Layers"][0])
    assert manifest["RepoTags"] == [PAUSE_IMAGE]
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}"]
    assert config["config"]["Entrypoint"] == ["/pause"]
    with tarfile.open(fileobj=io.BytesIO(layer)) as files:
        assert _content(files, "pause") == b"static"
        assert files.getmember("pause").mode == 0o755


@pytest.mark.parametrize(
    ("given", "known_as"),
    [
        ("tool", "docker.io/library/tool:latest"),
        ("tool:1", "docker.io/library/tool:1"),
        ("team/tool:1", "docker.io/team/tool:1"),
        ("localhost/tool:1", "localhost/tool:1"),
        ("example.org/team/tool", "example.org/team/tool:latest"),
        ("example.org:5000/tool:1", "example.org:5000/tool:1"),
    ],
)
def test_an_image_is_known_on_the_node_by_the_name_that_pods_use(given: str, known_as: str) -> None:
    assert canonical(given) == known_as


def test_without_any_builder_an_image_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match="no docker, podman or buildah"):
        export_image("tool:1", tmp_path / "out.tar")


def test_every_storage_that_refused_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("docker", "buildah"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho {name} has none >&2\nexit 1\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandError, match=r"docker has none(.|\n)*buildah has none"):
        export_image("tool:1", tmp_path / "out.tar")


def _content(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    assert file is not None
    return file.read()
