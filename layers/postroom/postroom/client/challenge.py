"""Checks of a challenge before it is signed (decision "Signing in"): a host in between could use the signature."""

import re
from typing import Final

import jwt
from jwt.exceptions import InvalidTokenError

from postroom.api.challenges import CHALLENGE_TYPE, MAX_TOKEN_CHARACTERS, Purpose
from postroom.core.errors import OurError

# RFC 7515 §3.1. Nothing else that such a key signs has this form, so nothing else can be signed by mistake.
_COMPACT: Final = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+){2}", re.ASCII)

_PURPOSES: Final = {Purpose.PICK_UP: "for signing in", Purpose.OPEN: "for opening a mailbox"}


class ChallengeError(OurError):
    """The text is not the expected challenge. It must not be signed, and the host is not to be trusted."""


def check_challenge(text: str, host: str, mailbox: str, purpose: Purpose = Purpose.PICK_UP) -> None:
    """Check that this is a challenge for the owner of `mailbox` to sign in at `host`, or to open it. Raises
    ChallengeError.

    Its issuer is not checked: only its issuer accepts the signature, and only for what the text says.
    """
    flaw = _flaw(text, host, mailbox, purpose)
    if flaw:
        raise ChallengeError(f"{host} did not send a valid challenge for {mailbox}; nothing was signed: it {flaw}")


def _flaw(text: str, host: str, mailbox: str, purpose: Purpose) -> str:
    if len(text) > MAX_TOKEN_CHARACTERS or not _COMPACT.fullmatch(text):
        return "is not a JSON Web Token of a valid size"
    try:
        token = jwt.decode_complete(text, options={"verify_signature": False})
    except (InvalidTokenError, ValueError, RecursionError):
        return "is not a JSON Web Token"
    claims = token["payload"]
    if token["header"].get("typ") != CHALLENGE_TYPE or claims.get("purpose") != purpose:
        return f"is not {_PURPOSES[purpose]}"
    if claims.get("aud") != host:
        return "is for signing in elsewhere"
    return "" if claims.get("sub") == mailbox else "is for another mailbox"
