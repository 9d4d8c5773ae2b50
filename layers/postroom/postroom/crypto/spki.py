"""SubjectPublicKeyInfo in DER (RFC 5280 §4.1), and the fingerprint of a key."""

import hashlib
from base64 import b64encode
from typing import Final

ED25519_SPKI: Final = bytes.fromhex("302a300506032b6570032100")
"""RFC 8410 §4; the raw key follows."""
SECP256K1_SPKI: Final = bytes.fromhex("3056301006072a8648ce3d020106052b8104000a034200")
"""RFC 5480 §2; the 65 bytes of the uncompressed point follow."""
SECP256K1_COMPRESSED_SPKI: Final = bytes.fromhex("3036301006072a8648ce3d020106052b8104000a032200")
"""The same; the 33 bytes of the compressed point follow."""


def fingerprint(spki: bytes) -> str:
    """Return SHA256: and the base64, without padding, of SHA-256 over the SubjectPublicKeyInfo."""
    return f"SHA256:{b64encode(hashlib.sha256(spki).digest()).decode().rstrip('=')}"
