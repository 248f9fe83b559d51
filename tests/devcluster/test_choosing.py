"""Which cluster a request means, and where it is kept."""

from pathlib import Path

import pytest

from mcptasks_devcluster.context import view_arguments
from mcptasks_devcluster.errors import WrongClusterError
from mcptasks_devcluster.kind import create_arguments
from mcptasks_devcluster.paths import ClusterPaths, cache_dir, check_name
from mcptasks_devcluster.providers import Choice, Named, choose, named_cluster
from mcptasks_devcluster.record import ProviderName, Record, Size, read_record

NAMED = Named(kubeconfig="/theirs", context=None)


def record(provider: ProviderName) -> Record:
    return Record(name="one", provider=provider, size="full")


@pytest.mark.parametrize(
    ("choice", "size", "named", "exists", "engine", "chosen"),
    [
        pytest.param("auto", "full", NAMED, None, True, "context", id="a named cluster wins over an engine"),
        pytest.param("auto", "light", NAMED, None, False, "context", id="a named cluster wins over a light one"),
        pytest.param("auto", "full", None, None, True, "kind", id="kind where an engine answers"),
        pytest.param("auto", "light", None, None, True, "local", id="only the local provider is light"),
        pytest.param("auto", "full", None, None, False, "local", id="local where no engine answers"),
        pytest.param("auto", "full", None, "local", True, "local", id="what exists is kept"),
        pytest.param("local", "full", None, None, True, "local", id="local on demand"),
        pytest.param("kind", "full", NAMED, None, False, "kind", id="kind on demand"),
        pytest.param("context", "full", NAMED, "context", False, "context", id="the same context again"),
    ],
)
def test_the_provider(
    *,
    choice: Choice,
    size: Size,
    named: Named | None,
    exists: ProviderName | None,
    engine: bool,
    chosen: ProviderName,
) -> None:
    existing = None if exists is None else record(exists)
    assert choose(choice, size=size, named=named, existing=existing, engine=lambda: engine) == chosen


@pytest.mark.parametrize(
    ("choice", "named", "existing"),
    [
        pytest.param("context", None, None, id="a context that nobody named"),
        pytest.param("kind", None, record("local"), id="another provider under a name that exists"),
        pytest.param("auto", NAMED, record("local"), id="a named cluster under a name that exists"),
    ],
)
def test_what_does_not_fit_is_refused(choice: Choice, named: Named | None, existing: Record | None) -> None:
    with pytest.raises(WrongClusterError):
        choose(choice, size="full", named=named, existing=existing, engine=lambda: False)


def test_the_users_own_kubeconfig_is_never_taken_silently() -> None:
    assert named_cluster(kubeconfig=None, context=None, environ={"KUBECONFIG": "/home/them/.kube/config"}) is None


def test_options_win_over_the_environment() -> None:
    environ = {"MCPTASKS_KUBECONFIG": "/env", "MCPTASKS_CONTEXT": "env"}
    assert named_cluster(kubeconfig="/option", context=None, environ=environ) == Named(
        kubeconfig="/option", context="env"
    )


def test_a_context_is_copied_alone_and_with_its_credentials() -> None:
    told = view_arguments(Named(kubeconfig=None, context="theirs"))
    assert {"--raw", "--minify", "--flatten"} < set(told)
    assert told[-2:] == ["--context", "theirs"]


def test_kind_is_told_what_was_asked() -> None:
    told = create_arguments("one", Path("/k"), image="node:1", config="/c")
    assert told[:6] == ["create", "cluster", "--name", "one", "--kubeconfig", "/k"]
    assert told[-4:] == ["--image", "node:1", "--config", "/c"]


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a/b", "..", "a" * 41])
def test_a_name_that_is_no_directory_cgroup_or_node_is_refused(name: str) -> None:
    with pytest.raises(WrongClusterError):
        check_name(name)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        pytest.param({"MCPTASKS_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a", id="explicit"),
        pytest.param({"XDG_CACHE_HOME": "/b"}, "/b/mcptasks", id="the user's cache directory"),
    ],
)
def test_everything_is_under_one_directory(environ: dict[str, str], expected: str) -> None:
    assert cache_dir(environ) == Path(expected)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "one" / "cluster.json"
    assert read_record(path) is None
    record("kind").write(path)
    assert read_record(path) == record("kind")


def test_one_name_below_two_cache_directories_is_two_clusters(tmp_path: Path) -> None:
    one, other = (ClusterPaths(name="one", cache=tmp_path / cache) for cache in ("a", "b"))

    assert one.control_group != other.control_group
    assert one.control_group == ClusterPaths(name="one", cache=tmp_path / "a").control_group
