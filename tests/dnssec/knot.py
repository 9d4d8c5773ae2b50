"""Keys and signatures by Knot's kzonesign."""

from datetime import datetime, timedelta
from pathlib import Path

from dns.dnssectypes import Algorithm
from tests.dnssec.programs import run
from tests.dnssec.recipe import Recipe

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
    algorithm = recipe.keys[0].algorithm
    denial = recipe.denial
    days = recipe.days[1] - recipe.days[0]
    return f"""\
server:
    rundir: "{folder}"
database:
    storage: "{folder}/{recipe.origin}keys"
    kasp-db-max-size: 5M
policy:
  - id: ours
    algorithm: {_NAMES.get(algorithm, algorithm.name.lower())}
    single-type-signing: on
    rrsig-lifetime: {days}d
    cds-cdnskey-publish: none
    nsec3: {_said(denial.nsec3)}
    nsec3-iterations: {denial.iterations}
    nsec3-opt-out: {_said(denial.opt_out)}
    nsec3-salt-length: {denial.salt_bytes}
zone:
  - domain: {recipe.origin}
    file: "{folder}/{recipe.origin}zone"
    journal-content: none
    dnssec-signing: on
    dnssec-policy: ours
"""


def _said(on: bool) -> str:
    return "on" if on else "off"
