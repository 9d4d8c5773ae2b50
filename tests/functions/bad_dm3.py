"""Valid and invalid calls of the dm3 delivery service, with their senders and receivers.

MARK is in every member that a sender controls, except the id, which must be echoed.
"""

import base64
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from nacl.bindings import crypto_aead_chacha20poly1305_ietf_encrypt, crypto_kx_client_session_keys
from tests.functions.bad_requests import MARK, Sent

from postroom.core.canonical import stringify
from postroom.crypto.x25519 import EncryptionKey
from postroom.protocols.dm3.dialect import sign_struct
from postroom.protocols.dm3.extension import FilterRules, ProfileExtension
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.profile import UserProfile, data_uri
from postroom.protocols.dm3.sealing import SCHEME, seal
from postroom.protocols.dm3.service import ServiceKeys
from postroom.storage.directory.domains import Dm3Mailbox

Json = dict[str, Any]

SENDER, RECEIVER, OPEN, SERVICE = f"{MARK}.eth", "receiver.eth", "open.eth", "service.eth"
"""OPEN: a mailbox that accepts senders whose profile cannot be found."""
NOBODY, BLOCKED, WEAK, ORPHAN = f"{MARK}-nobody.eth", f"{MARK}-blocked.eth", "weak.eth", "orphan.eth"
FULL = "full.eth"
"""A name without a profile; a blocked sender; receivers with a key of small order, and without a profile."""
ELSEWHERE = {
    f"{MARK}-torn.eth": f'data:application/json,{{"{MARK}":',
    f"{MARK}-small.eth": "",
}
"""Names whose profile cannot be read, with their text in the registry."""
ID = "7f3a"
SMALL_ORDER = bytes(32)


@cache
def keys(name: str) -> UserKeys:
    """The keys of a user."""
    return UserKeys.random()


@cache
def service() -> ServiceKeys:
    return ServiceKeys.generate()


def profile(name: str) -> Json:
    """The profile of a user."""
    return UserProfile(keys(name).encryption.public, keys(name).signing.public, (SERVICE,)).as_json()


def profiles() -> dict[str, str]:
    """The registry."""

    def uri(name: str, **members: object) -> str:
        return data_uri(profile(name) | members)

    zeros = base64.b64encode(SMALL_ORDER).decode()
    return {
        **{name: uri(name) for name in (SENDER, BLOCKED, RECEIVER, OPEN, FULL)},
        **ELSEWHERE,
        f"{MARK}-small.eth": uri(SENDER, publicSigningKey=zeros),
        WEAK: uri(WEAK, publicEncryptionKey=zeros),
    }


def mailboxes() -> list[Dm3Mailbox]:
    rules = FilterRules(block=(BLOCKED,))
    return [
        Dm3Mailbox(RECEIVER, ProfileExtension(rules=rules)),
        Dm3Mailbox(OPEN, takes_unverified=True),
        Dm3Mailbox(WEAK),
        Dm3Mailbox(ORPHAN),
        Dm3Mailbox(FULL),
    ]


# --- envelopes -------------------------------------------------------------------------------------------------------


def to_service(plaintext: bytes) -> str:
    """A value sealed to the delivery service."""
    return seal(plaintext, service().encryption[0].public)


def envelope(
    delivery: str = "", *, sender: str = SENDER, to: str = RECEIVER, signer: str = "", **metadata: Any
) -> Json:
    """A valid envelope. `delivery`: the sealed value; empty: for `sender` and `to`. `metadata`: more members."""
    information = {"to": to, "from": sender, "deliveryInstruction": MARK, MARK: MARK}
    members = {
        "version": "1.0",
        "encryptionScheme": SCHEME,
        "deliveryInformation": delivery or to_service(stringify(information)),  # type: ignore[arg-type]
        MARK: MARK,
        **metadata,
    }
    members = {name: value for name, value in members.items() if value is not ...}
    signature = sign_struct(members, keys(signer or sender).signing)
    return {"message": seal(MARK.encode(), keys(RECEIVER).encryption.public), MARK: MARK,
            "metadata": {"signature": signature, **members}}  # fmt: skip


