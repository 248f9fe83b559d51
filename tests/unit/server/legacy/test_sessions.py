"""Sessions as signed values: what they hold, and which ones are believed."""

import re
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_server.caller import ANONYMOUS, Caller
from mcptasks_server.legacy.errors import SessionGoneError
from mcptasks_server.legacy.sessions import SESSION_SECONDS, VERSIONS, Session, begin, negotiated, opened, sealed
from mcptasks_server.signing import Purpose, Signer

NOW = 1_800_000_000.0
EVERYTHING = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {"listChanged": True}}


def session(capabilities: dict[str, Any] | None = None, *, version: str = VERSIONS[0]) -> Session:
    return begin(requested=version, capabilities=capabilities or {}, caller=ANONYMOUS)


@pytest.mark.requirement("legacy/same-version")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_that_is_served_is_agreed_on(version: str) -> None:
    assert negotiated(version) == version


@pytest.mark.requirement("legacy/other-version")
@pytest.mark.parametrize("version", ["2024-11-05", "2026-07-28", "1.0.0", "", "2025-11-26"])
def test_for_any_other_version_the_newest_is_offered(version: str) -> None:
    assert negotiated(version) == "2025-11-25"


@given(capabilities=st.fixed_dictionaries({}, optional={name: st.just(has) for name, has in EVERYTHING.items()}))
def test_a_session_comes_back_as_it_was(capabilities: dict[str, Any]) -> None:
    signer = Signer.ephemeral()
    begun = session(capabilities)

    back = opened(sealed(begun, signer, now=NOW), signer, caller=ANONYMOUS, now=NOW + 1)

    assert back == begun
    assert set(back.capabilities) == set(capabilities)


@pytest.mark.requirement("legacy/session-ascii", "legacy/session-secure")
def test_a_session_id_is_short_visible_ascii_and_never_the_same() -> None:
    signer = Signer.ephemeral()
    ids = {sealed(session(EVERYTHING), signer, now=NOW) for _ in range(20)}

    assert len(ids) == 20
    for each in ids:
        assert re.fullmatch("[\x21-\x7e]{40,300}", each)


@pytest.mark.requirement("legacy/elicitation-modes")
@pytest.mark.parametrize(
    ("declared", "understood"),
    [
        ({"elicitation": {}}, {"elicitation": {"form": {}}}),
        ({"elicitation": {"form": {}}}, {"elicitation": {"form": {}}}),
        ({"elicitation": {"url": {}}}, {"elicitation": {"url": {}}}),
        ({"elicitation": None, "sampling": "yes", "roots": []}, {}),
        ({"sampling": {}}, {"sampling": {}}),
        ({"sampling": {"tools": {}}}, {"sampling": {"tools": {}}}),
        ({"roots": {"listChanged": False}}, {"roots": {}}),
        ({"tasks": {"list": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}}, {}),
    ],
)
def test_capabilities_are_understood_as_they_were_declared(declared: Any, understood: Any) -> None:
    assert session(declared).capabilities == understood


def test_a_version_without_elicitation_is_never_asked_by_it() -> None:
    assert session(EVERYTHING, version="2025-03-26").capabilities.keys() == {"sampling", "roots"}


def test_only_the_newest_version_has_tasks() -> None:
    assert [session(version=version).has_tasks for version in VERSIONS] == [True, False, False]


@pytest.mark.requirement("legacy/session-gone")
def test_a_session_that_is_over_is_gone() -> None:
    signer = Signer.ephemeral()
    value = sealed(session(), signer, now=NOW)

    opened(value, signer, caller=ANONYMOUS, now=NOW + SESSION_SECONDS - 1)
    with pytest.raises(SessionGoneError):
        opened(value, signer, caller=ANONYMOUS, now=NOW + SESSION_SECONDS)


def test_a_session_is_its_callers_alone() -> None:
    signer = Signer.ephemeral()

    with pytest.raises(SessionGoneError):
        opened(sealed(session(), signer, now=NOW), signer, caller=Caller(name="stranger"), now=NOW)


@given(
    at=st.integers(min_value=0, max_value=400), instead=st.sampled_from(string.ascii_letters + string.digits + "-_.")
)
def test_a_session_that_was_changed_is_none(at: int, instead: str) -> None:
    signer = Signer([b"k" * 32])
    value = sealed(session(EVERYTHING), signer, now=NOW)
    place = at % len(value)
    changed = value[:place] + instead + value[place + 1 :]

    if changed == value:
        return
    try:
        assert opened(changed, signer, caller=ANONYMOUS, now=NOW).caller == ANONYMOUS.name
    except SessionGoneError:
        return
    # Only the unused bits of base64's last character may differ.
    assert place in {len(value) - 1, value.rindex(".") - 1}


def test_what_was_signed_for_something_else_is_no_session() -> None:
    signer = Signer.ephemeral()
    other = signer.seal(Purpose.REQUEST_STATE, {"v": VERSIONS[0], "u": "anonymous", "n": "x", "c": ""})

    with pytest.raises(SessionGoneError):
        opened(other, signer, caller=ANONYMOUS, now=NOW)


def test_a_session_outlives_the_change_of_the_signing_key() -> None:
    old, new = b"o" * 32, b"n" * 32
    value = sealed(session(), Signer([old]), now=NOW)

    assert opened(value, Signer([new, old]), caller=ANONYMOUS, now=NOW).version == "2025-11-25"
