"""Zone trees from recipes: signed by other software, changed afterwards, and connected by delegations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import dns.name
import dns.zone
from dns.rdatatype import DNSKEY
from dns.rdtypes.dnskeybase import Flag
from tests.dnssec import bind, knot
from tests.dnssec.keys import Keyring
from tests.dnssec.recipe import Maker, Recipe, Signed

from postroom.names.dns.records import DnskeyRecord, DsRecord

_TTL_SECONDS = 300
# Nobody asks it: resolvers are told where each zone is served.
_HEAD = f"""\
$TTL {_TTL_SECONDS}
{{origin}} IN SOA ns.example. hostmaster.example. 1 3600 600 604800 {_TTL_SECONDS}
{{origin}} IN NS ns.example.
"""


@dataclass(frozen=True)
class Tree:
    """The zones' files, the keys of those that knotd signs, and what validators are told of them.

    `anchors`: DS records in master format. `left_out`: origins of zones.
    """

    files: Mapping[Recipe, Path]
    keys_of_knotd: Path
    anchors: str
    left_out: Sequence[str]


def grow(recipes: Sequence[Recipe], folder: Path, now: datetime) -> Tree:
    """Make every zone, the deepest first: what is delegated is linked into the zone above."""
    keyring = Keyring(folder / "keys")
    keys_of_knotd = folder / "knotd"
    for keys in (keyring.folder, keys_of_knotd):
        keys.mkdir()
    by_name = {recipe.name: recipe for recipe in recipes}
    ds_records: dict[Recipe, Sequence[DsRecord]] = {}
    below: dict[Recipe, list[Recipe]] = {recipe: [] for recipe in recipes}
    anchors: list[str] = []
    files = {}
    for recipe in sorted(recipes, key=lambda recipe: len(recipe.name), reverse=True):
        text = _text(recipe, {other: ds_records[other] for other in below[recipe]})
        file = folder / f"zone-{recipe.origin}"
        text, entries = _finished(recipe, text, keyring, keys_of_knotd, now)
        file.write_text(text)
        ds_records[recipe] = recipe.ds(recipe.name, entries)
        anchors += _ds_lines(recipe, recipe.anchor(recipe.name, entries))
        files[recipe] = file
        if recipe.origin != ".":
            below[_above(recipe.name, by_name)].append(recipe)
    left_out = [recipe.origin for recipe in recipes if recipe.left_out]
    return Tree(files, keys_of_knotd, "".join(anchors), left_out)


def _text(recipe: Recipe, below: Mapping[Recipe, Iterable[DsRecord]]) -> str:
    lines = [_HEAD.format(origin=recipe.origin), f"$ORIGIN {recipe.origin}\n", recipe.text]
    for other, records in below.items():
        lines.append(f"{other.origin} IN NS ns.example.\n")
        lines += _ds_lines(other, records)
    return "".join(lines)


def _ds_lines(recipe: Recipe, records: Iterable[DsRecord]) -> list[str]:
    return [f"{recipe.origin} IN DS {ds}\n" for ds in records]


def _finished(
    recipe: Recipe, text: str, keyring: Keyring, keys_of_knotd: Path, now: datetime
) -> tuple[str, Sequence[DnskeyRecord]]:
    """A zone as its server is handed it, and those of its keys that should have a DS."""
    if recipe.keys and recipe.maker is Maker.KNOTD:
        return text, knot.keys_for_knotd(recipe, keys_of_knotd)
    zone = dns.zone.from_text(_signed(recipe, text, keyring, now), origin=recipe.name, relativize=False)
    entries = _entries(recipe, zone, keyring) if recipe.keys else ()
    if recipe.change:
        recipe.change(Signed(zone, keyring))
    return zone.to_text(relativize=False), entries


def _signed(recipe: Recipe, text: str, keyring: Keyring, now: datetime) -> str:
    if not recipe.keys:
        return text
    if recipe.maker is Maker.KNOT:
        return knot.sign(recipe, text, keyring.folder, now)
    return bind.sign(recipe, text, keyring, now)


def _above(name: dns.name.Name, recipes: Mapping[dns.name.Name, Recipe]) -> Recipe:
    parent = name.parent()
    return recipes[parent] if parent in recipes else _above(parent, recipes)


def _entries(recipe: Recipe, zone: dns.zone.Zone, keyring: Keyring) -> list[DnskeyRecord]:
    """Of a signed zone the keys that should have a DS; those that Knot made tell so by their flag."""
    if recipe.maker is Maker.BIND:
        return [keyring.pair(recipe.origin, key).record for key in recipe.keys if key.ds]
    keys = zone.find_rdataset(recipe.name, DNSKEY)
    return [key for key in keys if isinstance(key, DnskeyRecord) and key.flags & Flag.SEP]
