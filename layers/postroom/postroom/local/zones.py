"""A signed zone tree from a few zone texts: its own root, the domains above each zone, real keys.

A zone text is in master format (RFC 1035 §5); SOA, NS and TTL may be left out. Zones above it are created as needed,
with delegations (NS, glue, DS). Each zone is signed by one ECDSAP256SHA256 key, with an NSEC chain.
"""

import json
import logging
import os
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import dns.dnssec
import dns.exception
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdataset
import dns.tokenizer
import dns.zone
import dns.zonefile
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from dns.dnssectypes import Algorithm
from dns.rdatatype import AAAA, DNSKEY, DS, NS, SOA, A, RdataType

from postroom.core.errors import SettingsError
from postroom.names.dns.records import DnskeyRecord, RrsigRecord

TTL_SECONDS = 300
_LIFETIME_SECONDS = 30 * 86_400
# Signatures begin in the past, so that they are valid for a clock that is a little behind.
_BACKDATED_SECONDS = 3_600
_SIGNING_KEY_FLAGS = 257

_UNREADABLE = (dns.exception.DNSException, ValueError, KeyError, struct.error)
_LINES_LOOKED_BACK = 20

Zones = Mapping[dns.name.Name, dns.zone.Zone]
_log = logging.getLogger(__name__)


class Mode(StrEnum):
    """How a zone is served; the value is the ending of its file's name."""

    SIGNED = "zone"
    UNSIGNED = "unsigned"
    """No signatures, and no DS above it."""
    BOGUS = "bogus"
    """Signed, with a DS above it; then every signature except the one over its keys is broken."""


_ENDINGS = frozenset(mode.value for mode in Mode)


class ZoneSource(NamedTuple):
    """A zone as it was written. `path`: its file; None: it was added by `put`."""

    text: str
    mode: Mode
    path: Path | None = None


ZoneInput = Mapping[dns.name.Name, ZoneSource]
"""What a zone is made from: its own source, and those of the zones right below it, for their delegations."""


class ZoneKey(NamedTuple):
    """The key that signs a zone."""

    private: ec.EllipticCurvePrivateKey
    record: DnskeyRecord


