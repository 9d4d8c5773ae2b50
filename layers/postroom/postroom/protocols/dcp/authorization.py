"""Authorization: what the key of a resource says may be done to it, by whom, once (DCP: Request Authentication
Algorithm).

An authorization is one entry of `allow` with the resource, its guardian and the accessor, and the signature of the
whole payload by the key of the resource.
"""

from collections.abc import Collection, Iterable, Mapping

from postroom.core.canonical import json_stringify, json_stringify_of_parsed
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import Address, signed_text_digest
from postroom.crypto.ethereum_keys import EthereumKey, signer_of_digest
from postroom.protocols.dcp.messages import Allowance, Request
from postroom.protocols.dcp.signature import read_signature, write_signature


def does_authorize(request: Request, allowance: Allowance, *, verify: bool = True) -> bool:
    """Whether a request authorizes this: all three addresses in one entry of `allow`, and the resource's signature.

    `verify` False: the signature is not asked for (DCP: Connection.Request.doesAuthorize).
    """
    return allowance in request.payload.allow and (
        not verify or bool(signers_of(request, [allowance.resource], payload_digest(request)))
    )


def payload_digest(request: Request) -> bytes:
    """What the keys of resources sign of a request: the digest of its payload's text.

    To be made once for all signatures: a stranger chooses how many there are, and how long the text is.
    """
    return signed_text_digest(json_stringify_of_parsed(dict(request.payload.members)))


def signers_of(request: Request, resources: Iterable[Address], digest: bytes) -> frozenset[Address]:
    """Those of the resources whose keys signed the payload of a request. `digest`: its `payload_digest`."""
    signatures = {each: signature for each in resources if (signature := read_signature(request.auth.get(each)))}
    return frozenset(each for each, signature in signatures.items() if signer_of_digest(signature, digest) == each)


def authorize(
    payload: Mapping[str, JsonValue], keys: Collection[EthereumKey], *, hex_prefix: bool = False
) -> dict[str, JsonValue]:
    """The member `auth` of a request: a payload's signature by each key, one for a resource.

    `hex_prefix`: addresses are written with 0x, as the reference needs them. Raises NotCanonicalError if there is
    something to sign.
    """
    if not keys:
        return {}
    text = json_stringify(dict(payload))
    prefix = "0x" if hex_prefix else ""
    return {prefix + key.address: write_signature(key.sign(text)) for key in keys}
