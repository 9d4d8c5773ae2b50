"""What is done to publish a text of a name: the call of a resolver of ENS, the record in DNS, the CID of a file."""

from hashlib import sha256
from typing import Final

from postroom.core.errors import TheirError
from postroom.names.dm3_records import owner_name
from postroom.names.ens.abi import encode
from postroom.names.ens.calls import namehash
from postroom.names.ipfs.cid import RAW, Cid
from postroom.protocols.dm3.reasons import NAME_INVALID
from postroom.protocols.nlweb.key_record import zone_line

_SET_TEXT: Final = bytes.fromhex("10f13a8c")


def set_text_data(name: str, key: str, text: str) -> bytes:
    """The data of a transaction to the resolver of a normalised name that sets a text (ENSIP-5)."""
    return _SET_TEXT + encode("bytes32,string,string", (namehash(name), key, text))


def text_record(name: str, key: str, text: str) -> str:
    """The line of a zone file that publishes a text in ASCII at a normalised name.

    Raises TheirError(NAME_INVALID): the name is not looked up in DNS.
    """
    owner = owner_name(name)
    if owner is None:
        raise TheirError(NAME_INVALID, f"it is not looked up in DNS: {_why_not(name)}")
    return zone_line(owner, f"{key}={text}")


def _why_not(name: str) -> str:
    if "." not in name:
        return "names without a dot are not"
    if name.endswith(".eth"):
        return "names below .eth are not"
    return "IDNA 2008 does not write it as a host name that is read as the same name, or it is too long"


def cid_of(document: bytes) -> Cid:
    """The CID of a file as one raw block, as which every importer stores a small file in version 1."""
    return Cid(1, RAW, sha256(document).digest())
