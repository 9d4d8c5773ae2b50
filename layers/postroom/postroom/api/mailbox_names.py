"""The names of mailboxes in addresses, and of those who exchange messages with them."""

from contextlib import suppress

from postroom.api.reasons import NO_MAILBOX_NAME
from postroom.core.errors import TheirError
from postroom.protocols.dm3.names import normalize
from postroom.protocols.nlweb.names import read_receiver


def read_mailbox_of(domain: str, text: str) -> str:
    """The one spelling of a mailbox that takes messages of `domain`: the domain's own is named as the domain, however
    its labels are written. Raises TheirError(NO_MAILBOX_NAME)."""
    return domain if a_labels(text) == domain else read_mailbox_name(text)


def a_labels(text: str) -> str:
    """A host name's A-labels, lower-cased; of another name the name itself."""
    try:
        return read_receiver(text)
    except TheirError:
        return text


def read_mailbox_name(text: str) -> str:
    """The one spelling of a mailbox's name: ENSIP-15's, and for host names that has none for, lower case A-labels.

    Raises TheirError(NO_MAILBOX_NAME).
    """
    for read in (normalize, read_receiver):
        try:
            return read(text)
        except TheirError:
            continue
    raise TheirError(NO_MAILBOX_NAME)


def read_partner(text: str) -> frozenset[str]:
    """Every spelling by which messages with this partner may be filed: users of dm3 by ENSIP-15's, domains by A-labels.

    What is no name, as a conversation about a Correlation, is meant as it stands, in whatever case. Empty: nobody.
    """
    spellings = {text.lower()} if text else set()
    for read in (normalize, read_receiver):
        with suppress(TheirError):
            spellings.add(read(text.removesuffix(".")))
    return frozenset(spellings)
