"""Look-ups of profiles as anybody makes them, without an operator's document: in DNS, and on the chain of the stack."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from postroom.core.leaky_bucket import LeakyBucket
from postroom.local.chain.hosts import IPFS_GATEWAY, chain_endpoints
from postroom.local.patience import PATIENCE_SECONDS
from postroom.local.stack import LocalStack
from postroom.names.dns import Resolvers
from postroom.names.dns_registry import DnsRegistry
from postroom.names.dnssec import TrustAnchors
from postroom.names.ens.endpoints import connect_endpoints
from postroom.names.ens.ens import Ens
from postroom.names.ens.lookup import Contracts
from postroom.names.ens_registry import BURST_SECONDS, LOOK_UPS_PER_SECOND, EnsRegistry
from postroom.names.host_addresses import addresses
from postroom.names.ipfs.gateways import IpfsGateways
from postroom.names.profile_documents import ProfileDocuments
from postroom.names.profiles import Profiles
from postroom.names.registries import Registries
from postroom.names.registry import Registry
from postroom.names.uris import uri_reader
from postroom.net.https import HttpsClient


class PublicNames(NamedTuple):
    """Texts of names, and the profiles that they lead to."""

    registry: Registry
    profiles: Profiles


@contextmanager
def public_names(stack: LocalStack) -> Iterator[PublicNames]:
    """Look-ups in DNS and in ENS, where both endpoints of the stack must say the same."""
    with ExitStack() as undo:
        resolvers = undo.enter_context(
            Resolvers(f"udp://{stack.dns.address}", try_seconds=PATIENCE_SECONDS, budget_seconds=PATIENCE_SECONDS)
        )
        anchors, ca_file = TrustAnchors.parse(stack.tree.anchor_text), str(stack.authority.pem)
        https = HttpsClient(
            lambda host: addresses(host, resolvers.asking()),
            port=stack.edge.port,
            allow_private=True,
            ca_file=ca_file,
            connect_timeout=PATIENCE_SECONDS,
            total_timeout=PATIENCE_SECONDS,
        )
        contracts, urls = Contracts(), chain_endpoints(stack.edge.port)
        endpoints = connect_endpoints(
            urls, len(urls), contracts.chain, ca_file=ca_file,
            threads=lambda most: undo.enter_context(ThreadPoolExecutor(most)),
        )  # fmt: skip
        undo.callback(endpoints.close)
        ens = Ens(endpoints, https, contracts, time.time, PATIENCE_SECONDS)
        rate = LeakyBucket(LOOK_UPS_PER_SECOND, LOOK_UPS_PER_SECOND * BURST_SECONDS, time.monotonic)
        registry = Registries(
            [
                lambda: DnsRegistry(resolvers.asking, anchors, time.time),
                lambda: EnsRegistry(lambda: ens, rate, time.time),
            ]
        )
        documents = ProfileDocuments(https, IpfsGateways((IPFS_GATEWAY,), https), time.time)
        yield PublicNames(registry, Profiles(registry, time.time, uri_reader(lambda: documents)))
