"""Blocked senders of a mailbox: domains, wallets, and whole branches of names."""

from collections.abc import Collection
from typing import Final

from postroom.core.errors import TheirError
from postroom.protocols.nlweb.names import read_receiver, read_uuid
from postroom.protocols.nlweb.reasons import WRONG_SHAPE

_BRANCH: Final = "*."
_ANY: Final = "any."
"""A label that stands for the star while a name is read: a top-level domain alone is no host name."""


def read_block(text: str) -> str:
    """The one spelling of a block: a domain (A-labels, lower case), `*.` before one (it, and all names below it), or
    the UUID of a wallet. Raises TheirError(WRONG_SHAPE)."""
    wallet = read_uuid(text)
    if wallet is not None:
        return wallet
    try:
        if text.startswith(_BRANCH):
            return _BRANCH + read_receiver(_ANY + text.removeprefix(_BRANCH)).removeprefix(_ANY)
        return read_receiver(text)
    except TheirError:
        raise TheirError(
            WRONG_SHAPE, f"{text[:80]!r} is no domain, no *. with a domain, and no UUID of a wallet"
        ) from None


def is_blocked(sender: str, blocks: Collection[str]) -> bool:
    """Whether blocks, as `read_block` gives them, hold a proven sender, as `read_sender` gives it."""
    if not blocks:
        return False
    labels = sender.split(".")
    branches = (_BRANCH + ".".join(labels[start:]) for start in range(len(labels)))
    return sender in blocks or any(branch in blocks for branch in branches)
