"""The names of the demo in ENS: on chain, behind a gateway, and with a profile in IPFS or under `https:`.

alice.eth, bob.eth   on chain; the profile is in the text
carol.team.eth       team.eth is on chain; what is below it, a gateway says
erin.eth             on chain; its text names a file of IPFS in several blocks
ds.eth               on chain; its text names a document under https: and the hash of it
"""

from http import HTTPStatus
from typing import Final

from postroom.core.canonical import jcs
from postroom.demo.names import ALICE, BOB, SERVICE, Names, profile_of
from postroom.local.chain.accounts import ChainAccount
from postroom.local.chain.ens_names import PUBLIC_RESOLVER
from postroom.local.chain.hosts import CCIP_URL
from postroom.local.chain.local_ethereum import LocalEthereum
from postroom.local.edge import Edge
from postroom.local.gateway import GatewayResponse
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.profile import data_uri
from postroom.protocols.dm3.profile_hash import url_with_hash

CAROL: Final = "carol.team.eth"
ERIN: Final = "erin.eth"
PROFILE_HOST: Final = "profiles.example"
"""The host of the profile of ds.eth."""
CHUNK_BYTES: Final = 100
"""Of the profile of erin.eth, in each of its blocks but the last."""
_TTL_SECONDS: Final = 300
_ETHER: Final = 10**18


class ChainNames:
    """Puts names where they are found. The account of each is that of its name as a label."""

    def __init__(self, ethereum: LocalEthereum, names: Names, edge: Edge) -> None:
        self._ethereum = ethereum
        # What is kept of a chain is its transactions: its gateways begin anew.
        self.set_behind_gateway(CAROL, names.keys_of(CAROL))
        cid = ethereum.ipfs.add(jcs(profile_of(names.keys_of(ERIN))), chunk_bytes=CHUNK_BYTES)
        document = jcs(names.service.as_json())
        answer = GatewayResponse(HTTPStatus.OK, (("content-type", "application/json"),), document)
        edge.serve_handler(PROFILE_HOST, lambda _: answer)
        if ethereum.ens.is_new:
            ethereum.ens.register("eth")
            for name in (ALICE, BOB):
                self._register(name, PROFILE_KEY, profile_text(names.keys_of(name)))
            self._register(ERIN, PROFILE_KEY, f"ipfs://{cid}")
            self._register(SERVICE, SERVICE_KEY, url_with_hash(f"https://{PROFILE_HOST}/{SERVICE}.json", document))
            gateway = ethereum.ens.deploy_offchain_resolver([CCIP_URL], ethereum.gateway_account.address)
            ethereum.ens.register(CAROL.partition(".")[2], gateway)
            ethereum.ens.commit()

    def register(self, name: str, keys: UserKeys) -> None:
        """Put a name on chain, with a profile of these keys."""
        self._register(name, PROFILE_KEY, profile_text(keys))
        self._ethereum.ens.commit()

    def change_keys(self, name: str, keys: UserKeys) -> None:
        """Put other keys into the profile of a name that is on chain."""
        self._ethereum.ens.set_text(name, PROFILE_KEY, profile_text(keys))
        self._ethereum.ens.commit()

    def set_behind_gateway(self, name: str, keys: UserKeys) -> None:
        """Let the gateway say a profile of these keys of a name."""
        self._ethereum.ccip.set_text(name, PROFILE_KEY, profile_text(keys))
        self._ethereum.ccip.set_address(name, ChainAccount.of_label(name).address)

    def make_transaction(self, name: str) -> None:
        """Give the account of a name some ether, and let it make a transaction."""
        account, chain = ChainAccount.of_label(name), self._ethereum.chain
        self._ethereum.ens.give(account.address, _ETHER)
        self._ethereum.ens.commit()
        chain.send(account.transaction(chain.nonce(account.address), account.address))

    def _register(self, name: str, key: str, text: str) -> None:
        ens = self._ethereum.ens
        ens.register(name, PUBLIC_RESOLVER, _TTL_SECONDS)
        ens.set_text(name, key, text)
        ens.set_address(name, ChainAccount.of_label(name).address)


def profile_text(keys: UserKeys) -> str:
    """The text of a name whose profile is in it, and has these keys."""
    return data_uri(profile_of(keys))