class ZoneTree:
    """Zones added by `put`, or found in `directory` as `<origin>.zone`, `<origin>.unsigned`, `<origin>.bogus`.

    With `keys_directory`, the keys survive the process, and so do the trust anchor and the zones that were put.
    Thread-safe. Raises `SettingsError` for a zone text that cannot be read.
    """

    def __init__(
        self,
        directory: Path | None = None,
        *,
        keys_directory: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._passed_over: set[Path] = set()
        self._directory = directory
        self._keys_directory = keys_directory
        self._clock = clock
        self._lock = threading.RLock()
        self._keys: dict[dns.name.Name, ZoneKey] = {}
        self._put = _read_put(self._put_file)
        self._files = self._look()
        self._read = _read_files(self._files)
        self._inputs: Mapping[dns.name.Name, ZoneInput] = {}
        self._zones: Zones = {}
        self._zones = self._build()

    def put(self, origin: str, text: str, mode: Mode = Mode.SIGNED) -> None:
        """Add or replace a zone, signed with its old key; it takes precedence over a file of the same origin."""
        with self._lock:
            name = dns.name.from_text(origin)
            before = dict(self._put)
            self._put[name] = ZoneSource(text, mode)
            try:
                self._zones = self._build()
            except SettingsError:
                self._put = before
                raise
            if self._put != before:
                _write_put(self._put_file, self._put)

    @property
    def _put_file(self) -> Path | None:
        return self._keys_directory and self._keys_directory / "zones.json"

    def zones(self) -> Zones:
        """All zones by origin, after reading what has changed on disk. A malformed file changes nothing."""
        with self._lock:
            files = self._look()
            if files != self._files:
                self._files = files
                try:
                    self._read = _read_files(files)
                    self._zones = self._build()
                except (SettingsError, OSError) as error:
                    _log.warning("zones left as they were: %s", error)
            return self._zones

    @property
    def anchor_text(self) -> str:
        """The trust anchor: the DS record of the root of this tree."""
        ds = dns.dnssec.make_ds(dns.name.root, self.key(".").record, "SHA256")
        return f". IN DS {ds}\n"

    def key(self, origin: str | dns.name.Name) -> ZoneKey:
        """The key of a zone: loaded, or created on first use."""
        name = dns.name.from_text(origin) if isinstance(origin, str) else origin
        with self._lock:
            if name not in self._keys:
                private = self._private_key(name)
                record = dns.dnssec.make_dnskey(private.public_key(), Algorithm.ECDSAP256SHA256, _SIGNING_KEY_FLAGS)
                self._keys[name] = ZoneKey(private, record)
            return self._keys[name]

    def _private_key(self, name: dns.name.Name) -> ec.EllipticCurvePrivateKey:
        if self._keys_directory is None:
            return ec.generate_private_key(ec.SECP256R1())
        path = self._keys_directory / f"zone-{quote(str(name), safe='')}pem"
        if path.exists():
            loaded = serialization.load_pem_private_key(path.read_bytes(), None)
            if not isinstance(loaded, ec.EllipticCurvePrivateKey):
                raise SettingsError(f"{path} is not an elliptic curve private key")
            return loaded
        private = ec.generate_private_key(ec.SECP256R1())
        pem = private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        self._keys_directory.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pem)
        return private

    def _look(self) -> dict[Path, tuple[int, int]]:
        if self._directory is None:
            return {}
        seen = {}
        for path in self._directory.iterdir():
            if path.suffix[1:] in _ENDINGS:
                stat = path.stat()
                seen[path] = (stat.st_mtime_ns, stat.st_size)
            elif path not in self._passed_over:
                self._passed_over.add(path)
                _log.warning("%s is not served: a zone's file is named <origin>.%s", path, "|".join(sorted(_ENDINGS)))
        return seen

    def _build(self) -> Zones:
        sources = {**self._read, **self._put}
        origins = {above for origin in sources for above in _upwards(origin)} | {dns.name.root}
        whole = {origin: sources.get(origin, ZoneSource("", Mode.SIGNED)) for origin in origins}
        inputs: dict[dns.name.Name, dict[dns.name.Name, ZoneSource]] = {origin: {} for origin in origins}
        for origin, source in whole.items():
            inputs[origin][origin] = source
            if origin != dns.name.root:
                inputs[origin.parent()][origin] = source
        # Signing is most of the work, and a stack adds its zones one by one.
        changed = {origin for origin in origins if inputs[origin] != self._inputs.get(origin)}
        zones = {origin: self._zones[origin] for origin in origins - changed}
        for origin in changed:
            zones[origin] = _parse(origin, whole[origin], int(self._clock()))
        for origin in origins - {dns.name.root}:
            if origin.parent() in changed:
                key = None if whole[origin].mode is Mode.UNSIGNED else self.key(origin)
                _delegate(zones[origin.parent()], zones[origin], key)
        for origin in changed:
            if whole[origin].mode is not Mode.UNSIGNED:
                self._sign(zones[origin], self.key(origin))
            if whole[origin].mode is Mode.BOGUS:
                _break_signatures(zones[origin])
        self._inputs = inputs
        return zones

    def _sign(self, zone: dns.zone.Zone, key: ZoneKey) -> None:
        inception = int(self._clock()) - _BACKDATED_SECONDS
        dns.dnssec.sign_zone(
            zone,
            keys=[(key.private, key.record)],
            inception=inception,
            expiration=inception + _LIFETIME_SECONDS,
        )


def _upwards(name: dns.name.Name) -> Iterable[dns.name.Name]:
    yield name
    while name != dns.name.root:
        name = name.parent()
        yield name


def _read_put(file: Path | None) -> dict[dns.name.Name, ZoneSource]:
    if file is None or not file.exists():
        return {}
    kept: list[list[str]] = json.loads(file.read_text())
    return {dns.name.from_text(origin): ZoneSource(text, Mode(mode)) for origin, text, mode in kept}


def _write_put(file: Path | None, put: Mapping[dns.name.Name, ZoneSource]) -> None:
    if file is None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps([[str(origin), source.text, source.mode] for origin, source in put.items()]))
    fresh.replace(file)


def _read_files(paths: Iterable[Path]) -> dict[dns.name.Name, ZoneSource]:
    sources: dict[dns.name.Name, ZoneSource] = {}
    for path in sorted(paths):
        try:
            origin = dns.name.from_text(path.stem)
            text = path.read_text(encoding="utf-8")
        except dns.exception.DNSException as error:
            raise SettingsError(f"{path}: {path.stem!r} is not the name of a zone: {error}") from error
        except UnicodeDecodeError as error:
            raise SettingsError(f"{path}: not UTF-8, at byte {error.start}") from error
        if origin in sources:
            raise SettingsError(f"{path}: there is another file for the zone {origin}")
        sources[origin] = ZoneSource(text, Mode(path.suffix[1:]), path)
    return sources


