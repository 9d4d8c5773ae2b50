"""Cases for zones during a key rollover, and for their DS records (RFC 6781 §4, RFC 6840 §5.11)."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from dns.dnssectypes import Algorithm, DSDigest
from dns.rdatatype import DNSKEY, SOA, TXT
from tests.dnssec.answers import SMALL
from tests.dnssec.case import Case, Differs, Gives, Peer, Status
from tests.dnssec.ds import beside, both, ds_by, only, said_to_be, wrong_by
from tests.dnssec.keys import KSK, ZSK, Key
from tests.dnssec.recipe import NSEC3, Recipe
from tests.dnssec.tampering import (
    algorithm_said_to_be,
    dropped,
    every_signature,
    signed_by,
    together,
    withdrawn,
)

from postroom.names.dns.records import RrsigRecord

_NO_DS = Key("ksk", sep=True)
_NEW_KSK = Key("new-ksk", sep=True, ds=True)
_OTHER_KSK = Key("other-ksk", sep=True, ds=True, signs=False)
_NEW_ZSK = Key("new-zsk")
_NEXT_ZSK = Key("next-zsk", signs=False)
_P384_KSK = Key("p384-ksk", Algorithm.ECDSAP384SHA384, sep=True, ds=True)
_P384_ZSK = Key("p384-zsk", Algorithm.ECDSAP384SHA384)
_P384_KSK_WITHOUT_DS = replace(_P384_KSK, ds=False)


class State(NamedTuple):
    """A zone's keys and DS, and what its records are worth."""

    label: str
    expected: Status
    why: str
    recipe: Recipe
    differs: Mapping[Peer, Differs] = MappingProxyType({})
    differs_on_absence: Mapping[Peer, Differs] = MappingProxyType({})
    """Also, where a name is not there."""


def _of_unknown(label: str, algorithm: int, name: str) -> State:
    return State(
        label, Status.INSECURE, f"signed, but only by {name}, which validators do not check (RFC 4035 §5.2)",
        Recipe("", change=algorithm_said_to_be(algorithm), ds=said_to_be(algorithm)),
    )  # fmt: skip


def _without_p384(signature: RrsigRecord) -> list[RrsigRecord]:
    return dropped(signature) if signature.algorithm == Algorithm.ECDSAP384SHA384 else [signature]


