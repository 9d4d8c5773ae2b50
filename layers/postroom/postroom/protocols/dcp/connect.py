"""The operation connect: versions, and the two halves of a session's id (DCP: Reserved Operations, connect)."""

import re
from typing import Final

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.protocols.dcp.messages import Payload
from postroom.protocols.dcp.reasons import DCP_BODY_INVALID, DCP_VERSION_UNSUPPORTED

VERSION: Final = "4.0.0"
ACCEPTED: Final = "^4.0.0"
"""The versions that are accepted, as an expression of npm's semver."""
MIN_HALF: Final = 21
MAX_HALF: Final = 256
"""The length of each half of a session's id, in characters."""

_ACCEPTED: Final = re.compile(r"4\.(?:0|[1-9][0-9]{0,8})\.(?:0|[1-9][0-9]{0,8})")
_HALF: Final = re.compile(rf"[A-Za-z0-9._~/-]{{{MIN_HALF},{MAX_HALF}}}")


def is_accepted(version: JsonValue) -> bool:
    """Whether a peer's version is accepted: 4.0.0 or a later one of 4, and no pre-release."""
    return isinstance(version, str) and _ACCEPTED.fullmatch(version) is not None


def read_connect(payload: Payload) -> str:
    """The initiator's half of the session's id. Raises TheirError: DCP_VERSION_UNSUPPORTED, DCP_BODY_INVALID."""
    data = payload.data if isinstance(payload.data, dict) else {}
    if not is_accepted(data.get("version")):
        raise TheirError(DCP_VERSION_UNSUPPORTED, ACCEPTED)
    half = data.get("sid")
    if not isinstance(half, str) or not _HALF.fullmatch(half):
        raise TheirError(
            DCP_BODY_INVALID, f"data.sid is not a string of {MIN_HALF} to {MAX_HALF} letters, digits and - . _ ~ /"
        )
    return half


def session_id(initiators: str, targets: str) -> str:
    """The id of a session."""
    return f"{initiators}-{targets}"


def is_session_id(dcpsid: str, initiators: str) -> bool:
    """Whether a session's id begins with the initiator's half, and goes on with as much from the target.

    The reference's target writes no - between the halves.
    """
    rest = dcpsid.removeprefix(initiators)
    return rest != dcpsid and len(initiators) <= len(rest) <= MAX_HALF + 1
