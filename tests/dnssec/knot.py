"""Zone signing by Knot: kzonesign signs the file of a zone; knotd signs online, with keys of keymgr."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import dns.rdata
import dns.rdataclass
from dns.dnssectypes import Algorithm
from dns.rdatatype import DNSKEY
from tests.dnssec.programs import run
from tests.dnssec.recipe import Maker, Recipe

from postroom.names.dns.records import DnskeyRecord

_NAMES = {Algorithm.RSASHA1NSEC3SHA1: "rsasha1-nsec3-sha1"}


def sign(recipe: Recipe, text: str, folder: Path, now: datetime) -> str:
    """The zone, signed by one key that Knot makes, and written out again in master format."""
    file = folder / f"{recipe.origin}zone"
    file.write_text(text)
    configuration = folder / f"{recipe.origin}conf"
    configuration.write_text(_configuration(recipe, folder))
    (folder / f"{recipe.origin}keys").mkdir()
    # Knot dates signatures back by 90 minutes.
    start = int((now + timedelta(days=recipe.days[0], minutes=90)).timestamp())
    run("kzonesign", "-c", configuration, "-t", start, recipe.origin, cwd=folder)
    return file.read_text()


def _configuration(recipe: Recipe, folder: Path) -> str:
    return f"""\
server:
    rundir: "{folder}"
database:
    storage: "{folder}/{recipe.origin}keys"
    kasp-db-max-size: 5M
policy:
{policy(recipe)}
zone:
  - domain: {recipe.origin}
    file: "{folder}/{recipe.origin}zone"
    journal-content: none
    dnssec-signing: on
    dnssec-policy: {recipe.origin}
"""


def policy(recipe: Recipe) -> str:
    """How Knot is to sign a zone: an item of its configuration, which bears the zone's name."""
    algorithm, denial = recipe.keys[0].algorithm, recipe.denial
    return f"""\
  - id: {recipe.origin}
    algorithm: {_NAMES.get(algorithm, algorithm.name.lower())}
    single-type-signing: {_said(recipe.maker is Maker.KNOT)}
    rrsig-lifetime: {recipe.days[1] - recipe.days[0]}d
    cds-cdnskey-publish: none
    nsec3: {_said(denial.nsec3)}
    nsec3-iterations: {denial.iterations}
    nsec3-opt-out: {_said(denial.opt_out)}
    nsec3-salt-length: {denial.salt_bytes}
"""


def keys_for_knotd(recipe: Recipe, folder: Path) -> Sequence[DnskeyRecord]:
    """Make a key-signing key and a zone-signing key for knotd, in its folder of keys; the first as it is published."""
    number = int(recipe.keys[0].algorithm)
    for kind in ("ksk", "zsk"):
        run("keymgr", "-D", folder, recipe.origin, "generate", f"algorithm={number}", f"{kind}=yes", cwd=folder)
    records = []
    for line in run("keymgr", "-D", folder, recipe.origin, "dnskey", cwd=folder).splitlines():
        record = dns.rdata.from_text(dns.rdataclass.IN, DNSKEY, line.partition(" DNSKEY ")[2])
        assert isinstance(record, DnskeyRecord)
        records.append(record)
    return records


def _said(on: bool) -> str:
    return "on" if on else "off"
