"""Callers by static tokens."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from multidict import CIMultiDict

from mcptasks_server.caller import Caller
from mcptasks_server.errors import UnauthenticatedError
from mcptasks_server.tokens import CHECK_SECONDS, TokenAuthentication, TokensError, read_tokens

ANNA, BERT = "a" * 32, "b" * 40
FILE: Final = f"""
- token: {ANNA}
  subject: anna
  groups: [deployers, readers]
- token: {BERT}
  subject: bert
  expiresAt: 2026-01-01T00:00:00Z
"""
EXPIRES: Final = 1767225600.0


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        """What it shows."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Before every expiry."""
    return Clock()


@pytest.fixture
def policy(tmp_path: Path, clock: Clock) -> TokenAuthentication:
    """The callers of `FILE`."""
    (tmp_path / "tokens.yaml").write_text(FILE)
    return TokenAuthentication(tmp_path / "tokens.yaml", clock=clock, monotonic=clock)


def bearing(*values: str) -> CIMultiDict[str]:
    """Headers with these values of `Authorization`."""
    return CIMultiDict([("Authorization", value) for value in values])


@pytest.mark.parametrize("header", [f"Bearer {ANNA}", f"bearer {ANNA}", f"BEARER   {ANNA} "])
async def test_a_token_tells_whose_it_is(policy: TokenAuthentication, header: str) -> None:
    assert await policy.caller_of(bearing(header)) == Caller(name="anna", groups=frozenset({"deployers", "readers"}))


async def test_a_token_is_good_until_its_time_is_over(policy: TokenAuthentication, clock: Clock) -> None:
    clock.now = EXPIRES - 1
    assert await policy.caller_of(bearing(f"Bearer {BERT}")) == Caller(name="bert", expires_at=EXPIRES)

    clock.now = EXPIRES
    with pytest.raises(UnauthenticatedError) as caught:
        await policy.caller_of(bearing(f"Bearer {BERT}"))
    assert caught.value.challenge == 'Bearer realm="mcptasks", error="invalid_token"'


async def test_nobody_is_told_to_say_who_it_is(policy: TokenAuthentication) -> None:
    with pytest.raises(UnauthenticatedError, match="Bearer <token>") as caught:
        await policy.caller_of(CIMultiDict())
    assert (caught.value.status, caught.value.challenge) == (401, 'Bearer realm="mcptasks"')


@pytest.mark.parametrize(
    "values",
    [
        ["Bearer"],
        ["Bearer "],
        [f"Basic {ANNA}"],
        [ANNA],
        [f"Bearer {ANNA}x"],
        [f"Bearer {ANNA[:-1]}"],
        [f"Bearer {ANNA}", f"Bearer {ANNA}"],
        ["Bearer \udcff"],
        ["Bearer anna"],
    ],
)
async def test_what_is_no_good_token_is_refused_without_a_word_of_it(
    policy: TokenAuthentication, values: list[str]
) -> None:
    with pytest.raises(UnauthenticatedError) as caught:
        await policy.caller_of(bearing(*values))
    assert "invalid_token" in caught.value.challenge
    assert ANNA[:-1] not in caught.value.message


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("- token: short\n  subject: a", "0/token: "),
        (f"- token: {ANNA}", "0/subject: Field required"),
        (f"- token: {ANNA}\n  subject: ''", "0/subject: "),
        (f"- token: {ANNA}\n  subject: a\n  group: [x]", "0/group: Extra inputs"),
        (f"- token: {ANNA}\n  subject: anonymous", "0/subject: anonymous"),
        (f"- token: {ANNA}\n  subject: {'x' * 600}", "0/subject: longer than 512 bytes"),
        (f"- token: {ANNA}\n  subject: a\n- token: {ANNA}\n  subject: b", "1/token: an earlier"),
        (f"- token: {ANNA}\n  subject: a\n  expiresAt: 2026-01-01T00:00:00", "0/expiresAt: "),
        (f"token: {ANNA}", "the file: "),
        ("- [", "not YAML (line "),
        ("- !!python/object/apply:os.getcwd []", "not YAML"),
    ],
)
def test_a_wrong_file_is_refused_by_its_field_and_no_token_is_told(file: str, words: str) -> None:
    with pytest.raises(TokensError) as caught:
        read_tokens(file)
    assert str(caught.value).startswith(words)
    assert ANNA not in str(caught.value)


def test_a_file_that_is_not_there_is_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(TokensError, match="cannot be read"):
        TokenAuthentication(tmp_path / "none")


async def test_a_changed_file_counts_without_a_restart_and_a_broken_one_locks_nobody_out(
    policy: TokenAuthentication, tmp_path: Path, clock: Clock
) -> None:
    async def knows(token: str) -> bool:
        clock.now += CHECK_SECONDS
        try:
            await policy.caller_of(bearing(f"Bearer {token}"))
        except UnauthenticatedError:
            return False
        return True

    write: Callable[[str], int] = (tmp_path / "tokens.yaml").write_text
    new = "n" * 32
    assert (await knows(ANNA), await knows(new)) == (True, False)

    write(f"- {{token: {new}, subject: nora}}")
    assert (await knows(ANNA), await knows(new)) == (False, True)

    write("- [")
    assert (await knows(ANNA), await knows(new)) == (False, True)
