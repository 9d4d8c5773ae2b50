"""Zones made of recipes: signed by other people's tools, changed afterwards, and linked by delegations."""

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
    """The zones' files, and the trust anchor: the root's DS, in master format."""

    files: Mapping[Recipe, Path]
    anchor: str


def grow(recipes: Sequence[Recipe], folder: Path, now: datetime) -> Tree:
    """Make every zone, the deepest first: what is delegated is linked into the zone above."""
    keyring = Keyring(folder / "keys")
    keyring.folder.mkdir()
    by_name = {recipe.name: recipe for recipe in recipes}
    ds_records: dict[Recipe, Sequence[DsRecord]] = {}
    below: dict[Recipe, list[Recipe]] = {recipe: [] for recipe in recipes}
    files = {}
    for recipe in sorted(recipes, key=lambda recipe: len(recipe.name), reverse=True):
        text = _text(recipe, {other: ds_records[other] for other in below[recipe]})
        file = folder / f"zone-{recipe.origin}"
        ds_records[recipe] = ()
        if recipe.keys:
            text = _signed(recipe, text, keyring, now)
            zone = dns.zone.from_text(text, origin=recipe.name, relativize=False)
            if recipe.change:
                recipe.change(Signed(zone, keyring))
                text = zone.to_text(relativize=False)
            ds_records[recipe] = recipe.ds(recipe.name, _entries(recipe, zone, keyring))
        file.write_text(text)
        files[recipe] = file
        if recipe.origin != ".":
            below[_above(recipe.name, by_name)].append(recipe)
    root = next(recipe for recipe in recipes if recipe.origin == ".")
    return Tree(files, "".join(f". IN DS {ds}\n" for ds in ds_records[root]))


def _text(recipe: Recipe, below: Mapping[Recipe, Iterable[DsRecord]]) -> str:
    lines = [_HEAD.format(origin=recipe.origin), f"$ORIGIN {recipe.origin}\n", recipe.text]
    for other, records in below.items():
        lines.append(f"{other.origin} IN NS ns.example.\n")
        lines += [f"{other.origin} IN DS {ds}\n" for ds in records]
    return "".join(lines)


def _signed(recipe: Recipe, text: str, keyring: Keyring, now: datetime) -> str:
    if recipe.maker is Maker.KNOT:
        return knot.sign(recipe, text, keyring.folder, now)
    return bind.sign(recipe, text, keyring, now)


def _above(name: dns.name.Name, recipes: Mapping[dns.name.Name, Recipe]) -> Recipe:
    parent = name.parent()
    return recipes[parent] if parent in recipes else _above(parent, recipes)


def _entries(recipe: Recipe, zone: dns.zone.Zone, keyring: Keyring) -> list[DnskeyRecord]:
    """The keys that should have a DS; those that Knot made tell so by their flag."""
    if recipe.maker is Maker.BIND:
        return [keyring.pair(recipe.origin, key).record for key in recipe.keys if key.ds]
    keys = zone.find_rdataset(recipe.name, DNSKEY)
    return [key for key in keys if isinstance(key, DnskeyRecord) and key.flags & Flag.SEP]
