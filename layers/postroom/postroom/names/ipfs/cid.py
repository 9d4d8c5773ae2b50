"""Content identifiers (CIDs) of IPFS: versions 0 and 1, raw and dag-pb, SHA-256 of 32 bytes, nothing else."""

from typing import Final, NamedTuple, Self

from postroom.crypto.encodings import BASE58, read_digits, write_digits

RAW: Final = 0x55
DAG_PB: Final = 0x70
# Version 0 is a multihash alone: the function (0x12, SHA-256) and the length of its digest. Version 1 says before it
# its version and the codec. All are varints of one byte.
_PREFIX_V0: Final = b"\x12\x20"
_PREFIXES_V1: Final = {codec: bytes((1, codec)) + _PREFIX_V0 for codec in (RAW, DAG_PB)}
_CODECS: Final = {prefix: codec for codec, prefix in _PREFIXES_V1.items()}
_BASE32: Final = "abcdefghijklmnopqrstuvwxyz234567"
_BASE36: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
# Version 0 is in base 58 without a sign of its base, and always 46 characters, "Qm" the first.
_BYTES_V0, _DIGITS_V0 = 34, 46
_BYTES_V1: Final = 36
# By multibase's sign: the digits, how many of them a CID has, and the bits that are left over in the last one. As
# there are never more or fewer digits, each CID has one text in each base.
_BASES: Final = {
    "b": (_BASE32, 58, 2),
    "f": (_BASE36[:16], 72, 0),
    "k": (_BASE36, 55, 0),
    "z": (BASE58, 48, 0),
}


class Cid(NamedTuple):
    """A content identifier (github.com/multiformats/cid). `version`: 0 or 1; `digest`: SHA-256 of the block."""

    version: int
    codec: int
    digest: bytes

    @classmethod
    def parse(cls, text: str) -> Self:
        """A CID as text: version 0, or version 1 in base58btc, base32, base36 or base16. Raises ValueError."""
        if text.startswith("Qm"):
            return cls.from_bytes(_number(text, BASE58, _DIGITS_V0).to_bytes(_BYTES_V0))
        if text[:1] not in _BASES:
            raise ValueError(
                "a CID begins with Qm, or with z, b, k or f for its base: base58btc, base32, base36, base16"
            )
        alphabet, digits, rest = _BASES[text[0]]
        number = _number(text[1:], alphabet, digits)
        if number % (1 << rest):
            raise ValueError("the CID has stray bits in its last digit")
        return cls.from_bytes((number >> rest).to_bytes(_BYTES_V1))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The CID that these bytes are, in its binary form. Raises ValueError."""
        if len(data) == _BYTES_V0 and data.startswith(_PREFIX_V0):
            return cls(0, DAG_PB, data[2:])
        codec = _CODECS.get(data[:4])
        if codec is None or len(data) != _BYTES_V1:
            raise ValueError("the CID is not one of raw or dag-pb with SHA-256 of 32 bytes")
        return cls(1, codec, data[4:])

    @classmethod
    def split(cls, data: bytes) -> tuple[Self, bytes]:
        """The CID with which these bytes begin, in its binary form, and the others. Raises ValueError."""
        length = _BYTES_V0 if data.startswith(_PREFIX_V0) else _BYTES_V1
        return cls.from_bytes(data[:length]), data[length:]

    def __str__(self) -> str:
        """The text that is most in use: base58btc for version 0, base32 for version 1."""
        if self.version == 0:
            return write_digits(int.from_bytes(_PREFIX_V0 + self.digest), BASE58, _DIGITS_V0)
        alphabet, digits, rest = _BASES["b"]
        return "b" + write_digits(int.from_bytes(_PREFIXES_V1[self.codec] + self.digest) << rest, alphabet, digits)


def _number(text: str, alphabet: str, digits: int) -> int:
    if len(text) != digits:
        raise ValueError(f"a CID with SHA-256 has {digits} digits in this base; this one has {len(text)}")
    return read_digits(text, alphabet, digits)
