"""How a build gets to the packages where the network has an index or certificates of its own."""

import configparser
from pathlib import Path

import pytest

from mcptasks_devcluster.productimage.base import debootstrap_command, mirror_of
from mcptasks_devcluster.productimage.network import certificates, parse_settings, pip_conf

LISTING = """\
:env:.index-url='https://env.example/simple'
global.extra-index-url='https://one.example/simple\\nhttps://two.example/simple'
global.index-url='https://global.example/simple'
install.index-url='https://install.example/simple'
wheel.index-url='https://wheel.example/simple'
"""


def test_settings_come_in_pips_order_of_precedence() -> None:
    settings = parse_settings(LISTING)

    assert settings["index-url"] == "https://env.example/simple"
    assert parse_settings("\n".join(LISTING.splitlines()[1:]))["index-url"] == "https://install.example/simple"


def test_what_holds_for_other_commands_is_not_passed_on() -> None:
    assert "wheel" not in str(parse_settings(LISTING))


def test_settings_come_back_from_the_file_as_pip_reads_it() -> None:
    settings = parse_settings(LISTING) | {"proxy": "http://user:p%40ss@proxy.example:3128"}

    parser = configparser.RawConfigParser()
    parser.read_string(pip_conf(settings))

    assert dict(parser["global"]) == settings


def test_certificates_are_those_that_pip_itself_uses_here(tmp_path: Path) -> None:
    one, other = tmp_path / "one.pem", tmp_path / "other.pem"
    for file in (one, other):
        file.write_text("certificate")

    assert certificates({"SSL_CERT_FILE": str(other)}, {"cert": str(one)}) == one
    assert certificates({"SSL_CERT_FILE": str(other), "PIP_CERT": str(tmp_path / "gone")}, {}) == other
    assert certificates({}, {}) is None


@pytest.mark.parametrize(
    ("lines", "mirror"), [(["trixie http://t/"], None), ([], None), (["bookworm http://m/d/"], "http://m/d/")]
)
def test_the_machines_own_mirror_is_used_if_it_has_that_release(lines: list[str], mirror: str | None) -> None:
    assert mirror_of("bookworm", lines) == mirror
    assert (debootstrap_command(Path("/root"), mirror=mirror)[-1] == mirror) is (mirror is not None)
