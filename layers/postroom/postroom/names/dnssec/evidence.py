"""The evidence of a verdict, as data: zones from the anchor down, their keys, signature windows."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, cast

import dns.dnssectypes

from postroom.core.ijson import JsonValue
from postroom.names.dnssec.denial import Denier

MAX_JSON_BYTES = 2048
"""Evidence is part of the receipt of each message, so it must be small."""


@dataclass(frozen=True)
class SignatureWindow:
    """A valid signature: the key it was made with, and its period (epoch seconds)."""

    algorithm: int
    key_tag: int
    inception: int
    expiration: int

    def as_json(self) -> dict[str, JsonValue]:
        """`{algorithm, tag, from, until}`."""
        return {
            "algorithm": algorithm_name(self.algorithm),
            "tag": self.key_tag,
            "from": self.inception,
            "until": self.expiration,
        }


@dataclass(frozen=True)
class Link:
    """A zone: the DS digest of one of its keys, and that key's signature over all its keys."""

    zone: str
    digest_type: int
    digest: str
    """Hex."""
    keys: SignatureWindow

    def as_json(self) -> dict[str, JsonValue]:
        """`{zone, ds, keys}`."""
        return {"zone": self.zone, "ds": f"{digest_name(self.digest_type)}:{self.digest}", "keys": self.keys.as_json()}


def zones(chain: Iterable[Link]) -> str:
    """The zones of a chain, such as `. → example. → sender.example.`."""
    return " → ".join(link.zone for link in chain)


@dataclass(frozen=True)
class Alias:
    """A CNAME that was followed, or the result of a DNAME; both names in text form."""

    owner: str
    target: str


@dataclass(frozen=True)
class Evidence:
    """The chain for the RRset of `owner` and `rdtype` after following `aliases`, or for its absence."""

    owner: str
    rdtype: str
    aliases: tuple[Alias, ...]
    chain: tuple[Link, ...]
    """From the trust anchor down to the zone that signed the RRset."""
    signed: SignatureWindow
    """The signature of the RRset, or of a record that denies it."""
    deniers: tuple[Denier, ...] = ()
    """The records that prove its absence; or, beside a record, that it was correctly made from a wildcard."""

    def __str__(self) -> str:
        """The chain, such as `. → example. → sender.example. (RSASHA256 20326 → ECDSAP256SHA256 7 → …)`."""
        keys = " → ".join(f"{algorithm_name(key.algorithm)} {key.key_tag}" for key in self._windows())
        return f"{zones(self.chain)} ({keys})"

    def as_json(self) -> Mapping[str, JsonValue]:
        """JSON-ready, at most 2 kB as compact JSON; `omitted` counts what had to be left out."""
        return self._json

    @cached_property
    def _json(self) -> Mapping[str, JsonValue]:
        # Made once: it is in the receipt of every message that a cached key verifies.
        aliases, chain, deniers = list(self.aliases), list(self.chain), list(self.deniers)
        while True:
            value: dict[str, JsonValue] = {
                "owner": _cut(self.owner),
                "type": self.rdtype,
                "aliases": [[_cut(alias.owner), _cut(alias.target)] for alias in aliases],
                "chain": [link.as_json() | {"zone": _cut(link.zone)} for link in chain],
                "signed": self.signed.as_json(),
            }
            if deniers:
                value["denied by"] = [[it.rdtype, _cut(it.owner), _cut(it.next)] for it in deniers]
            whole = len(self.aliases) + len(self.chain) + len(self.deniers)
            omitted = whole - len(aliases) - len(chain) - len(deniers)
            if omitted:
                value["omitted"] = omitted
            # The ends of the chain are most important: the anchor, and the zone that signed the answer.
            if len(json.dumps(value, separators=(",", ":"))) <= MAX_JSON_BYTES:
                return value
            if len(aliases) > 1:
                del aliases[0]
            elif len(chain) > 1:
                del chain[len(chain) // 2]
            else:
                # Even if all names consist of escapes, two of them, an alias and a zone fit.
                deniers.pop()

    @classmethod
    def from_json(cls, value: object) -> Self:
        """The evidence from the result of `as_json`, except what that left out. Raises ValueError."""
        members = cast("Any", value)
        try:
            return cls(
                members["owner"],
                members["type"],
                tuple(Alias(owner, target) for owner, target in members["aliases"]),
                tuple(_read_link(link) for link in members["chain"]),
                _read_window(members["signed"]),
                tuple(Denier(*denier) for denier in members.get("denied by", ())),
            )
        except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
            raise ValueError("no evidence of a look-up in the form that this release writes") from error

    def _windows(self) -> Iterator[SignatureWindow]:
        yield from (link.keys for link in self.chain)
        if (self.signed.algorithm, self.signed.key_tag) != (
            self.chain[-1].keys.algorithm,
            self.chain[-1].keys.key_tag,
        ):
            yield self.signed


def algorithm_name(algorithm: int) -> str:
    """`ECDSAP256SHA256` for 13, and so on (RFC 8624 §3.1)."""
    return dns.dnssectypes.Algorithm.to_text(algorithm)


def digest_name(digest_type: int) -> str:
    """`SHA256` for 2, and so on (RFC 8624 §3.3)."""
    return dns.dnssectypes.DSDigest.to_text(dns.dnssectypes.DSDigest(digest_type))


def _read_link(link: Any) -> Link:
    digest_type, _, digest = link["ds"].partition(":")
    return Link(link["zone"], int(dns.dnssectypes.DSDigest.from_text(digest_type)), digest, _read_window(link["keys"]))


def _read_window(window: Any) -> SignatureWindow:
    algorithm = int(dns.dnssectypes.Algorithm.from_text(window["algorithm"]))
    tag, begin, end = (int(window[name]) for name in ("tag", "from", "until"))
    if not all(0 <= number < 2**32 for number in (tag, begin, end)):
        raise ValueError("out of range")
    return SignatureWindow(algorithm, tag, begin, end)


def _cut(name: str) -> str:
    """A name, shortened: names come from strangers, and the longest, of escapes, has a thousand characters, which JSON
    escapes again."""
    return name if len(json.dumps(name)) <= 257 else f"{name[:60]}…{name[-60:]}"
