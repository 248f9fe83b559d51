"""kubectl and helm for whoever asks: ours, built when missing, or the ones on PATH."""

import shutil

from mcptasks_devcluster.build import binary, ensure


def program(name: str, *, prefer_path: bool = False) -> str:
    """A path. For clusters that are not of the local provider, what the user has on PATH is preferred."""
    if prefer_path and not binary(name).exists() and (found := shutil.which(name)):
        return found
    ensure([name])
    return str(binary(name))
