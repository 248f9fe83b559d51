"""What a build must know of the network it runs in, given to it as build secrets: nothing of it stays in an image."""

import ast
import configparser
import io
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from mcptasks_devcluster.errors import CommandError
from mcptasks_devcluster.shell import run

_PASSED_ON = frozenset(
    {"default-timeout", "extra-index-url", "index-url", "proxy", "retries", "timeout", "trusted-host"}
)
_CERTIFICATE_VARIABLES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")


@contextmanager
def build_secrets(environ: Mapping[str, str]) -> Iterator[dict[str, Path]]:
    """The Dockerfile's optional secrets `ca` and `pip`, as far as this machine has settings of its own."""
    settings = pip_settings()
    with TemporaryDirectory(prefix="mcptasks-build-") as directory:
        secrets = {}
        if (bundle := certificates(environ, settings)) is not None:
            secrets["ca"] = bundle
        if passed := {name: value for name, value in settings.items() if name in _PASSED_ON}:
            secrets["pip"] = Path(directory) / "pip.conf"
            secrets["pip"].write_text(pip_conf(passed))
        yield secrets


def certificates(environ: Mapping[str, str], settings: Mapping[str, str]) -> Path | None:
    """The certificates that pip checks downloads with on this machine, if it was told of any."""
    named = [settings.get("cert"), *(environ.get(name) for name in _CERTIFICATE_VARIABLES)]
    return next((Path(name) for name in named if name and Path(name).is_file()), None)


def pip_settings() -> dict[str, str]:
    """pip's settings, from its files and from the environment, in pip's own order of precedence."""
    try:
        return parse_settings(run([sys.executable, "-m", "pip", "config", "list"]))
    except CommandError:
        return {}  # an environment without pip: there are no settings to speak of


def parse_settings(listing: str) -> dict[str, str]:
    """The lines of `pip config list` that hold for `pip install`.

    >>> parse_settings("global.timeout='60'\\n:env:.timeout='180'\\nfreeze.timeout='1'")
    {'timeout': '180'}
    """
    by_section: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if section in by_section:
            by_section[section][name] = str(ast.literal_eval(value))
    return by_section["global"] | by_section["install"] | by_section[":env:"]


def pip_conf(settings: Mapping[str, str]) -> str:
    """The same as a file, which `PIP_CONFIG_FILE` names inside the build."""
    parser = configparser.RawConfigParser()
    parser["global"] = {name: value.replace("\n", "\n  ") for name, value in settings.items()}
    text = io.StringIO()
    parser.write(text)
    return text.getvalue()
