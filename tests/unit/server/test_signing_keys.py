"""Where the keys come from that all replicas share."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from mcptasks_server.signing import Purpose, SealError, Signer
from mcptasks_server.signing_keys import SigningKeysError, signer_of

OLD, NEW = b"o" * 32, b"n" * 64


def keys_in(directory: Path, keys: Mapping[str, bytes]) -> Path:
    directory.mkdir(exist_ok=True)
    for file in directory.iterdir():
        file.unlink()
    for name, key in keys.items():
        (directory / name).write_bytes(key)
    return directory


def test_replicas_with_the_same_keys_take_each_others_values(tmp_path: Path) -> None:
    directory = keys_in(tmp_path / "keys", {"0": NEW})
    sealed = signer_of(directory).seal(Purpose.SESSION, {"a": 1})

    assert signer_of(directory).open(Purpose.SESSION, sealed, now=0) == {"a": 1}
    with pytest.raises(SealError):
        signer_of(None).open(Purpose.SESSION, sealed, now=0)


def test_a_key_is_changed_in_three_steps_and_what_was_signed_before_stays_good(tmp_path: Path) -> None:
    before = Signer([OLD])
    added = signer_of(keys_in(tmp_path / "keys", {"0": OLD, "1": NEW}))
    swapped = signer_of(keys_in(tmp_path / "keys", {"0": NEW, "1": OLD}))
    done = signer_of(keys_in(tmp_path / "keys", {"0": NEW}))

    for one, other in ((before, added), (added, swapped), (swapped, done)):  # side by side during a restart
        for signer, reader in ((one, other), (other, one)):
            sealed = signer.seal(Purpose.REQUEST_STATE, {"n": 1})
            assert reader.open(Purpose.REQUEST_STATE, sealed, now=0) == {"n": 1}


def test_the_files_of_a_mounted_secret_are_read_and_nothing_else_there(tmp_path: Path) -> None:
    hidden = tmp_path / "..2026"
    hidden.mkdir()
    (hidden / "0").write_bytes(NEW + b"\n")
    (tmp_path / "..data").symlink_to(hidden)
    (tmp_path / "0").symlink_to(Path("..data") / "0")

    sealed = Signer([NEW]).seal(Purpose.SESSION, {})

    assert signer_of(tmp_path).open(Purpose.SESSION, sealed, now=0) == {}


@pytest.mark.parametrize(
    ("keys", "words"),
    [({}, "holds no key"), ({"0": NEW, "short": b"x" * 31}, "key short is shorter than 32 bytes")],
)
def test_a_directory_that_cannot_be_used_is_refused_without_showing_a_key(
    tmp_path: Path, keys: Mapping[str, bytes], words: str
) -> None:
    with pytest.raises(SigningKeysError, match=words) as caught:
        signer_of(keys_in(tmp_path / "keys", keys))

    assert "xxx" not in str(caught.value)


def test_a_missing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SigningKeysError, match="cannot be read"):
        signer_of(tmp_path / "nowhere")


def test_a_process_without_keys_warns_of_what_that_means() -> None:
    with capture_logs() as logs:
        signer_of(None)

    assert [entry["log_level"] for entry in logs] == ["warning"]
    assert "MCPTASKS_SIGNING_KEYS_DIR" in logs[0]["event"]
