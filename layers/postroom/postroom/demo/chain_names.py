"""The names of the demo in ENS: on chain, behind a gateway, and with a profile in IPFS.

alice.eth        on chain; its profile is in its text
carol.team.eth   team.eth is on chain; what is below it, a gateway says
erin.eth         on chain; its text names a file of IPFS in several blocks
"""

from typing import Final

from postroom.core.canonical import jcs
from postroom.demo.names import ALICE, Names, profile_of
from postroom.local.chain.accounts import ChainAccount
from postroom.local.chain.ens_names import PUBLIC_RESOLVER
from postroom.local.chain.hosts import CCIP_URL
from postroom.local.chain.local_ethereum import LocalEthereum
from postroom.names.registry import PROFILE_KEY
from postroom.protocols.dm3.profile import data_uri

CAROL: Final = "carol.team.eth"
ERIN: Final = "erin.eth"
_CHUNK_BYTES: Final = 100
_TTL_SECONDS: Final = 300


class ChainNames:
    """Puts these names where they are found. The account of each is that of its name as a label."""

    def __init__(self, ethereum: LocalEthereum, names: Names) -> None:
        self._ethereum, self._names = ethereum, names
        # What is kept of a chain is its transactions: its gateways begin anew.
        ethereum.ccip.set_text(CAROL, PROFILE_KEY, self._uri(CAROL))
        ethereum.ccip.set_address(CAROL, ChainAccount.of_label(CAROL).address)
        cid = ethereum.ipfs.add(jcs(profile_of(names.keys_of(ERIN))), chunk_bytes=_CHUNK_BYTES)
        if ethereum.ens.is_new:
            self._register({ALICE: self._uri(ALICE), ERIN: f"ipfs://{cid}"})

    def _uri(self, name: str) -> str:
        return data_uri(profile_of(self._names.keys_of(name)))

    def _register(self, profiles: dict[str, str]) -> None:
        ens = self._ethereum.ens
        ens.register("eth")
        for name, uri in profiles.items():
            ens.register(name, PUBLIC_RESOLVER, _TTL_SECONDS)
            ens.set_text(name, PROFILE_KEY, uri)
            ens.set_address(name, ChainAccount.of_label(name).address)
        gateway = ens.deploy_offchain_resolver([CCIP_URL], self._ethereum.gateway_account.address)
        ens.register(CAROL.partition(".")[2], gateway)
        ens.commit()
