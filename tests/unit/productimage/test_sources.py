"""Which files an image is made from, and when it is another image."""

from pathlib import Path

import pytest

from mcptasks_devcluster.errors import DevclusterError
from mcptasks_devcluster.productimage.sources import REPOSITORY, build_files, content_key, copied_paths, read_rules

DOCKERFILE = """\
FROM base AS product
COPY code.py ./
FROM base AS runtime
COPY --from=product /x /x
FROM base AS sources
COPY . /src
FROM runtime AS examples
COPY --from=sources /src /src
"""


@pytest.fixture
def context(tmp_path: Path) -> Path:
    (tmp_path / "Dockerfile").write_text(DOCKERFILE)
    (tmp_path / ".dockerignore").write_text("# comment\n*\n!code.py\n!tests\n**/__pycache__\n**/*.pyc\n")
    (tmp_path / "code.py").write_text("1")
    (tmp_path / "secret.txt").write_text("s")
    (tmp_path / "tests" / "__pycache__").mkdir(parents=True)
    (tmp_path / "tests" / "test_a.py").write_text("2")
    (tmp_path / "tests" / "old.pyc").write_text("3")
    (tmp_path / "tests" / "__pycache__" / "a.txt").write_text("4")
    return tmp_path


def test_only_what_was_let_in_enters_the_build(context: Path) -> None:
    assert [str(path) for path in build_files(context)] == ["code.py", "tests/test_a.py"]


@pytest.mark.parametrize("text", ["!code.py\n", "*\n!a*\n", "*\nnode_modules\n", "*\n**/a/b\n", ""])
def test_rules_that_builders_read_differently_are_refused(text: str) -> None:
    with pytest.raises(DevclusterError, match=r"\.dockerignore"):
        read_rules(text)


def test_an_unchanged_tree_has_an_unchanged_key(context: Path) -> None:
    before = content_key(context, target="examples")
    (context / "code.py").touch()
    (context / "secret.txt").write_text("another")

    assert content_key(context, target="examples") == before


@pytest.mark.parametrize("name", ["code.py", "Dockerfile", "tests/test_a.py"])
def test_a_changed_file_changes_the_key(context: Path, name: str) -> None:
    before = content_key(context, target="examples")
    with (context / name).open("a") as file:
        file.write("# more\n")

    assert content_key(context, target="examples") != before


def test_a_file_that_becomes_executable_changes_the_key(context: Path) -> None:
    before = content_key(context, target="runtime")
    (context / "code.py").chmod(0o755)

    assert content_key(context, target="runtime") != before


def test_a_change_of_a_test_leaves_the_product_as_it_is(context: Path) -> None:
    before = content_key(context, target="runtime")
    (context / "tests" / "test_a.py").write_text("another")

    assert content_key(context, target="runtime") == before


def test_another_base_or_name_is_another_image(context: Path) -> None:
    keys = {content_key(context, target="runtime", also=also) for also in ((), ("a", "b"), ("ab",), ("b", "a"))}

    assert len(keys) == 4


def test_a_target_that_is_not_there_is_an_error() -> None:
    with pytest.raises(DevclusterError, match="no stage bench"):
        copied_paths(DOCKERFILE, target="bench")


def test_the_product_is_made_from_its_four_packages_and_what_describes_them() -> None:
    copied = copied_paths((REPOSITORY / "Dockerfile").read_text(), target="runtime")

    assert set(copied) == {
        "LICENSE", "README.md", "client", "crds", "locks/build.txt", "locks/runtime.txt", "operator", "pyproject.toml",
        "server",
    }  # fmt: skip
