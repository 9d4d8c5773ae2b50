"""The set-up for the DNSSEC cases: all zones on real servers, two resolvers, and the verdicts of all validators."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tests.dnssec.authorities import knotd, named
from tests.dnssec.case import Case, Gives, Peer, Said
from tests.dnssec.programs import require_all
from tests.dnssec.recipe import Maker, Recipe
from tests.dnssec.resolver import unbound
from tests.dnssec.servers import serving
from tests.dnssec.tree import grow
from tests.dnssec.verdicts import anchors_for_delv, delivered, delv_says, ours_says, unbound_says

from postroom.names.dnssec import TrustAnchors

_AT_ONCE = 4
"""The number of cases at the same time: delv is a process for each question, and sometimes waits for long."""


class Verdicts(NamedTuple):
    """What is said of a case."""

    delivered: Gives
    """What the plain resolver hands out, unchecked: a case is nothing else than it says."""
    unbound: Said
    delv: Said
    """Over what the plain resolver hands out, as ours."""
    ours: Said

    def unlike(self, case: Case) -> list[str]:
        """What is not as the case says, of what was handed out and of what anybody says of it."""
        found = [] if self.delivered is case.gives else [f"handed out: {self.delivered}, not {case.gives}"]
        for peer, said in ((Peer.UNBOUND, self.unbound), (Peer.DELV, self.delv), (Peer.OURS, self.ours)):
            expected = case.expected_of(peer)
            if said.status is not expected or said.gives not in (None, case.gives):
                found.append(f"{peer}: {_as_text(said)}, not {expected}")
        return found


def _as_text(said: Said) -> str:
    return ", ".join(filter(None, (said.status, said.gives, said.why)))


@dataclass(frozen=True)
class Ground:
    """Where to ask. `validating` and `plain` are ports of resolvers."""

    validating: int
    plain: int
    anchors: TrustAnchors
    anchors_for_delv: Path

    def verdicts(self, case: Case) -> Verdicts:
        """Ask everybody."""
        name, rdtype = case.name, case.rdtype
        return Verdicts(
            delivered(name, rdtype, self.plain),
            unbound_says(name, rdtype, self.validating),
            delv_says(name, rdtype, self.plain, self.anchors_for_delv),
            ours_says(name, rdtype, self.plain, self.anchors),
        )


@contextmanager
def judged(recipes: Sequence[Recipe], cases: Mapping[str, Case]) -> Iterator[Mapping[str, Future[Verdicts]]]:
    """The verdicts on all cases, by their labels, each when it is there. Raises as `ground` does."""
    with ground(recipes) as here, ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            yield {label: pool.submit(here.verdicts, case) for label, case in cases.items()}
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def ground(recipes: Sequence[Recipe]) -> Iterator[Ground]:
    """Make the zones, start the servers. Raises `MissingError` where other people's programs are not installed."""
    require_all()
    with tempfile.TemporaryDirectory(prefix="postroom-zones-") as directory, ExitStack() as servers:
        folder = Path(directory)
        tree = grow(recipes, folder, datetime.now(UTC))
        by_bind = {recipe: file for recipe, file in tree.files.items() if recipe.maker is Maker.BIND}
        by_knot = {recipe: file for recipe, file in tree.files.items() if recipe.maker is not Maker.BIND}
        ports = dict.fromkeys(by_bind, servers.enter_context(serving(named(by_bind))))
        ports |= dict.fromkeys(by_knot, servers.enter_context(serving(knotd(by_knot, tree.keys_of_knotd))))
        anchors_for_delv(tree.anchors, folder / "anchors")
        yield Ground(
            servers.enter_context(serving(unbound(ports, tree.anchors, tree.left_out))),
            servers.enter_context(serving(unbound(ports))),
            TrustAnchors.parse(tree.anchors, " ".join(tree.left_out)),
            folder / "anchors",
        )
