"""Proofs by BIND's delv and by postroom, from the same servers on loopback."""

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import dns.name
from dns.rdatatype import TXT
from tests.dnssec.authorities import named
from tests.dnssec.programs import program
from tests.dnssec.recipe import Maker, Recipe
from tests.dnssec.servers import serving
from tests.dnssec.verdicts import anchors_for_delv

from postroom.local.ports import HOST
from postroom.local.zones import ZoneTree
from postroom.names.dns import Question, Resolvers
from postroom.names.dnssec import Secure, TrustAnchors, Verdict, validate

ZONES: Final = 20
"""The depth of the zones below the root: many, because delv's start takes as long as many proofs of three zones."""


def must_be_secure(verdict: Verdict) -> None:
    """Raise AssertionError unless the verdict is secure: a proof that fails early would look fast."""
    match verdict:
        case Secure():
            return
        case other:
            raise AssertionError(other)


@contextmanager
def on_loopback() -> Iterator[Sequence[Callable[[], object]]]:
    """Functions for a proof and an unproven answer, by postroom and then by delv, from zones that named serves.

    Raises `MissingError` if named or delv is not installed.
    """
    tree, zone = ZoneTree(), "z." * (ZONES - 1) + "example"
    tree.put(zone, 'pk1._domainkey TXT "v=DKIM1; k=ed25519; p=abc"')
    name = f"pk1._domainkey.{zone}"
    question, anchors = Question(dns.name.from_text(name), TXT), TrustAnchors.parse(tree.anchor_text)
    with tempfile.TemporaryDirectory(prefix="postroom-zones-") as directory, ExitStack() as stack:
        folder, files = Path(directory), {}
        for origin, zone in tree.zones().items():
            files[Recipe(str(origin), "", Maker.BIND)] = file = folder / f"{origin}zone"
            zone.to_file(str(file))
        anchors_for_delv(tree.anchor_text, folder / "anchors")
        delv = [program("delv"), f"@{HOST}", "-a", str(folder / "anchors"), "+root", "-t", "TXT", name]
        port = stack.enter_context(serving(named(files)))
        resolvers = stack.enter_context(Resolvers(f"udp://{HOST}:{port}"))
        delv += ["-p", str(port)]
        yield (
            lambda: must_be_secure(validate(*question, anchors, resolvers.asking(), time.time())),
            lambda: resolvers.asking()(question),
            partial(_says, delv, "; fully validated"),
            partial(_says, [*delv, "-i"], "; authoritative"),
        )


def _says(command: Sequence[str], expected: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    if expected not in done.stdout:
        raise AssertionError(f"delv: {done.stdout}{done.stderr}")
