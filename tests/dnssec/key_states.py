"""Zones in the middle of a roll-over, and what their DS may name (RFC 6781 §4, RFC 6840 §5.11)."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import dns.name
import dns.rdata
import dns.rdataclass
from dns.dnssectypes import Algorithm, DSDigest
from dns.rdatatype import DS, TXT
from tests.dnssec.answers import SMALL
from tests.dnssec.case import Case, Differs, Gives, Peer, Status
from tests.dnssec.keys import KSK, ZSK, Key
from tests.dnssec.recipe import MakeDs, Recipe, changed, ds_by, ds_of, ds_of_each
from tests.dnssec.tampering import algorithm_said_to_be, dropped, signatures

from postroom.names.dns.records import DnskeyRecord, DsRecord, RrsigRecord

_NEW_KSK = Key("new-ksk", sep=True, ds=True)
_NEW_ZSK = Key("new-zsk")
_RSA_KSK = Key("rsa-ksk", Algorithm.RSASHA256, sep=True, ds=True)
_RSA_ZSK = Key("rsa-zsk", Algorithm.RSASHA256)
_LATER = "1 13 2 " + "00" * 32
"""A DS of a key that nobody has seen."""


class State(NamedTuple):
    """A zone's keys and DS, and what its records are worth."""

    label: str
    expected: Status
    why: str
    recipe: Recipe
    differs: Mapping[Peer, Differs] = MappingProxyType({})


def _beside(*others: str) -> MakeDs:
    """The right DS and others."""
    return lambda zone, keys: [*ds_of_each(zone, keys), *map(_ds, others)]


def _only(*texts: str) -> MakeDs:
    return lambda _zone, _keys: [_ds(text) for text in texts]


def _ds(text: str) -> DsRecord:
    record = dns.rdata.from_text(dns.rdataclass.IN, DS, text)
    assert isinstance(record, DsRecord)
    return record


def _wrong(digest: DSDigest) -> MakeDs:
    return lambda zone, keys: [changed(ds) for ds in ds_by(digest)(zone, keys)]


def _both(one: MakeDs, other: MakeDs) -> MakeDs:
    return lambda zone, keys: [*one(zone, keys), *other(zone, keys)]


def _said_to_be(algorithm: int) -> MakeDs:
    """The DS of keys that claim to be of another algorithm."""

    def make(zone: dns.name.Name, keys: Sequence[DnskeyRecord]) -> list[DsRecord]:
        said = [key.replace(algorithm=algorithm) for key in keys]
        return [ds_of(zone, key) for key in said if isinstance(key, DnskeyRecord)]

    return make


def _of_unknown(label: str, algorithm: int, name: str) -> State:
    return State(
        label, Status.INSECURE, f"signed, but only by {name}, which validators do not check (RFC 4035 §5.2)",
        Recipe("", change=algorithm_said_to_be(algorithm), ds=_said_to_be(algorithm)),
    )  # fmt: skip


def _without_rsa(signature: RrsigRecord) -> list[RrsigRecord]:
    return dropped(signature) if signature.algorithm == Algorithm.RSASHA256 else [signature]


