"""The ID of this device among those of one user: random, in a small file of the state folder.

It says nothing of the machine. If it is lost, the device gets another one when it is named again, and is listed twice.
"""

import re
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from postroom.cli.output import replace_private
from postroom.cli.user_folders import state_folder

if TYPE_CHECKING:
    from postroom.protocols.status.keys import ChatKey

_ID: Final = re.compile("[0-9a-f]{32}")


def find_device_id(own: "ChatKey") -> str:
    """The ID that this device has as one of a user's; empty: it has none."""
    try:
        text = _file(own).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
    return text if _ID.fullmatch(text) else ""


def keep_device_id(own: "ChatKey") -> str:
    """The ID that this device has as one of a user's, from now on if it had none. Raises OSError, UsageFault."""
    known = find_device_id(own)
    if known:
        return known
    made, path = token_hex(16), _file(own)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_private(path, f"{made}\n".encode())
    return made


def _file(own: "ChatKey") -> Path:
    name = sha256(f"device of {own}".encode()).hexdigest()
    return state_folder("chat") / name[:32]
