"""DKIM key records: reading and writing (RFC 6376 §3.6.1, RFC 8463; decision "Key records").

Choices where the RFC leaves one, or is about e-mail only:

- Which TXT record is a key record? One that begins with `v=DKIM1`, or does not begin with `v=` and has a tag `p=`.
  Others, such as SPF, are ignored ("Records beginning with a "v=" tag with any other value MUST be discarded"). Two key
  records at one name are an error, whatever they say.
- `s=` (services): the key is accepted if `s=` lists `*`, which is the default. A key published with `s=email` only is
  reserved for e-mail by its owner, so it is not usable here.
- `h=` (hashes): must list sha256 if present. `t=` (flags) says nothing about messages other than e-mail.
- `k=rsa`: SubjectPublicKeyInfo, which everybody publishes, or the bare RSAPublicKey that the RFC's text names.
"""

import re
from base64 import b64encode
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Sequence

from postroom.core.errors import TheirError
from postroom.crypto.reasons import KEY_RECORD_INVALID, KEY_UNUSABLE
from postroom.crypto.rsa_ed25519 import (
    DEFAULT_RULES,
    KeyRules,
    PublicKey,
    ed25519_from_raw,
    public_key_from_pkcs1,
    public_key_from_spki,
)
from postroom.protocols.nlweb.reasons import KEY_NOT_FOUND, KEY_REVOKED

MAX_RECORD_BYTES = 8192
"""The longest key record that is read; one with an RSA key of 8192 bits has some 1,500 bytes."""

_VERSION = re.compile(rb"[ \t\r\n]*v[ \t\r\n]*=[ \t\r\n]*([^;]*)")
_HAS_KEY = re.compile(rb"(?:^|;)[ \t\r\n]*p[ \t\r\n]*=")
_WHITE = " \t\r\n"
_TAG_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TAG_VALUE = re.compile(r"[\t\r\n -:<-~]*")  # RFC 6376 §3.2: printable but ";", and white space between
_STRING_BYTES = 255  # RFC 1035 §3.3: one character-string of a TXT record


def parse_key_record(records: Sequence[bytes], rules: KeyRules = DEFAULT_RULES) -> PublicKey:
    """Find and read the key record among the TXT records at one name (each with its strings joined).

    Raises TheirError: KeyNotFound, KeyRecordInvalid, KeyRevoked or KeyUnusable.
    """
    found = [record for record in records if _is_key_record(record)]
    if not found:
        raise TheirError(KEY_NOT_FOUND, f"none of the {len(records)} TXT records there is a key record")
    if len(found) > 1:
        raise _invalid(f"there are {len(found)} key records at this name; exactly one was expected")
    if len(found[0]) > MAX_RECORD_BYTES:
        raise _invalid(f"the key record has {len(found[0])} bytes; at most {MAX_RECORD_BYTES} are read")
    return _key(_tags(found[0]), rules)


def record_text(public: PublicKey) -> str:
    """Write the key record to publish: one line of ASCII. Ed25519 in the raw form of RFC 8463 §4."""
    spki = public.spki()
    key = spki if public.algorithm == "rsa" else spki[-32:]
    return f"v=DKIM1; k={public.algorithm}; p={b64encode(key).decode()}"


def record_strings(text: str) -> list[str]:
    """Split a record into the strings of at most 255 bytes that DNS stores (RFC 1035 §3.3.14)."""
    return [text[start : start + _STRING_BYTES] for start in range(0, len(text), _STRING_BYTES)]


def zone_line(name: str, text: str) -> str:
    """Write the line of a zone file (RFC 1035 §5.1) that publishes `text` at the absolute name `name`."""
    quoted = ('"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"' for part in record_strings(text))
    return f"{name.removesuffix('.')}. IN TXT {' '.join(quoted)}"


def _is_key_record(record: bytes) -> bool:
    version = _VERSION.match(record)
    if version:
        return version[1].strip() == b"DKIM1"
    return _HAS_KEY.search(record) is not None


def _tags(record: bytes) -> dict[str, str]:
    """Read a tag-list (RFC 6376 §3.2): names to values, white space around both removed."""
    try:
        specs = record.decode("ascii").split(";")
    except UnicodeDecodeError as error:
        raise _invalid(f"the key record is not ASCII, at byte {error.start}") from None
    if not specs[-1].strip(_WHITE):
        specs.pop()
    tags: dict[str, str] = {}
    for place, spec in enumerate(specs, start=1):
        name, equals, value = (part.strip(_WHITE) for part in spec.partition("="))
        if not equals or not _TAG_NAME.fullmatch(name) or not _TAG_VALUE.fullmatch(value):
            raise _invalid(f"tag {place} of the key record is not of the form name=value")
        if name in tags:
            raise _invalid(f"tag {place} of the key record has the name of an earlier one")
        if name == "v" and place > 1:
            raise _invalid("v= is not the first tag of the key record")
        tags[name] = value
    return tags


def _key(tags: dict[str, str], rules: KeyRules) -> PublicKey:
    if "p" not in tags:
        raise _invalid("the key record has no p=")
    if not tags["p"]:
        raise TheirError(KEY_REVOKED, "p= is empty")
    if "*" not in _listed(tags.get("s", "*")):
        raise TheirError(KEY_UNUSABLE, "s= keeps the key for other services")
    if "sha256" not in _listed(tags.get("h", "sha256")):
        raise TheirError(KEY_UNUSABLE, "h= does not list sha256")
    kind = tags.get("k", "rsa")
    if kind not in ("rsa", "ed25519"):
        raise TheirError(KEY_UNUSABLE, "k= is neither rsa nor ed25519")
    try:
        der = a2b_base64("".join(tags["p"].split()), strict_mode=True)
    except Base64Error:
        raise _invalid("p= is not base64") from None
    key = _read(kind, der, rules)
    if key.algorithm != kind:
        raise _invalid("k= and the key in p= are of different kinds")
    return key


def _read(kind: str, der: bytes, rules: KeyRules) -> PublicKey:
    if kind == "ed25519" and len(der) == 32:
        return ed25519_from_raw(der)
    if kind == "rsa" and _holds_integer_first(der):
        return public_key_from_pkcs1(der, rules)
    return public_key_from_spki(der, rules)


def _holds_integer_first(der: bytes) -> bool:
    """Whether this is a SEQUENCE that begins with an INTEGER: an RSAPublicKey. A SubjectPublicKeyInfo does not."""
    start = 2 + (der[1] & 0x7F if len(der) > 1 and der[1] >= 0x80 else 0)
    return der[start : start + 1] == b"\x02"


def _listed(value: str) -> set[str]:
    """Split a colon-separated list, white space around each element allowed (RFC 6376 §3.6.1)."""
    return {element.strip(_WHITE) for element in value.split(":")}


def _invalid(detail: str) -> TheirError:
    return TheirError(KEY_RECORD_INVALID, detail)