def call(method: object = "dm3_submitMessage", **members: object) -> Json:
    """A call that submits a valid envelope, with members changed or (`...`) left out."""
    whole = {"jsonrpc": "2.0", "method": method, "params": [envelope()], "id": ID, MARK: MARK, **members}
    return {name: value for name, value in whole.items() if value is not ...}


def post(value: object) -> Sent:
    return raw(json.dumps(value).encode())


def raw(body: bytes, **http: str) -> Sent:
    return Sent(body, **{"path": "/dm3", **http})  # type: ignore[arg-type]


def submit(param: object) -> Sent:
    return post(call(params=[param, MARK]))


def spliced(old: str, new: str) -> Sent:
    """The text of a valid call with a part replaced."""
    whole = json.dumps(call())
    assert old in whole
    return raw(whole.replace(old, new, 1).encode())


def value_text(written: str) -> Sent:
    """A valid call with this text as the value of an unknown member of the envelope."""
    return spliced(f'"{MARK}": "{MARK}"', f'"{MARK}": {written}')


def without(name: str) -> Json:
    whole = envelope()
    del whole[name]
    return whole


def sealed(**members: object) -> str:
    """A sealed delivery information with members of the sealed value changed, or (`...`) left out."""
    whole = {
        **json.loads(to_service(b'{"to":"' + RECEIVER.encode() + b'","from":"' + SENDER.encode() + b'"}')),
        **members,
    }
    return json.dumps({name: value for name, value in whole.items() if value is not ...})


def unpadded(plaintext: bytes) -> str:
    """Sealed to the delivery service with everything but the padding."""
    pair, nonce = EncryptionKey.generate(), bytes(12)
    _, session = crypto_kx_client_session_keys(pair.public, pair.private, service().encryption[0].public)
    ciphertext = crypto_aead_chacha20poly1305_ietf_encrypt(plaintext, None, nonce, session)
    return sealed(
        ciphertext=base64.b64encode(ciphertext).decode(),
        ephemPublicKey=base64.b64encode(pair.public).decode(),
        nonce="0x" + nonce.hex(),
    )


def information(value: object) -> Json:
    """An envelope whose delivery information is this."""
    return envelope(to_service(json.dumps(value).encode()))


def good(**http: str) -> Sent:
    """A valid call in an HTTP request that may be invalid."""
    return raw(json.dumps(call()).encode(), **http)


def extension(name: object) -> Json:
    """A call for the profile extension of a name."""
    return call("dm3_getProfileExtension", params=[name])


def no_names() -> Iterator[tuple[str, str]]:
    """Names that ENSIP-15 refuses."""
    yield "a name of 10 kB", f"{MARK}." * 1000 + "eth"
    yield "a name of 256 bytes", "a" * 256
    yield "a name with a zero-width joiner", f"{MARK}\u200d.eth"
    yield "a name with a zero-width non-joiner", f"{MARK}\u200c.eth"
    yield "a name of nothing but zero-width spaces", "\u200b\u200b.eth"
    yield "a name with a bidirectional override", f"{MARK}\u202e.eth"
    yield "a name of two scripts", f"{MARK}\u0430.eth"
    yield "a name with an empty label", f"{MARK}..eth"
    yield "a name with a line feed", f"{MARK}.eth\n"
    yield "a name with a null", f"{MARK}\0.eth"
    yield "a name with a space", f"{MARK} .eth"


def metadata(**members: object) -> Json:
    """A valid envelope whose metadata were changed after signing."""
    whole = envelope()
    changed = {**whole["metadata"], **members}
    return {**whole, "metadata": {name: value for name, value in changed.items() if value is not ...}}


def short_key(length: int) -> str:
    return sealed(ephemPublicKey=base64.b64encode(bytes(length)).decode())
