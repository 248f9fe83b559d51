"""The keys that all replicas sign with: files of a directory, which a Secret is mounted to.

Each file is one key. The first one by name signs, each one verifies; so a key is changed in three steps, with a restart
of all replicas after each (see docs/operations.md): add the new one behind the old one, put it before, remove the old.
"""

from pathlib import Path
from typing import Any

import structlog

from .signing import MIN_KEY_BYTES, Signer


class SigningKeysError(ValueError):
    """The directory cannot be used. The message names the file, never a key."""


def signer_of(directory: Path | None) -> Signer:
    """The signer with the keys of a directory; without one, with a key of this process alone.

    Raises:
        SigningKeysError: the directory cannot be read, is empty, or holds a key that is too short.
    """
    if directory is None:
        log: Any = structlog.get_logger()
        log.warning(
            "no signing keys are given (MCPTASKS_SIGNING_KEYS_DIR): legacy sessions and open questions end with this "
            "process, and no other replica takes them"
        )
        return Signer.ephemeral()
    try:
        # A mounted Secret has hidden entries of its own beside the keys.
        files = sorted(file for file in directory.iterdir() if not file.name.startswith(".") and file.is_file())
        # An editor's line end is no part of a key; all else is, for a key may be any bytes.
        keys = {file.name: file.read_bytes().removesuffix(b"\n") for file in files}
    except OSError as error:
        raise SigningKeysError(f"cannot be read: {error.strerror or error}") from error
    if not keys:
        raise SigningKeysError(f"{directory} holds no key")
    for name, key in keys.items():
        if len(key) < MIN_KEY_BYTES:
            raise SigningKeysError(f"the key {name} is shorter than {MIN_KEY_BYTES} bytes")
    return Signer(list(keys.values()))
