"""Cases with trust anchors of their own: the nearest trust anchor counts, and none above it."""

from dataclasses import replace
from typing import NamedTuple

from dns.rdatatype import TXT
from tests.dnssec.answers import SMALL
from tests.dnssec.case import Case, Differs, Gives, Peer, Status
from tests.dnssec.ds import ds_of_each, no_ds, only, said_to_be, wrong_ds
from tests.dnssec.recipe import Maker, Recipe


class Anchored(NamedTuple):
    """A zone with a trust anchor of its own below that of the root, and the expected verdict."""

    label: str
    recipe: Recipe
    expected: Status
    why: str
    delv: Status
    """delv trusts the anchor of the root only."""


_SECURE, _INSECURE, _BOGUS = Status.SECURE, Status.INSECURE, Status.BOGUS
_UNKNOWN = "an anchor that cannot be checked is as none"
_LEFT_OUT = "a negative anchor, which an operator sets where a zone is broken or not to be believed (RFC 7646)"
_ANCHORED = (
    Anchored("island", Recipe("", anchor=ds_of_each, ds=no_ds), _SECURE,
             "no DS leads here, and the anchor fits its key", _INSECURE),
    Anchored("wrong-anchor", Recipe("", anchor=wrong_ds, ds=no_ds), _BOGUS, "the anchor has a bit changed", _INSECURE),
    Anchored("wrong-anchor-good-ds", Recipe("", anchor=wrong_ds), _BOGUS,
             "the nearest anchor counts, whatever a DS may say", _SECURE),
    Anchored("good-anchor-wrong-ds", Recipe("", anchor=ds_of_each, ds=wrong_ds), _SECURE,
             "the nearest anchor counts, whatever a DS may say", _BOGUS),
    Anchored("anchor-of-unsigned", Recipe("", anchor=only("1 13 2 " + "00" * 32), keys=()), _BOGUS,
             "where an anchor is, keys have to be", _INSECURE),
    Anchored("anchor-of-unknown-algorithm", Recipe("", anchor=said_to_be(100), ds=no_ds), _INSECURE,
             _UNKNOWN, _INSECURE),
    Anchored("anchor-of-unknown-digest", Recipe("", anchor=only("1 13 100 " + "00" * 32), ds=no_ds), _INSECURE,
             _UNKNOWN, _INSECURE),
    Anchored("anchor-of-unknown-algorithm-of-unsigned", Recipe("", anchor=only("1 100 2 " + "00" * 32), keys=()),
             _INSECURE, _UNKNOWN, _INSECURE),
    Anchored("negative-anchor", Recipe("", left_out=True), _INSECURE, _LEFT_OUT, _SECURE),
    Anchored("negative-anchor-wrong-ds", Recipe("", ds=wrong_ds, left_out=True), _INSECURE, _LEFT_OUT, _BOGUS),
)  # fmt: skip
_ASKED = (
    ("records", "www", Gives.RECORDS),
    ("no such name", "nothing", Gives.NXDOMAIN),
)


def _origin(zone: Anchored) -> str:
    return f"{zone.label}.example."


RECIPES = [replace(zone.recipe, maker=Maker.KNOT).at(_origin(zone), SMALL) for zone in _ANCHORED]
CASES = [
    Case(
        _origin(zone), title, asked, TXT, gives, zone.expected, zone.why,
        {Peer.DELV: Differs(zone.delv, "heeds the anchor of the root only")} if zone.delv is not zone.expected else {},
    )
    for zone in _ANCHORED
    for title, asked, gives in _ASKED
]  # fmt: skip