_SECURE, _INSECURE, _BOGUS = Status.SECURE, Status.INSECURE, Status.BOGUS
_REVOKED = Differs(_SECURE, "heeds the flag in configured trust anchors only, not below a DS")
_CANCELED = Differs(Status.INDETERMINATE, 'gives up at the proof, and says "operation canceled"')
_STATES = (
    State("one-key", _SECURE, "one key signs everything", Recipe("", keys=(KSK,))),
    State("one-key-without-flag", _SECURE, "the SEP flag says nothing to validators (RFC 4034 §2.1.1)",
          Recipe("", keys=(Key("only", ds=True),))),
    State("two-ksks", _SECURE, "both sign the keys, and both have a DS", Recipe("", keys=(KSK, _NEW_KSK, ZSK))),
    State("two-ksks-one-ds", _SECURE, "both sign the keys, and one has a DS",
          Recipe("", keys=(KSK, Key("new-ksk", sep=True), ZSK))),
    State("standby-ksk", _SECURE, "one has a DS and does not sign yet: the other does both",
          Recipe("", keys=(KSK, _OTHER_KSK, ZSK))),
    State("standby-ksk-only-ds", _BOGUS, "the one that has a DS does not sign the keys",
          Recipe("", keys=(_NO_DS, _OTHER_KSK, ZSK))),
    State("zsk-only-ds", _BOGUS, "the one that has a DS does not sign the keys",
          Recipe("", keys=(_NO_DS, Key("zsk", ds=True)), change=signed_by("@", DNSKEY, "@", _NO_DS))),
    State("double-ds", _SECURE, "a DS of a key that is not there, yet or any more, does no harm beside a good one",
          Recipe("", keys=(KSK, _OTHER_KSK, ZSK), change=withdrawn(_OTHER_KSK))),
    State("stale-ds", _BOGUS, "the key that has the DS is gone",
          Recipe("", keys=(_NO_DS, _OTHER_KSK, ZSK), change=withdrawn(_OTHER_KSK))),
    State("next-zsk", _SECURE, "a key that is published before it signs", Recipe("", keys=(KSK, ZSK, _NEXT_ZSK))),
    State("zsk-change-half-done", _SECURE, "some records are signed by the next key, the others by the old one",
          Recipe("", keys=(KSK, ZSK, _NEXT_ZSK),
                 change=together(signed_by("www", TXT, "@", _NEXT_ZSK), signed_by("@", SOA, "@", _NEXT_ZSK)))),
    State("two-zsks", _SECURE, "everything is signed by both", Recipe("", keys=(KSK, ZSK, _NEW_ZSK))),
    State("two-zsks-one-gone", _SECURE, "everything is signed by both, and one is not published any more",
          Recipe("", keys=(KSK, ZSK, _NEW_ZSK), change=withdrawn(ZSK))),
    State("zsk-gone", _BOGUS, "the only key that has signed the records is not published any more",
          Recipe("", keys=(KSK, ZSK, _NEXT_ZSK), change=withdrawn(ZSK)), differs_on_absence={Peer.DELV: _CANCELED}),
    State("algorithm-change-signatures", _SECURE,
          "also signed by keys of another algorithm that are not published, yet or any more (RFC 6781 §4.1.4)",
          Recipe("", keys=(KSK, ZSK, _P384_KSK_WITHOUT_DS, _P384_ZSK), change=withdrawn(_P384_KSK, _P384_ZSK))),
    State("algorithm-change-keys", _SECURE, "everything is signed by both algorithms, and the old one has a DS",
          Recipe("", keys=(KSK, ZSK, _P384_KSK_WITHOUT_DS, _P384_ZSK))),
    State("algorithm-change-both-ds", _SECURE, "everything is signed by both algorithms, and both have a DS",
          Recipe("", keys=(KSK, ZSK, _P384_KSK, _P384_ZSK))),
    State("algorithm-change-new-ds", _SECURE, "everything is signed by both algorithms, and the new one has a DS",
          Recipe("", keys=(_NO_DS, ZSK, _P384_KSK, _P384_ZSK))),
    State("algorithm-change-half-done", _SECURE,
          "a DS of each algorithm, a signature of one: any path that holds is enough (RFC 6840 §5.11)",
          Recipe("", keys=(KSK, ZSK, _P384_KSK, _P384_ZSK), change=every_signature(_without_p384))),
    State("algorithm-change-ds-first", _SECURE,
          "a DS of each algorithm, keys of one: any path that holds is enough (RFC 6840 §5.11)",
          Recipe("", keys=(KSK, ZSK, _P384_KSK), change=withdrawn(_P384_KSK))),
    State("algorithm-change-too-early", _BOGUS, "a DS of the new algorithm only, whose key does not sign yet",
          Recipe("", keys=(_NO_DS, ZSK, replace(_P384_KSK, signs=False)))),
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
          Recipe("", ds=both(ds_by(DSDigest.SHA1), wrong_by(DSDigest.SHA256))),
          {Peer.UNBOUND: Differs(_SECURE, "takes any digest that fits, unless harden-algo-downgrade is set")}),
    State("ds-sha1-wrong-sha256-good", _SECURE, "SHA-1 does not count beside SHA-256 (RFC 4509 §3)",
          Recipe("", ds=both(wrong_by(DSDigest.SHA1), ds_by(DSDigest.SHA256)))),
    State("ds-sha384-wrong-sha256-good", _SECURE, "any DS that fits is enough (RFC 4035 §5.2)",
          Recipe("", ds=both(wrong_by(DSDigest.SHA384), ds_by(DSDigest.SHA256)))),
    State("ds-sha384-good-sha256-wrong", _SECURE, "any DS that fits is enough (RFC 4035 §5.2)",
          Recipe("", ds=both(ds_by(DSDigest.SHA384), wrong_by(DSDigest.SHA256)))),
    State("ds-of-unknown-digest", _INSECURE, "a digest that validators do not know (RFC 6840 §5.2)",
          Recipe("", ds=only("1 13 100 " + "00" * 32))),
    State("ds-of-unknown-digest-too", _SECURE, "a DS that cannot be checked does no harm beside a good one",
          Recipe("", ds=beside("1 13 100 " + "00" * 32))),
    State("ds-of-unknown-algorithm-too", _SECURE, "a DS that cannot be checked does no harm beside a good one",
          Recipe("", ds=beside("1 100 2 " + "00" * 32))),
    State("ds-of-unknown-algorithm-and-wrong", _BOGUS, "the DS that can be checked fits no key",
          Recipe("", ds=both(only("1 100 2 " + "00" * 32), wrong_by(DSDigest.SHA256)))),
    _of_unknown("rsamd5", 1, "RSAMD5"),
    _of_unknown("dsa", 3, "DSA"),
    _of_unknown("gost", 12, "ECC-GOST"),
    _of_unknown("unassigned", 100, "an algorithm without a name"),
    _of_unknown("private", 253, "a private algorithm"),
)  # fmt: skip


def _zones(state: State) -> tuple[Recipe, Recipe]:
    """One by NSEC, to be asked for records, and one by NSEC3, to be asked for what it does not have."""
    by_nsec, by_nsec3 = state.recipe, replace(state.recipe, denial=NSEC3)
    return by_nsec.at(f"{state.label}.example.", SMALL), by_nsec3.at(f"{state.label}-nsec3.example.", SMALL)


def _cases(state: State) -> tuple[Case, Case]:
    by_nsec, by_nsec3 = _zones(state)
    return (
        Case(by_nsec.origin, "records", "www", TXT, Gives.RECORDS, state.expected, state.why, state.differs),
        Case(by_nsec3.origin, "no such name", "nothing", TXT, Gives.NXDOMAIN, state.expected, state.why,
             {**state.differs, **state.differs_on_absence}),
    )  # fmt: skip


RECIPES = [zone for state in _STATES for zone in _zones(state)]
CASES = [case for state in _STATES for case in _cases(state)]
