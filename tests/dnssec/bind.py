"""Zone signing by BIND's dnssec-signzone."""

import os
from datetime import datetime, timedelta

from tests.dnssec.keys import Keyring
from tests.dnssec.programs import run
from tests.dnssec.recipe import Recipe


def sign(recipe: Recipe, text: str, keyring: Keyring, now: datetime) -> str:
    """The zone, signed and written out again in master format."""
    unsigned, signed = (keyring.folder / f"{recipe.origin}{ending}" for ending in ("unsigned", "signed"))
    published = keyring.published(recipe.origin, recipe.keys)
    unsigned.write_text(text + "".join(f"{recipe.origin} IN DNSKEY {record}\n" for record in published))
    start, end = (_moment(now + timedelta(days=days)) for days in recipe.days)
    options: list[str] = ["-s", start, "-e", end, "-o", recipe.origin, "-f", str(signed)]
    denial = recipe.denial
    if denial.nsec3:
        options += ["-3", os.urandom(denial.salt_bytes).hex() or "-", "-H", str(denial.iterations)]
    if denial.opt_out:
        options += ["-A"]
    if all(key.sep for key in recipe.keys if key.signs):
        options += ["-z"]
    stems = [keyring.pair(recipe.origin, key).stem for key in recipe.keys if key.signs]
    # -P: without checks after signing, because some zones are broken on purpose.
    run("dnssec-signzone", "-q", "-P", *options, unsigned, *stems, cwd=keyring.folder)
    return signed.read_text()


def _moment(moment: datetime) -> str:
    return moment.strftime("%Y%m%d%H%M%S")
