"""What a local stack has for look-ups of dm3 names: a chain, its gateways, signed zones, and a local.json."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.cli.conftest import FakeDns

from postroom.cli.descriptor import Descriptor
from postroom.local.authority import Authority
from postroom.local.chain.ens_names import PUBLIC_RESOLVER
from postroom.local.chain.hosts import CCIP_URL, IPFS_GATEWAY, ZONE, ZONE_TEXT, chain_endpoints
from postroom.local.chain.local_ethereum import LocalEthereum
from postroom.local.edge import Edge
from postroom.local.zones import Mode
from postroom.names.publishing import text_record
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.profile import ServiceProfile, UserProfile, data_uri

KEYS = UserKeys.random()
PROFILE = UserProfile(KEYS.encryption.public, KEYS.signing.public, ("ds.eth",)).as_json()
SERVICE = ServiceProfile(KEYS.encryption.public, KEYS.signing.public, "https://ds.example").as_json()
TEXT = data_uri(PROFILE)


class ChainStack(NamedTuple):
    """A chain and gateways that a local.json leads to."""

    edge: Edge
    ethereum: LocalEthereum
    file: Path


@pytest.fixture(scope="module")
def chain_stack(fake_dns: FakeDns, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChainStack]:
    folder = tmp_path_factory.mktemp("chain")
    authority = Authority(folder / "ca")
    with Edge(authority) as edge:
        ethereum = LocalEthereum(time.time)
        ethereum.serve(edge)
        register(ethereum)
        fake_dns.tree.put(ZONE, ZONE_TEXT)
        fake_dns.tree.put("dan.example", text_record("dan.example", PROFILE_KEY, TEXT))
        fake_dns.tree.put("forged.example", text_record("forged.example", PROFILE_KEY, TEXT), Mode.BOGUS)
        fake_dns.tree.put("open.example", text_record("open.example", PROFILE_KEY, TEXT), Mode.UNSIGNED)
        file = folder / "local.json"
        Descriptor(
            fake_dns.resolver, fake_dns.tree.anchor_text, str(authority.pem), edge.port, "http://127.0.0.1:9", "", {},
            chain_endpoints(edge.port), (IPFS_GATEWAY,),
        ).write(file)  # fmt: skip
        yield ChainStack(edge, ethereum, file)


def register(ethereum: LocalEthereum) -> None:
    ens = ethereum.ens
    cid = ethereum.ipfs.add(json.dumps(PROFILE).encode(), chunk_bytes=100)
    never_added = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"
    ens.register("eth")
    ens.register("bare.eth")
    for name, text in {
        "alice.eth": TEXT, "erin.eth": f"ipfs://{cid}", "wrong.eth": "data:,x", "lost.eth": f"ipfs://{never_added}",
    }.items():  # fmt: skip
        ens.register(name, PUBLIC_RESOLVER, 600 if name == "alice.eth" else 0)
        ens.set_text(name, PROFILE_KEY, text)
    ens.set_text("alice.eth", SERVICE_KEY, data_uri(SERVICE))
    ens.register("team.eth", ens.deploy_offchain_resolver([CCIP_URL], ethereum.gateway_account.address))
    ens.commit()
    ethereum.ccip.set_text("carol.team.eth", PROFILE_KEY, TEXT)
