"""The explanation why a sender's key is not trusted, from DNS look-ups that anyone can repeat."""

import time

import dns.name
from dns.rdatatype import TXT

from postroom.core.errors import OurError
from postroom.local.patience import PATIENCE_SECONDS
from postroom.local.stack import LocalStack
from postroom.names.dns import Resolvers
from postroom.names.dnssec import Bogus, Evidence, Insecure, TrustAnchors, validate
from postroom.names.dnssec.evidence import zones


def why_not_believed(stack: LocalStack, name: str) -> list[str]:
    """The verdict, then its proof or the valid part of the chain of keys. Raises OurError if the key is proven."""
    with Resolvers(
        f"udp://{stack.dns.address}", try_seconds=PATIENCE_SECONDS, budget_seconds=PATIENCE_SECONDS
    ) as resolvers:
        anchors = TrustAnchors.parse(stack.tree.anchor_text)
        verdict = validate(dns.name.from_text(name), TXT, anchors, resolvers.asking(), time.time())
    match verdict:
        case Insecure(why, _, Evidence(chain=chain, deniers=(denier, *_))):
            return [
                f"insecure: {why}",
                f"proven by {zones(chain)}, whose {denier.rdtype} at {denier.owner} lists no DS",
            ]
        case Bogus(why, chain):
            return [f"bogus: {why}", f"keys are proven as far as {zones(chain)}"]
    raise OurError(f"{name} should not be trusted, and is {verdict}")
