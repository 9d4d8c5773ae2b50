"""The output of a DNSSEC proof: the chain from the anchor down, indented by zone."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.names.dnssec import Bogus, Evidence, Link
    from postroom.names.dnssec.evidence import SignatureWindow


def proof_lines(evidence: "Evidence") -> Iterator[str]:
    """The lines of the tree; the names in them come from strangers."""
    yield from _chain_lines(evidence.chain)
    place = "  " * len(evidence.chain)
    for alias in evidence.aliases:
        yield f"{place}{alias.owner} leads to {alias.target}"
    yield f"{place}{evidence.owner} {evidence.rdtype}"
    yield f"{place}  signed by {_window(evidence.signed)}"
    for denier in evidence.deniers:
        yield f"{place}  {denier.rdtype} at {denier.owner}, the next one at {denier.next}"


def broken_lines(bogus: "Bogus") -> Iterator[str]:
    """The same for a broken chain: as far as it was proven."""
    yield from _chain_lines(bogus.chain)
    yield f"{'  ' * len(bogus.chain)}the chain breaks here: {bogus.why}"


def _chain_lines(chain: Sequence["Link"]) -> Iterator[str]:
    from postroom.names.dnssec.evidence import digest_name

    for depth, link in enumerate(chain):
        place = "  " * depth
        yield f"{place}{link.zone}"
        yield f"{place}  DS {digest_name(link.digest_type)} {link.digest}"
        yield f"{place}  DNSKEY signed by {_window(link.keys)}"


def _window(window: "SignatureWindow") -> str:
    from postroom.names.dnssec.evidence import algorithm_name

    days = f"{_moment(window.inception)} to {_moment(window.expiration)} UTC"
    return f"{algorithm_name(window.algorithm)} key {window.key_tag}, {days}"


def _moment(epoch: int) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%d %H:%M:%S")
