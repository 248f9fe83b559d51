"""The stand-in for kind says what pytest-kind wants to hear."""

from pathlib import Path

import pytest

from mcptasks_devcluster import kind
from mcptasks_devcluster.build import binary
from mcptasks_devcluster.errors import WrongClusterError
from mcptasks_devcluster.kindlike import main, parser, provider_choice, size_choice


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MCPTASKS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_arguments_of_pytest_kinds_create() -> None:
    options = parser().parse_args(["create", "cluster", "--name=one", "--kubeconfig=/k", "--image=i", "--config", "/c"])
    assert (options.name, options.kubeconfig, options.image, options.config) == ("one", Path("/k"), "i", "/c")


def test_the_arguments_of_pytest_kinds_load_and_delete() -> None:
    loaded = parser().parse_args(["load", "docker-image", "--name", "one", "tool:1"])
    assert (loaded.name, loaded.images) == ("one", ["tool:1"])
    deleted = parser().parse_args(["delete", "cluster", "--name=one", "--kubeconfig=/k"])
    assert (deleted.name, deleted.kubeconfig) == ("one", Path("/k"))


def test_clusters_are_not_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["get", "clusters"]) == 0
    assert capsys.readouterr().out == ""


def test_what_it_did_not_create_it_does_not_delete(cache: Path) -> None:
    kept = cache / "clusters" / "one" / "cluster.json"
    kept.parent.mkdir(parents=True)
    kept.write_text("{}")
    assert main(["delete", "cluster", "--name=one"]) == 0
    assert kept.exists()


def test_an_image_for_no_cluster_is_an_error_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["load", "docker-image", "--name", "none", "tool:1"]) == 1
    assert "there is no cluster none" in capsys.readouterr().err


def test_the_environment_chooses_provider_and_size() -> None:
    assert provider_choice({}) == "auto"
    assert provider_choice({"MCPTASKS_PROVIDER": "local"}) == "local"
    assert size_choice({}) == "full"
    assert size_choice({"MCPTASKS_LIGHT": "1"}) == "light"
    with pytest.raises(WrongClusterError, match="auto, context, kind, local"):
        provider_choice({"MCPTASKS_PROVIDER": "minikube"})


def test_the_stand_in_is_never_taken_for_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    monkeypatch.setattr(kind, "ensure", built.extend)
    monkeypatch.setenv("PATH", str(kind.STAND_IN.parent))
    assert kind.kind_program() == str(binary("kind"))
    assert built == ["kind"]
