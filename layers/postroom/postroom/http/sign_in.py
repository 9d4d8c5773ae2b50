"""Signing in as the owner of a mailbox: challenge, signature, token (decision "Signing in").

No answer tells whether a name has a mailbox: a challenge needs no look-up, and for a name without one, as many keys are
read and compared as for most others.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import pybase64

from postroom.api.challenges import Purpose
from postroom.api.reasons import ANOTHERS_MAILBOX, CHALLENGE_INVALID, NOT_THE_OWNER, TOKEN_INVALID
from postroom.core.errors import NotNowError, TheirError
from postroom.crypto.ethereum import Address
from postroom.crypto.spki import ED25519_SPKI
from postroom.http.owner_keys import OwnerKey, address_of, read_owner_key
from postroom.http.tokens import CLOCKS_DIFFER_SECONDS, Token, Tokens
from postroom.protocols.dcp.reasons import DCP_AUTHORIZATION_REVOKED
from postroom.protocols.dm3.keys import PublicSigningKey
from postroom.protocols.dm3.profile import UserProfile
from postroom.storage.directory.domains import Dm3Mailbox
from postroom.storage.directory.mailboxes import Mailboxes, MailboxRecord
from postroom.storage.limits.challenges import AnsweredChallenges

MAX_SIGNATURE_CHARACTERS: Final = 2048
"""In base64; an RSA signature of 8192 bits has 1,368 characters."""
READS_OF_A_LOOK: Final = 2
"""Of a mailbox whose keys are looked up: its settings, and those of the delivery service."""
_NOBODYS_BYTES: Final = bytes.fromhex(
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
)  # RFC 8032 §7.1
_NOBODYS_POINT: Final = bytes.fromhex(
    "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
)  # SEC 2 §2.4.1: the base point of secp256k1
NOBODYS: Final = PublicSigningKey.from_bytes(_NOBODYS_BYTES)
"""Stands for the key of a profile where there is none."""
_NOBODYS_TEXT: Final = pybase64.b64encode(ED25519_SPKI + _NOBODYS_BYTES).decode()
"""Stands for the key that an operator set where there is none."""
_NOBODYS_SIGNERS: Final = (_NOBODYS_TEXT, NOBODYS)
_NOBODYS_RESOURCES: Final = (
    pybase64.b64encode(_NOBODYS_POINT).decode(),
    PublicSigningKey.from_bytes(_NOBODYS_POINT),
)
"""The same for requests of DCP, whose keys have addresses."""


class OwnerDirectory(Protocol):
    """The directory of mailboxes."""

    def mailbox(self, name: str, *, before_read: Callable[[], None] | None = None) -> MailboxRecord:
        """The keys and settings of a mailbox. `before_read`: called if it is not in the cache, and may raise."""
        ...

    def dm3_mailbox(self, name: str, *, before_read: Callable[[], None] | None = None) -> Dm3Mailbox | None:
        """The settings of a mailbox of the delivery service; None: it is not one. `before_read`: as above."""
        ...

    def forget(self, mailbox: str) -> None:
        """Remove a mailbox from the cache."""
        ...


class Users(Protocol):
    """The source of dm3 profiles."""

    def owner(self, name: str, *, fresh: bool = False) -> UserProfile:
        """The profile of a user. Raises TheirError, NotNowError (PROFILE_LOOKUP_FAILED, TOO_MANY_LOOK_UPS)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SignIn:
    """Signs owners in. `directory` is read through a cache, `mailboxes` is not."""

    tokens: Tokens
    directory: OwnerDirectory
    mailboxes: Mailboxes
    users: Users
    answered: AnsweredChallenges

    def challenge(self, name: str, audience: str, purpose: Purpose) -> str:
        """A text to sign. Raises NotNowError(SIGNING_KEY_UNAVAILABLE)."""
        return self.tokens.challenge(name, audience, purpose)

    def token(self, name: str, audience: str, challenge: str, signature: str) -> str:
        """A token for a caller who signed the whole text of a challenge with one of the mailbox's keys.

        `signature`: base64. Raises TheirError (CHALLENGE_INVALID, NOT_THE_OWNER) or NotNowError.
        """
        issued = self.tokens.read_challenge(challenge, name, audience, Purpose.PICK_UP)
        raw = decoded(signature)
        # An operator may just have given the mailbox this key.
        self.directory.forget(name)
        key = self._find(name, lambda key: key.verify(raw, challenge.encode()), evenly=_NOBODYS_SIGNERS)
        if key is None:
            raise TheirError(NOT_THE_OWNER)
        # Read before the challenge is checked: a sign-out that happens meanwhile applies.
        sign_outs = self.mailboxes.sign_outs(name)
        # Only now: a caller who cannot sign in must not make us write.
        if not self.answered.answer(issued.id, issued.expires_at + CLOCKS_DIFFER_SECONDS):
            raise TheirError(CHALLENGE_INVALID)
        return self.tokens.token(name, audience, key.fingerprint, sign_outs)

    def check(self, text: str, name: str, audience: str) -> Token:
        """Check a token for the mailbox `name`.

        Raises TheirError (TOKEN_INVALID, ANOTHERS_MAILBOX) or NotNowError.
        """
        token = self.tokens.read_token(text, audience)
        if token.name != name:
            raise TheirError(ANOTHERS_MAILBOX)
        key = self._find(name, lambda key: key.fingerprint == token.key)
        if key is None:
            # Another instance issued the token, by a key that this one's cache does not know yet.
            self.directory.forget(name)
            key = self._find(name, lambda key: key.fingerprint == token.key)
        # The mailbox was closed, the key was removed, or all devices were signed out since.
        # More sign-outs than are known here: the token was issued after one that has not reached this cache yet.
        if key is None or token.sign_outs < self.directory.mailbox(name).sign_outs:
            raise TheirError(TOKEN_INVALID)
        return token

    def check_resources(
        self,
        name: str,
        resources: frozenset[Address],
        authorized_at: float,
        *,
        before_read: Callable[[], None] | None,
        before_second_look: Callable[[], None],
    ) -> None:
        """Check that one of the mailbox's keys is a resource that authorized a request of DCP.

        `authorized_at`: the time of the request, in seconds since the epoch. `before_read`: called before the mailbox
        is read because it is not in the cache; `before_second_look`: because by the cache, none of its keys is one;
        both may raise. Raises TheirError (NOT_THE_OWNER, DCP_AUTHORIZATION_REVOKED) or NotNowError.
        """
        if not resources:
            raise TheirError(NOT_THE_OWNER)

        def is_resource(key: OwnerKey) -> bool:
            return address_of(key) in resources

        reads = 0

        def count_read() -> None:
            nonlocal reads
            if before_read is not None:
                before_read()
            reads += 1

        key = self._find(name, is_resource, evenly=_NOBODYS_RESOURCES, before_read=count_read)
        if key is None and reads < READS_OF_A_LOOK:
            # The mailbox may just have got this key.
            before_second_look()
            self.directory.forget(name)
            key = self._find(name, is_resource, evenly=_NOBODYS_RESOURCES)
        if key is None:
            raise TheirError(NOT_THE_OWNER)
        signed_out_at = self.directory.mailbox(name).signed_out_at
        if signed_out_at is not None and authorized_at <= signed_out_at + CLOCKS_DIFFER_SECONDS:
            raise TheirError(DCP_AUTHORIZATION_REVOKED)

    def _find(
        self,
        name: str,
        fits: Callable[[OwnerKey], bool],
        *,
        evenly: tuple[str, PublicSigningKey] | None = None,
        before_read: Callable[[], None] | None = None,
    ) -> OwnerKey | None:
        """The mailbox's key that fits; None: none fits, or there is no such mailbox, or it is closed.

        `before_read`: called if the mailbox is not in the cache.

        `evenly`: keys that are read and compared in place of those that the mailbox does not have, the first for an
        operator's and the second for the profile's, because a caller who has shown no token could measure the
        difference.

        Raises NotNowError (PROFILE_LOOKUP_FAILED, TOO_MANY_LOOK_UPS) if none of the operator's keys fits, and the
        profile cannot be looked up now.
        """
        mailbox = self.directory.mailbox(name, before_read=before_read)
        at_delivery_service = self.directory.dm3_mailbox(name, before_read=before_read)
        # Not for other names, which strangers choose. That takes time that could be measured; but which names have a
        # dm3 mailbox here, `dm3_getProfileExtension` tells anybody (dm3 §2.3.3).
        of_profile = self._profile_key(name) if at_delivery_service and not mailbox.closed else None
        keys: list[tuple[OwnerKey, bool]] = []
        if not mailbox.closed:
            keys += [(read_owner_key(text), True) for text in mailbox.keys]
        if evenly and not keys:
            keys.append((read_owner_key(evenly[0]), False))
        if not (isinstance(of_profile, NotNowError) or of_profile is None):
            keys.append((of_profile, True))
        elif evenly:
            keys.append((evenly[1], False))
        found = [key for key, is_owners in keys if fits(key) and is_owners]
        if found:
            return found[0]
        if isinstance(of_profile, NotNowError):
            raise of_profile
        return None

    def _profile_key(self, name: str) -> OwnerKey | NotNowError | None:
        """The signing key in the dm3 profile of a name; None: there is none."""
        try:
            return self.users.owner(name).signing_key
        except TheirError:
            return None
        except NotNowError as error:
            return error


def decoded(signature: str) -> bytes:
    """The bytes of a signature in base64; empty if it is invalid, wrong if it is too long."""
    try:
        return pybase64.b64decode(signature[: MAX_SIGNATURE_CHARACTERS + 1], validate=True)
    except ValueError:
        return b""
