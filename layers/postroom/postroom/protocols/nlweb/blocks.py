"""Blocked senders of a mailbox: domains, wallets, and whole branches of names."""

from collections.abc import Collection
from typing import Final

from postroom.core.errors import TheirError
from postroom.protocols.nlweb.names import read_receiver, read_uuid
from postroom.protocols.nlweb.reasons import WRONG_SHAPE

_BRANCH: Final = "*."
_ANY: Final = "any."
"""A label that replaces the star while a name is read: a top-level domain alone is not a host name."""


def read_block(text: str) -> str:
    """The normalised form of a block.

    It is a domain (A-labels, lower case), `*.` and a domain (it, and all names below it), or the UUID of a wallet.
    Raises TheirError(WRONG_SHAPE).
    """
    wallet = read_uuid(text)
    if wallet is not None:
        return wallet
    try:
        if text.startswith(_BRANCH):
            return _BRANCH + read_receiver(_ANY + text.removeprefix(_BRANCH)).removeprefix(_ANY)
        return read_receiver(text)
    except TheirError:
        raise TheirError(
            WRONG_SHAPE, f"{text[:80]!r} must be a domain, *. with a domain, or the UUID of a wallet"
        ) from None


def is_blocked(sender: str, blocks: Collection[str]) -> bool:
    """Whether a verified sender, from `read_sender`, is in blocks, from `read_block`."""
    if not blocks:
        return False
    labels = sender.split(".")
    branches = (_BRANCH + ".".join(labels[start:]) for start in range(len(labels)))
    return sender in blocks or any(branch in blocks for branch in branches)
