"""The errors of reading a file of IPFS.

IpfsError                 this answer of a gateway does not give the file; that of another one may
 └─ UnreadableFileError   the URI names nothing that is read here, whatever any gateway answers
"""

from postroom.core.errors import PostroomError


class IpfsError(PostroomError):
    """An answer of a gateway is not what was asked for; the sentence says why."""


class UnreadableFileError(IpfsError):
    """A URI is malformed, or its CID names no file that is read here, which no gateway can change."""
