"""What is looked at before a challenge is signed (settlement dm3 16): a host in between could sign in with it."""

import re
from typing import Final

import jwt
from jwt.exceptions import InvalidTokenError

from postroom.client.mailbox.errors import UntrustedHostError
from postroom.counter.tokens import CHALLENGE_TYPE, MAX_TOKEN_CHARACTERS, PURPOSE

# RFC 7515 §3.1. Nothing else that such a key signs has this form, so nothing else can be signed by mistake.
_COMPACT: Final = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+){2}", re.ASCII)


def check_challenge(text: str, host: str, name: str) -> None:
    """Raises UntrustedHostError unless this is a challenge for the owner of `name` to sign in at `host`.

    Who made it is not asked: only who made it takes the signature, and only for what it says.
    """
    if len(text) > MAX_TOKEN_CHARACTERS or not _COMPACT.fullmatch(text):
        raise _refusal("is no JSON Web Token of a size that is signed")
    try:
        token = jwt.decode_complete(text, options={"verify_signature": False})
    except (InvalidTokenError, ValueError, RecursionError):
        raise _refusal("is no JSON Web Token") from None
    claims = token["payload"]
    if token["header"].get("typ") != CHALLENGE_TYPE or claims.get("purpose") != PURPOSE:
        raise _refusal("is not for picking mail up")
    if claims.get("aud") != host:
        raise _refusal(f"is for signing in elsewhere, and not at {host}")
    if claims.get("sub") != name:
        raise _refusal(f"is for another mailbox, and not for {name}")


def _refusal(why: str) -> UntrustedHostError:
    return UntrustedHostError(f"What the host wants signed {why}. Nothing was signed. Do not trust this host.")
