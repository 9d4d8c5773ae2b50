"""The keys of zones, created by BIND's dnssec-keygen and dnssec-revoke, in a folder for all of BIND's tools."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import dns.rdata
import dns.rdataclass
from cryptography.hazmat.primitives.asymmetric import ec
from dns.dnssectypes import Algorithm
from dns.rdatatype import DNSKEY
from tests.dnssec.programs import run

from postroom.names.dns.records import DnskeyRecord

_RSA = frozenset({Algorithm.RSASHA1, Algorithm.RSASHA1NSEC3SHA1, Algorithm.RSASHA256, Algorithm.RSASHA512})
# BIND has a name of its own for one of them.
_NAMES = {Algorithm.RSASHA1NSEC3SHA1: "NSEC3RSASHA1"}


@dataclass(frozen=True)
class Key:
    """A key of a zone. Two of a zone differ in `name`, if in nothing else."""

    name: str
    algorithm: Algorithm = Algorithm.ECDSAP256SHA256
    sep: bool = False
    """Has the flag of a key-signing key, and signs as one."""
    ds: bool = False
    """The zone above has a DS of it."""
    signs: bool = True
    """Else it is only published."""
    revoked: bool = False
    twin: bool = False
    """Not made, but the zone's first key (RSA) with two of its words changed over: it has the same key tag."""


KSK = Key("ksk", sep=True, ds=True)
ZSK = Key("zsk")


@dataclass(frozen=True)
class KeyPair:
    """A key in BIND's two files, `stem`.key and `stem`.private."""

    stem: Path

    @property
    def record(self) -> DnskeyRecord:
        """The public key as it is published."""
        line = self._read(".key").splitlines()[-1]
        record = dns.rdata.from_text(dns.rdataclass.IN, DNSKEY, line.partition(" DNSKEY ")[2])
        assert isinstance(record, DnskeyRecord)
        return record

    @property
    def private(self) -> ec.EllipticCurvePrivateKey:
        """The private key, of P-256."""
        fields = dict(line.split(": ", 1) for line in self._read(".private").splitlines())
        return ec.derive_private_key(int.from_bytes(base64.b64decode(fields["PrivateKey"])), ec.SECP256R1())

    def _read(self, ending: str) -> str:
        return self.stem.with_name(self.stem.name + ending).read_text()


class Keyring:
    """The keys of all zones, in a folder; made when they are first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._pairs: dict[tuple[str, str], KeyPair] = {}

    def pair(self, origin: str, key: Key) -> KeyPair:
        """The pair of a zone's key."""
        wanted = (origin, key.name)
        if wanted not in self._pairs:
            self._pairs[wanted] = self._made(origin, key)
        return self._pairs[wanted]

    def published(self, origin: str, keys: Sequence[Key]) -> list[DnskeyRecord]:
        """What a zone publishes of these keys."""
        records = [self.pair(origin, key).record for key in keys if not key.twin]
        return records + [_twin(records[0]) for key in keys if key.twin]

    def _made(self, origin: str, key: Key) -> KeyPair:
        size = ["-b", "2048"] if key.algorithm in _RSA else []
        flag = ["-f", "KSK"] if key.sep else []
        name = _NAMES.get(key.algorithm, key.algorithm.name)
        stem = run("dnssec-keygen", "-q", "-a", name, *size, *flag, origin, cwd=self.folder).strip()
        if key.revoked:
            stem = Path(run("dnssec-revoke", "-r", stem, cwd=self.folder).strip()).name
        return KeyPair(self.folder / stem)


def _twin(record: DnskeyRecord) -> DnskeyRecord:
    # The tag is a sum of words of 16 bits; those of an RSA modulus begin behind a length and the exponent 65537.
    # The two are chosen so that the twin comes first in canonical order: some validators try no second key.
    words = [record.key[place : place + 2] for place in range(0, len(record.key), 2)]
    place = next(place for place in range(2, len(words)) if words[place] > words[place + 1])
    words[place], words[place + 1] = words[place + 1], words[place]
    changed = record.replace(key=b"".join(words))
    assert isinstance(changed, DnskeyRecord)
    return changed
