"""Signed values: what comes back is believed only if it was made here, for this purpose, and is still good."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_server.signing import Purpose, SealError, SealExpiredError, Signer

OLD, NEW = b"o" * 32, b"n" * 32
claims = st.dictionaries(st.text(), st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))


@given(claims=claims.filter(lambda each: "exp" not in each), purpose=st.sampled_from(Purpose))
def test_what_was_sealed_comes_back_as_it_was_at_any_replica_that_has_the_key(
    claims: dict[str, Any], purpose: Purpose
) -> None:
    sealed = Signer([NEW]).seal(purpose, claims)

    assert Signer([NEW]).open(purpose, sealed, now=0) == claims
    assert sealed.isascii()
    assert set(sealed) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.")


@given(position=st.integers(0, 200), letter=st.sampled_from("AZaz09_-."))
def test_a_changed_value_is_refused(position: int, letter: str) -> None:
    signer = Signer([NEW])
    sealed = signer.seal(Purpose.SESSION, {"caller": "anna"})
    place = position % (len(sealed) - 1)  # the last character of base64 has bits that say nothing
    changed = sealed[:place] + letter + sealed[place + 1 :]
    if changed == sealed:
        return

    with pytest.raises(SealError):
        signer.open(Purpose.SESSION, changed, now=0)


@pytest.mark.parametrize("sealed", ["", ".", "a.b", "é", "x" * 10_000, "eyJhIjoxfQ.-TAMPERED"])
def test_what_was_never_sealed_is_refused(sealed: str) -> None:
    with pytest.raises(SealError):
        Signer([NEW]).open(Purpose.SESSION, sealed, now=0)


def test_a_value_made_for_one_purpose_is_refused_for_another() -> None:
    signer = Signer([NEW])

    with pytest.raises(SealError):
        signer.open(Purpose.REQUEST_STATE, signer.seal(Purpose.SESSION, {}), now=0)


def test_a_value_is_good_until_its_time_is_over() -> None:
    signer = Signer([NEW])
    sealed = signer.seal(Purpose.SESSION, {"a": 1}, expires_at=100.0)

    assert signer.open(Purpose.SESSION, sealed, now=99.9) == {"a": 1}
    with pytest.raises(SealExpiredError):
        signer.open(Purpose.SESSION, sealed, now=100.0)


def test_a_new_key_signs_and_the_old_one_still_verifies() -> None:
    both = Signer([NEW, OLD])

    assert both.open(Purpose.SESSION, Signer([OLD]).seal(Purpose.SESSION, {"a": 1}), now=0) == {"a": 1}
    assert Signer([NEW]).open(Purpose.SESSION, both.seal(Purpose.SESSION, {"a": 1}), now=0) == {"a": 1}
    assert both.digests(Purpose.IDEMPOTENCY, "x") == (
        Signer([NEW]).digest(Purpose.IDEMPOTENCY, "x"),
        Signer([OLD]).digest(Purpose.IDEMPOTENCY, "x"),
    )


@pytest.mark.parametrize("keys", [[], [b"short"], [NEW, b"x" * 31]])
def test_keys_that_protect_nothing_are_refused(keys: list[bytes]) -> None:
    with pytest.raises(ValueError, match="at least 32 bytes"):
        Signer(keys)


def test_a_digest_tells_its_parts_and_purposes_apart() -> None:
    signer = Signer([NEW])
    digests = {
        signer.digest(Purpose.IDEMPOTENCY, "ab", "c"),
        signer.digest(Purpose.IDEMPOTENCY, "a", "bc"),
        signer.digest(Purpose.ARGUMENTS, "ab", "c"),
    }

    assert len(digests) == 3
    assert all(len(digest) == 32 and set(digest) <= set("abcdefghijklmnopqrstuvwxyz234567") for digest in digests)
