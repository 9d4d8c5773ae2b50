"""Signing in as the owner of a mailbox: challenge, signature, token (decision "Signing in").

Nothing here tells a name that has a mailbox from one that has none: a challenge takes no look-up, and a signature is
checked against some key in any case.
"""

from collections.abc import Callable
from typing import Final, Protocol

import pybase64

from postroom.api.challenges import Purpose
from postroom.api.reasons import ANOTHERS_MAILBOX, CHALLENGE_INVALID, NOT_THE_OWNER, TOKEN_INVALID
from postroom.core.errors import NotNowError, TheirError
from postroom.http.owner_keys import OwnerKey, read_owner_key
from postroom.http.tokens import CLOCKS_DIFFER_SECONDS, Token, Tokens
from postroom.protocols.dm3.keys import PublicSigningKey
from postroom.protocols.dm3.profile import UserProfile
from postroom.storage.directory.domains import Dm3Mailbox
from postroom.storage.directory.mailboxes import Mailboxes, MailboxRecord
from postroom.storage.limits.challenges import AnsweredChallenges

MAX_SIGNATURE_CHARACTERS: Final = 2048
"""In base64; one of RSA with 8192 bits has 1,368."""
NOBODYS: Final = PublicSigningKey.from_bytes(
    bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")  # RFC 8032 §7.1
)


class OwnerDirectory(Protocol):
    """What is known of mailboxes."""

    def mailbox(self, name: str) -> MailboxRecord:
        """Who may pick its mail up."""
        ...

    def dm3_mailbox(self, name: str) -> Dm3Mailbox | None:
        """Its settings at the delivery service; None: it is none of that."""
        ...


class Users(Protocol):
    """Where profiles come from."""

    def user(self, name: str, *, fresh: bool = False) -> UserProfile:
        """The profile of a user. Raises TheirError, NotNowError(PROFILE_LOOKUP_FAILED)."""
        ...


class SignIn:
    """Lets owners in. `directory` is read through a cache, `mailboxes` is not."""

    def __init__(
        self,
        *,
        tokens: Tokens,
        directory: OwnerDirectory,
        mailboxes: Mailboxes,
        users: Users,
        answered: AnsweredChallenges,
    ) -> None:
        self._tokens = tokens
        self._directory = directory
        self._mailboxes = mailboxes
        self._users = users
        self._answered = answered

    def challenge(self, name: str, audience: str, purpose: Purpose) -> str:
        """A text to sign. Raises NotNowError(SIGNING_KEY_UNAVAILABLE)."""
        return self._tokens.challenge(name, audience, purpose)

    def token(self, name: str, audience: str, challenge: str, signature: str) -> str:
        """A token for who signed a challenge, the whole text of it, by one of the mailbox's keys.

        `signature`: base64. Raises TheirError (CHALLENGE_INVALID, NOT_THE_OWNER) or NotNowError.
        """
        asked = self._tokens.read_challenge(challenge, name, audience, Purpose.PICK_UP)
        raw = decoded(signature)
        key = self._find(name, lambda key: key.verify(raw, challenge.encode()))
        if key is None:
            raise TheirError(NOT_THE_OWNER)
        # Read before it is known whether the challenge counts: who signs out meanwhile is signed out.
        sign_outs = self._mailboxes.sign_outs(name)
        # Only now: who cannot sign in must not make us write.
        if not self._answered.answer(asked.id, asked.expires_at + CLOCKS_DIFFER_SECONDS):
            raise TheirError(CHALLENGE_INVALID)
        return self._tokens.token(name, audience, key.fingerprint, sign_outs)

    def check(self, text: str, name: str, audience: str) -> Token:
        """A token that lets into the mailbox `name`.

        Raises TheirError (TOKEN_INVALID, ANOTHERS_MAILBOX) or NotNowError.
        """
        token = self._tokens.read_token(text, audience)
        if token.name != name:
            raise TheirError(ANOTHERS_MAILBOX)
        # Of a mailbox that is closed, of a key that is taken away, from before all were signed out.
        key = self._find(name, lambda key: key.fingerprint == token.key)
        # More of them than are known here: it was given after a time of signing out that has not come here yet.
        if key is None or token.sign_outs < self._directory.mailbox(name).sign_outs:
            raise TheirError(TOKEN_INVALID)
        return token

    def _find(self, name: str, fits: Callable[[OwnerKey], bool]) -> OwnerKey | None:
        """The mailbox's key that fits; None: there is none, or no such mailbox, or it is closed.

        Raises NotNowError(PROFILE_LOOKUP_FAILED) where none of those that were set does, and the profile cannot be
        looked up now: of whatever name, or it would tell which of them have a mailbox of dm3.
        """
        mailbox, at_delivery_service = self._directory.mailbox(name), self._directory.dm3_mailbox(name)
        # For every name: it takes its time.
        of_profile = self._profile_key(name)
        keys = [] if mailbox.closed else list(map(read_owner_key, mailbox.keys))
        if not (isinstance(of_profile, NotNowError) or of_profile is None or mailbox.closed or not at_delivery_service):
            keys.append(of_profile)
        found = [key for key in keys or (NOBODYS,) if fits(key)]
        if keys and found:
            return found[0]
        if isinstance(of_profile, NotNowError):
            raise of_profile
        return None

    def _profile_key(self, name: str) -> OwnerKey | NotNowError | None:
        """What the dm3 profile of a name signs with; None: it has none."""
        try:
            return self._users.user(name).signing_key
        except TheirError:
            return None
        except NotNowError as error:
            return error


def decoded(signature: str) -> bytes:
    """The bytes of a signature in base64; none where it is none, or too long."""
    try:
        return pybase64.b64decode(signature[: MAX_SIGNATURE_CHARACTERS + 1], validate=True)
    except ValueError:
        return b""
