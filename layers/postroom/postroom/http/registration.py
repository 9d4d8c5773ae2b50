"""Self-registration: a name whose profile names our delivery service opens its mailbox (decision "Signing in").

There are two ways. The owner signs with the profile's key, and gets a token. Or, as in dm3's reference, somebody sends
the profile that is in the registry; this returns no token, because anyone who reads the registry could send the profile
and the account's signature. No answer tells a stranger who has a mailbox, and no owner can open again what an operator
closed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.api.challenges import Purpose
from postroom.api.mailbox_names import a_labels
from postroom.api.reasons import CHALLENGE_INVALID, NOT_THE_OWNER, OPENING_NOT_OFFERED, OPENING_REFUSED
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.http.rate_limit import Rate
from postroom.http.sign_in import NOBODYS, Users, decoded
from postroom.http.tokens import CLOCKS_DIFFER_SECONDS, Tokens
from postroom.names.registrable_domains import registrable_domain
from postroom.protocols.dm3.profile import UserProfile, read_user_profile
from postroom.storage.directory.domains import Domain
from postroom.storage.directory.mailboxes import Mailboxes, Opening
from postroom.storage.limits.challenges import AnsweredChallenges

OF_A_NAME_A_SECOND: Final = 1
A_SECOND: Final = 4
"""The limit of name look-ups that strangers can cause, for each instance of the function."""


class RegistrationDirectory(Protocol):
    """The directory of domains and mailboxes."""

    def domain(self, name: str) -> Domain | None:
        """A domain; None: it is not served here."""
        ...

    def forget(self, mailbox: str) -> None:
        """Remove a mailbox from the cache."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SelfRegistration:
    """Opens mailboxes. `service`: the normalised name of our delivery service; empty: owners cannot open mailboxes.

    `of_a_domain`: how many mailboxes owners may open below a registrable domain; 0: any number.
    """

    service: str
    tokens: Tokens
    answered: AnsweredChallenges
    users: Users
    directory: RegistrationDirectory
    mailboxes: Mailboxes
    of_a_name: Rate
    of_all: Rate
    of_a_domain: int

    def open(self, name: str, audience: str, challenge: str, signature: str) -> str:
        """Open a mailbox, and return a token. The owner signed the whole text of a challenge with its profile's key.

        A mailbox that is open is not changed. `signature`: base64. Raises TheirError (OPENING_NOT_OFFERED,
        CHALLENGE_INVALID, NOT_THE_OWNER, OPENING_REFUSED) or NotNowError: then nothing has changed.
        """
        self._check_offered()
        issued = self.tokens.read_challenge(challenge, name, audience, Purpose.OPEN)
        profile = self._published(name)
        key = profile.signing_key if profile else NOBODYS
        signed = key.verify(decoded(signature), challenge.encode())
        if profile is None or not signed:
            raise TheirError(NOT_THE_OWNER)
        self._check_free(name, profile)
        # As for signing in: a sign-out that happens meanwhile applies.
        sign_outs = self.mailboxes.sign_outs(name)
        # Only now: a caller who cannot sign must not make us write.
        if not self.answered.answer(issued.id, issued.expires_at + CLOCKS_DIFFER_SECONDS):
            raise TheirError(CHALLENGE_INVALID)
        self._put(name)
        return self.tokens.token(name, audience, key.fingerprint, sign_outs)

    def open_published(self, name: str, given: Mapping[str, JsonValue]) -> None:
        """Open the mailbox of a name whose published profile is equal to the given one.

        Raises TheirError (OPENING_NOT_OFFERED, OPENING_REFUSED; a caller who has shown no key is not told why) or
        NotNowError.
        """
        self._check_offered()
        profile = self._published(name)
        if profile is None or not _is_that(profile, given):
            raise TheirError(OPENING_REFUSED)
        try:
            self._check_free(name, profile)
            self._put(name)
        except TheirError:
            raise TheirError(OPENING_REFUSED) from None

    def _check_offered(self) -> None:
        if not self.service:
            raise TheirError(OPENING_NOT_OFFERED)

    def _published(self, name: str) -> UserProfile | None:
        """The profile in the registry now; None: there is none that can be read."""
        self.of_a_name.take(name)
        self.of_all.take("")
        try:
            return self.users.owner(name, fresh=True)
        except TheirError:
            return None

    def _check_free(self, name: str, profile: UserProfile) -> None:
        if self.service not in profile.delivery_services:
            raise TheirError(OPENING_REFUSED, f"its profile does not name {self.service}")
        labels = a_labels(name).split(".")
        if any(self.directory.domain(".".join(labels[start:])) for start in range(len(labels))):
            raise TheirError(OPENING_REFUSED, "it belongs to a domain that receives NLWeb messages here")
        mailbox = self.mailboxes.find(name)
        if mailbox.closed:
            raise TheirError(OPENING_REFUSED, "its operator closed it")
        # The operator set the owner's keys of such a mailbox: a profile of the same name must not get its messages.
        if mailbox.keys and self.mailboxes.settings(name) is None:
            raise TheirError(OPENING_REFUSED, "its operator opened it for NLWeb messages")

    def _put(self, name: str) -> None:
        domain = registrable_domain(name)
        match self.mailboxes.open_dm3(name, domain, self.of_a_domain):
            case Opening.REMOVED:
                raise TheirError(OPENING_REFUSED, "its operator closed it")
            case Opening.FULL:
                raise TheirError(OPENING_REFUSED, f"the operator allows {self.of_a_domain} mailboxes below {domain}")
        self.directory.forget(name)


def _is_that(published: UserProfile, given: Mapping[str, JsonValue]) -> bool:
    """Whether two profiles have the same keys and delivery services; other members do not matter here."""
    try:
        other = read_user_profile(dict(given))
    except TheirError:
        return False
    return (published.signing_key, published.encryption_key, published.delivery_services) == (
        other.signing_key, other.encryption_key, other.delivery_services,
    )  # fmt: skip
