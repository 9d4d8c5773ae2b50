"""What a mailbox may be called in an address."""

from postroom.dm3.names import normalize
from postroom.errors import TheirError
from postroom.nlweb.names import read_receiver
from postroom.reasons import Reason


def read_mailbox_name(text: str) -> str:
    """The one spelling of a mailbox's name: ENSIP-15's, and for host names that has none for, lower case A-labels.

    Raises TheirError(NO_MAILBOX_NAME).
    """
    for read in (normalize, read_receiver):
        try:
            return read(text)
        except TheirError:
            continue
    raise TheirError(Reason.NO_MAILBOX_NAME)