def _parse(origin: dns.name.Name, source: ZoneSource, serial: int) -> dns.zone.Zone:
    zone = _read_records(origin, source)
    try:
        _complete(origin, zone, serial)
    except dns.exception.DNSException as error:
        raise SettingsError(f"{_where(source)}the zone {origin} cannot be served: {error}") from error
    return zone


def _complete(origin: dns.name.Name, zone: dns.zone.Zone, serial: int) -> None:
    """Add the records that every zone has and its text may leave out."""
    host = dns.name.from_text("ns.root-servers" if origin == dns.name.root else "ns", origin)
    if zone.get_rdataset(origin, NS) is None:
        _add(zone, origin, NS, str(host))
        if zone.get_rdataset(host, A) is None:
            _add(zone, host, A, "127.0.0.1")
    if zone.get_rdataset(origin, SOA) is None:
        _add(zone, origin, SOA, f"{host} hostmaster.{host} {serial} 3600 600 86400 60")


def _read_records(origin: dns.name.Name, source: ZoneSource) -> dns.zone.Zone:
    tokens = dns.tokenizer.Tokenizer(source.text)
    try:
        return _read_zone(origin, tokens)
    except _UNREADABLE as error:
        # The tokenizer says "<file>:<line>: <fault>", with the line that it would read next.
        _, next_line = tokens.where()
        fault = str(error).rpartition(f":{next_line}: ")[2] or type(error).__name__
        line = _bad_line(origin, source.text.split("\n"), next_line)
        raise SettingsError(f"{_where(source)}the zone {origin} cannot be read: line {line}: {fault}") from error


def _where(source: ZoneSource) -> str:
    return f"{source.path}: " if source.path else ""


def _read_zone(origin: dns.name.Name, tokens: dns.tokenizer.Tokenizer) -> dns.zone.Zone:
    zone = dns.zone.Zone(origin, dns.rdataclass.IN, relativize=False)
    with zone.writer(replacement=True) as records:
        dns.zonefile.Reader(tokens, dns.rdataclass.IN, records, default_ttl=TTL_SECONDS).read()
    return zone


def _bad_line(origin: dns.name.Name, lines: list[str], last: int) -> int:
    """The line where the malformed record begins; it is not after `last`.

    Or `last`, if it begins further up than is worth the search: each step reads all the lines before it.
    """
    nearest = min(last, len(lines) - 1)
    for good in range(nearest, max(0, nearest - _LINES_LOOKED_BACK), -1):
        try:
            _read_zone(origin, dns.tokenizer.Tokenizer("\n".join(lines[:good])))
        except _UNREADABLE:
            continue
        return good + 1
    return 1 if nearest <= _LINES_LOOKED_BACK else last


def _delegate(above: dns.zone.Zone, zone: dns.zone.Zone, key: ZoneKey | None) -> None:
    """Add name servers, their addresses and the DS, unless the zone above was written with its own."""
    origin = _origin(zone)
    servers = zone.find_rdataset(origin, NS)
    if above.get_rdataset(origin, NS) is None:
        _copy(above, origin, servers)
        for server in servers:
            host = dns.name.from_text(server.to_text())
            for rdtype in (A, AAAA):
                glue = zone.get_rdataset(host, rdtype) if host.is_subdomain(origin) else None
                if glue:
                    _copy(above, host, glue)
    if key and above.get_rdataset(origin, DS) is None:
        _add(above, origin, DS, str(dns.dnssec.make_ds(origin, key.record, "SHA256")))


def _add(zone: dns.zone.Zone, name: dns.name.Name, rdtype: RdataType, text: str) -> None:
    record = dns.rdata.from_text(dns.rdataclass.IN, rdtype, text)
    zone.find_rdataset(name, rdtype, create=True).add(record, TTL_SECONDS)


def _copy(zone: dns.zone.Zone, name: dns.name.Name, records: dns.rdataset.Rdataset) -> None:
    zone.replace_rdataset(name, dns.rdataset.from_rdata_list(TTL_SECONDS, list(records)))


def _origin(zone: dns.zone.Zone) -> dns.name.Name:
    origin = zone.origin
    if origin is None:
        raise SettingsError("a zone has no origin")
    return origin


def _break_signatures(zone: dns.zone.Zone) -> None:
    for name, rdataset in list(zone.iterate_rdatasets()):
        broken = [
            record.replace(signature=record.signature[:-1] + bytes([record.signature[-1] ^ 1]))
            for record in rdataset
            if isinstance(record, RrsigRecord) and record.type_covered != DNSKEY
        ]
        if broken:
            zone.replace_rdataset(name, dns.rdataset.from_rdata_list(rdataset.ttl, broken))