_SECURE, _INSECURE, _BOGUS = Status.SECURE, Status.INSECURE, Status.BOGUS
_REVOKED = Differs(_SECURE, "heeds the flag in configured trust anchors only, not below a DS")
_STATES = (
    State("one-key", _SECURE, "one key signs everything", Recipe("", keys=(KSK,))),
    State("one-key-without-flag", _SECURE, "the SEP flag says nothing to validators (RFC 4034 §2.1.1)",
          Recipe("", keys=(Key("only", ds=True),))),
    State("two-ksks", _SECURE, "both sign the keys, and both have a DS", Recipe("", keys=(KSK, _NEW_KSK, ZSK))),
    State("two-ksks-one-ds", _SECURE, "both sign the keys, and one has a DS",
          Recipe("", keys=(KSK, Key("new-ksk", sep=True), ZSK))),
    State("standby-ksk", _SECURE, "one has a DS and does not sign yet: the other does both",
          Recipe("", keys=(KSK, Key("standby", sep=True, ds=True, signs=False), ZSK))),
    State("standby-ksk-only-ds", _BOGUS, "the one that has a DS does not sign the keys",
          Recipe("", keys=(Key("ksk", sep=True), Key("standby", sep=True, ds=True, signs=False), ZSK))),
    State("ds-of-later-ksk-too", _SECURE, "a DS of a key that is not there yet does no harm beside a good one",
          Recipe("", ds=_beside(_LATER))),
    State("ds-of-later-ksk-only", _BOGUS, "no key fits the DS", Recipe("", ds=_only(_LATER))),
    State("next-zsk", _SECURE, "a key that is published before it signs",
          Recipe("", keys=(KSK, ZSK, Key("next", signs=False)))),
    State("two-zsks", _SECURE, "everything is signed by both", Recipe("", keys=(KSK, ZSK, _NEW_ZSK))),
    State("algorithm-change", _SECURE, "everything is signed by both algorithms, and both have a DS",
          Recipe("", keys=(KSK, ZSK, _RSA_KSK, _RSA_ZSK))),
    State("algorithm-change-half-done", _SECURE,
          "a DS of each algorithm, a signature of one: any path that holds is enough (RFC 6840 §5.11)",
          Recipe("", keys=(KSK, ZSK, _RSA_KSK, _RSA_ZSK), change=signatures("www", TXT, _without_rsa))),
    State("revoked-ksk", _SECURE, "an old key says that it is revoked, a new one has the DS (RFC 5011 §2.1)",
          Recipe("", keys=(Key("old", sep=True, revoked=True), KSK, ZSK))),
    State("revoked-ksk-only", _BOGUS, "the only key that has a DS says that it is revoked",
          Recipe("", keys=(Key("old", sep=True, ds=True, revoked=True), ZSK)),
          {Peer.UNBOUND: _REVOKED, Peer.DELV: _REVOKED}),
    State("same-tag", _SECURE, "two keys share algorithm and tag: each is tried (RFC 4034 §5.3.1 and appendix B)",
          Recipe("", keys=(Key("only", Algorithm.RSASHA256, sep=True, ds=True),
                           Key("twin", Algorithm.RSASHA256, signs=False, twin=True))),
          {Peer.DELV: Differs(_BOGUS, "gives up at the first key that does not fit, against KeyTrap")}),
    State("ds-sha384", _SECURE, "the digest is SHA-384", Recipe("", ds=ds_by(DSDigest.SHA384))),
    State("ds-sha1", _SECURE, "the digest is SHA-1, and nothing better is there", Recipe("", ds=ds_by(DSDigest.SHA1)),
          {Peer.OURS: Differs(_INSECURE, "takes SHA-1 only where it is set so, as RFC 9905 asks")}),
    State("ds-sha1-good-sha256-wrong", _BOGUS, "SHA-1 does not count beside SHA-256 (RFC 4509 §3)",
          Recipe("", ds=_both(ds_by(DSDigest.SHA1), _wrong(DSDigest.SHA256))),
          {Peer.UNBOUND: Differs(_SECURE, "takes any digest that fits, unless harden-algo-downgrade is set")}),
    State("ds-sha1-wrong-sha256-good", _SECURE, "SHA-1 does not count beside SHA-256 (RFC 4509 §3)",
          Recipe("", ds=_both(_wrong(DSDigest.SHA1), ds_by(DSDigest.SHA256)))),
    State("ds-sha384-wrong-sha256-good", _SECURE, "any DS that fits is enough (RFC 4035 §5.2)",
          Recipe("", ds=_both(_wrong(DSDigest.SHA384), ds_by(DSDigest.SHA256)))),
    State("ds-sha384-good-sha256-wrong", _SECURE, "any DS that fits is enough (RFC 4035 §5.2)",
          Recipe("", ds=_both(ds_by(DSDigest.SHA384), _wrong(DSDigest.SHA256)))),
    State("ds-of-unknown-digest", _INSECURE, "a digest that validators do not know (RFC 6840 §5.2)",
          Recipe("", ds=_only("1 13 100 " + "00" * 32))),
    State("ds-of-unknown-digest-too", _SECURE, "a DS that cannot be checked does no harm beside a good one",
          Recipe("", ds=_beside("1 13 100 " + "00" * 32))),
    State("ds-of-unknown-algorithm-too", _SECURE, "a DS that cannot be checked does no harm beside a good one",
          Recipe("", ds=_beside("1 100 2 " + "00" * 32))),
    State("ds-of-unknown-algorithm-and-wrong", _BOGUS, "the DS that can be checked fits no key",
          Recipe("", ds=_both(_only("1 100 2 " + "00" * 32), _wrong(DSDigest.SHA256)))),
    _of_unknown("rsamd5", 1, "RSAMD5"),
    _of_unknown("dsa", 3, "DSA"),
    _of_unknown("gost", 12, "ECC-GOST"),
    _of_unknown("unassigned", 100, "an algorithm without a name"),
    _of_unknown("private", 253, "a private algorithm"),
)  # fmt: skip


def _origin(state: State) -> str:
    return f"{state.label}.example."


RECIPES = [state.recipe.at(_origin(state), SMALL) for state in _STATES]
CASES = [
    Case(_origin(state), "records", "www", TXT, Gives.RECORDS, state.expected, state.why, state.differs)
    for state in _STATES
]
