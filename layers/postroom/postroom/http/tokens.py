"""Challenges and tokens: JSON Web Tokens by keys of their own (decision "Signing in"; RFC 7519, RFC 8037). Sans-I/O.

A challenge is bound to a name, an audience (our host, as the client addressed it) and a purpose. It is valid for two
minutes, and can be used once. It is signed, not stored: a request for one costs us nothing, and does not tell who has a
mailbox here. A client checks the audience before it signs, otherwise a host in between could sign in with the answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import jwt
from jwt.exceptions import InvalidTokenError
from jwt.types import Options

from postroom.api.challenges import CHALLENGE_TYPE, MAX_TOKEN_CHARACTERS, Purpose
from postroom.api.reasons import CHALLENGE_INVALID, TOKEN_INVALID
from postroom.core.errors import TheirError

if TYPE_CHECKING:
    from postroom.storage.secrets.token_keys import TokenKeySet

CHALLENGE_SECONDS: Final = 120
TOKEN_SECONDS: Final = 3600
CLOCKS_DIFFER_SECONDS: Final = 60
"""The largest difference between the clocks of two instances: one may be shown what another has just issued."""

_ALGORITHM: Final = "EdDSA"
_TOKEN_TYPE: Final = "at+jwt"  # noqa: S105 - RFC 8725 §3.11: no challenge may be taken for a token
_UNCHECKED: Final[Options] = {"verify_exp": False, "verify_iat": False, "verify_nbf": False}
"""The library would use the system's clock."""


class Keys(Protocol):
    """The source of the keys for tokens."""

    def get(self) -> "TokenKeySet":
        """The current keys. Raises NotNowError(SIGNING_KEY_UNAVAILABLE)."""
        ...


@dataclass(frozen=True, slots=True)
class Challenge:
    """A challenge. `id` can be used once; `expires_at`: epoch seconds."""

    id: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class Token:
    """A token: the mailbox, the fingerprint of the owner's key, and the number of sign-outs before it was issued."""

    name: str
    key: str
    sign_outs: int


class Tokens:
    """Issues and reads challenges and tokens. `clock`: epoch seconds; `new_id`: new and random."""

    def __init__(self, keys: Keys, clock: Callable[[], float], new_id: Callable[[], str]) -> None:
        self._keys = keys
        self._clock = clock
        self._new_id = new_id

    def challenge(self, name: str, audience: str, purpose: Purpose) -> str:
        """A text to be signed with a key of the mailbox `name`, whether the mailbox exists or not.

        Raises NotNowError(SIGNING_KEY_UNAVAILABLE).
        """
        claims: dict[str, str | int] = {"purpose": purpose, "jti": self._new_id()}
        return self._make(CHALLENGE_TYPE, name, audience, CHALLENGE_SECONDS, claims)

    def read_challenge(self, text: str, name: str, audience: str, purpose: Purpose) -> Challenge:
        """Read a challenge that is valid now, for this name, audience and purpose.

        Raises TheirError(CHALLENGE_INVALID), NotNowError(SIGNING_KEY_UNAVAILABLE).
        """
        try:
            claims = self._read(CHALLENGE_TYPE, text, audience)
            challenge = Challenge(str(claims["jti"]), int(claims["exp"]))
            bound_to = claims["sub"], claims["purpose"]
        except (InvalidTokenError, KeyError):
            raise TheirError(CHALLENGE_INVALID) from None
        if bound_to != (name, purpose):
            raise TheirError(CHALLENGE_INVALID)
        return challenge

    def token(self, name: str, audience: str, key: str, sign_outs: int) -> str:
        """A token for the mailbox `name`, whose owner signed with the key of this fingerprint.

        Raises NotNowError(SIGNING_KEY_UNAVAILABLE).
        """
        return self._make(_TOKEN_TYPE, name, audience, TOKEN_SECONDS, {"key": key, "sign_outs": sign_outs})

    def read_token(self, text: str, audience: str) -> Token:
        """Read a valid token. Raises TheirError(TOKEN_INVALID), NotNowError(SIGNING_KEY_UNAVAILABLE)."""
        try:
            claims = self._read(_TOKEN_TYPE, text, audience)
            return Token(str(claims["sub"]), str(claims["key"]), int(claims["sign_outs"]))
        except (InvalidTokenError, KeyError):
            raise TheirError(TOKEN_INVALID) from None

    def _make(self, kind: str, name: str, audience: str, seconds: int, claims: dict[str, str | int]) -> str:
        keys, now = self._keys.get(), self._clock()
        said: dict[str, Any] = {"sub": name, "aud": audience, "iat": now, "exp": int(now) + seconds, **claims}
        return jwt.encode(said, keys.signing, _ALGORITHM, headers={"typ": kind, "kid": keys.kid})

    def _read(self, kind: str, text: str, audience: str) -> dict[str, Any]:
        if len(text) > MAX_TOKEN_CHARACTERS:
            raise InvalidTokenError("too long")
        header = jwt.get_unverified_header(text)
        key = self._keys.get().verifying.get(str(header.get("kid")))
        if key is None or header.get("typ") != kind:
            raise InvalidTokenError("another kind, or a key that is not ours")
        claims: dict[str, Any] = jwt.decode(text, key, algorithms=[_ALGORITHM], audience=audience, options=_UNCHECKED)
        if not claims["iat"] - CLOCKS_DIFFER_SECONDS <= self._clock() < claims["exp"]:
            raise InvalidTokenError("not its time")
        return claims
