"""Opening of dm3 messages with the keys of their receiver."""

import os

from postroom.client.mailbox.errors import NotOpenedError
from postroom.client.mailbox.keys import load_key
from postroom.client.mailbox.session import Signer
from postroom.core.errors import TheirError
from postroom.protocols.dm3.envelope import open_text
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.message import Dm3Message


def open_dm3(envelope: str, key: Signer | UserKeys | str | os.PathLike[str]) -> Dm3Message:
    """The message in a dm3 envelope. Raises NotOpenedError; for a file OSError, OurError."""
    keys = load_key(key)
    if not isinstance(keys, UserKeys):
        raise NotOpenedError(
            "This key cannot decrypt: name the file that `postroom dm3 keygen` wrote for the receiver, as in "
            "message.open('bob.eth.json')."
        )
    try:
        return open_text(envelope, [keys.encryption])
    except TheirError as error:
        raise NotOpenedError(error.detail, reason=str(error.reason)) from None
