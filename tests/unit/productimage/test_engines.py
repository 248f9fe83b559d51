"""What docker, podman and buildah are told."""

from pathlib import Path

import pytest

from mcptasks_devcluster.productimage.engines import Build, Engine, buildah

BUILD = Build(
    context=Path("/context"),
    file=Path("/context/Dockerfile"),
    image="docker.io/library/mcptasks:dev",
    target="runtime",
    arguments={"BASE_IMAGE": "base:1"},
    secrets={"ca": Path("/etc/ca.pem")},
)


@pytest.mark.parametrize(
    ("program", "beginning"),
    [("docker", "docker build"), ("podman", "podman build"), ("buildah", "buildah build")],
)
def test_every_engine_builds_the_same_file_in_the_same_words(program: str, beginning: str) -> None:
    assert " ".join(Engine(program=program).build_command(BUILD)) == (
        f"{beginning} --tag docker.io/library/mcptasks:dev --file /context/Dockerfile --target runtime"
        " --build-arg BASE_IMAGE=base:1 --secret id=ca,src=/etc/ca.pem /context"
    )


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("docker", "docker save --output /a.tar x.io/i:1"),
        ("podman", "podman save --output /a.tar --format docker-archive x.io/i:1"),
        ("buildah", "buildah push x.io/i:1 docker-archive:/a.tar:x.io/i:1"),
    ],
)
def test_every_engine_saves_a_docker_archive_under_the_full_name(program: str, words: str) -> None:
    assert " ".join(Engine(program=program).save_command("x.io/i:1", Path("/a.tar"))) == words


def test_buildah_works_without_namespaces_and_without_mounts() -> None:
    assert buildah({}, overlay=True).env == buildah({}, overlay=False).env == {"BUILDAH_ISOLATION": "chroot"}
    assert buildah({}, overlay=True).options == ()
    assert buildah({}, overlay=False).options == ("--storage-driver", "vfs")


def test_buildah_keeps_layers_only_where_they_are_no_copies() -> None:
    assert "--layers" in buildah({}, overlay=True).build_command(BUILD)
    assert "--layers" not in buildah({}, overlay=False).build_command(BUILD)


def test_what_the_environment_says_of_buildah_is_left_alone() -> None:
    environ = {"BUILDAH_ISOLATION": "oci", "STORAGE_DRIVER": "btrfs"}

    found = buildah(environ, overlay=False)

    assert (found.options, found.env) == (("--storage-driver", "btrfs"), {})


def test_options_of_the_engine_are_part_of_each_of_its_commands() -> None:
    engine = Engine(program="buildah", options=("--storage-driver", "vfs"))

    for command in (engine.build_command(BUILD), engine.save_command("i", Path("/a")), engine.has_command("i")):
        assert command[:3] == ["buildah", "--storage-driver", "vfs"]
