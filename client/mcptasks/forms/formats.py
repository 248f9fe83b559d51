"""The formats that a form's text may have, each no wider than what JSON Schema's validators take."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from ipaddress import AddressValueError, IPv6Address
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format."""

    is_one: Callable[[str], bool]
    words: str
    """What it is, for people."""


_ATOM: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL: Final = re.compile(rf"(?=.{{1,64}}@)(?=.{{1,254}}\Z){_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})*")
_SAFE: Final = r"A-Za-z0-9\-._~!$&'()*+,;="
_ESCAPE: Final = r"%[0-9A-Fa-f]{2}"
_PART: Final = rf"(?:[{_SAFE}:@]|{_ESCAPE})"
_URI: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:"
    rf"(?://(?:(?:[{_SAFE}:]|{_ESCAPE})*@)?"
    rf"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?:[{_SAFE}]|{_ESCAPE})*)(?::(?P<port>[0-9]*))?(?:/{_PART}*)*"
    rf"|/?(?:{_PART}+(?:/{_PART}*)*)?)"
    rf"(?:\?(?:{_PART}|[/?])*)?(?:#(?:{_PART}|[/?])*)?"
)
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT: Final = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?"
    r"(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)


def _is_uri(text: str) -> bool:
    found = _URI.fullmatch(text)
    if found is None or int(found["port"] or 0) > 65_535:
        return False
    try:
        return found["address"] is None or bool(IPv6Address(found["address"]))
    except AddressValueError:
        return False


def _is_date(text: str) -> bool:
    try:
        return _DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_moment(text: str) -> bool:
    found = _MOMENT.fullmatch(text)
    return found is not None and _is_date(found["date"])


FORMATS: Final[Mapping[str, Format]] = {
    "email": Format(is_one=lambda text: _EMAIL.fullmatch(text) is not None, words="an address like anna@example.com"),
    "uri": Format(is_one=_is_uri, words="a URI like https://example.com/page"),
    "date": Format(is_one=_is_date, words="a date like 2026-11-30"),
    "date-time": Format(is_one=_is_moment, words="a time like 2026-11-30T14:30:00Z"),
}
"""By their names in JSON Schema; a text of any other format is left to the server."""
