"""The names of mailboxes in paths, and of their conversation partners."""

from contextlib import suppress

from postroom.api.reasons import NO_MAILBOX_NAME
from postroom.core.errors import TheirError
from postroom.protocols.dm3.names import normalize
from postroom.protocols.nlweb.names import read_receiver


def read_mailbox_of(domain: str, text: str) -> str:
    """The normalised name of a mailbox that receives messages of `domain`. Raises TheirError(NO_MAILBOX_NAME).

    The domain's own mailbox has the domain's name, however its labels are written.
    """
    return domain if a_labels(text) == domain else read_mailbox_name(text)


def a_labels(text: str) -> str:
    """The A-labels of a host name, in lower case; any other name is not changed."""
    try:
        return read_receiver(text)
    except TheirError:
        return text


def read_mailbox_name(text: str) -> str:
    """The normalised name of a mailbox: by ENSIP-15, or lower-case A-labels for host names that it does not allow.

    Raises TheirError(NO_MAILBOX_NAME).
    """
    for read in (normalize, read_receiver):
        try:
            return read(text)
        except TheirError:
            continue
    raise TheirError(NO_MAILBOX_NAME)


def read_partner(text: str) -> frozenset[str]:
    """All names under which messages with this partner may be filed: by ENSIP-15 for dm3 users, A-labels for domains.

    A text that is not a name, such as the conversation about a Correlation, is taken unchanged, in any case. Empty:
    none.
    """
    spellings = {text.lower()} if text else set()
    for read in (normalize, read_receiver):
        with suppress(TheirError):
            spellings.add(read(text.removesuffix(".")))
    return frozenset(spellings)
