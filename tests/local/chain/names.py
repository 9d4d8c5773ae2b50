"""Names on a local chain of every kind that a look-up can meet, and what is to be found of each."""

from typing import Final, NamedTuple

from postroom.local.chain.accounts import ChainAccount
from postroom.local.chain.ccip_gateway import CcipGateway
from postroom.local.chain.ens_names import PUBLIC_RESOLVER, LocalEns

KEY: Final = "network.dm3.profile"
ALICE: Final = ChainAccount.of_label("alice")
CAROL: Final = ChainAccount.of_label("carol")


class Known(NamedTuple):
    """A name. `text`: under KEY; None: it has none; `absent`: why; `address`: None: it has none."""

    name: str
    text: str | None
    absent: str = ""
    address: bytes | None = None
    rounds: int = 0
    ttl: int = 0


NAMES: Final = {
    "on chain": Known("alice.eth", "data:,alice", address=ALICE.address, ttl=300),
    "on chain, long and not ASCII": Known("long.eth", "é" * 4096),
    "wildcard, GET gateway": Known("carol.team.eth", "data:,carol", address=CAROL.address, rounds=1, ttl=0),
    "POST gateway": Known("dave.posted.eth", "data:,dave", rounds=1),
    "two rounds": Known("eve.twice.eth", "data:,eve", rounds=2),
    "a gateway without the text": Known("frank.team.eth", None, "an empty text", rounds=1),
    "resolver at the parent, without ENSIP-10": Known("sub.alice.eth", None, "ResolverNotFound"),
    "an account that is no contract as resolver": Known("account.eth", None, "ResolverNotContract"),
    "a contract that is no resolver as resolver": Known("token.eth", None, "reverts"),
    "no resolver": Known("bare.eth", None, "ResolverNotFound"),
    "no such name": Known("nobody.eth", None, "ResolverNotFound"),
    "empty text": Known("empty.eth", None, "an empty text"),
    "text taken back": Known("gone.eth", None, "an empty text"),
}


def register_names(ens: LocalEns, ccip: CcipGateway, signer: ChainAccount, gateway: str) -> None:
    """Make these names. `gateway`: where the off-chain ones are answered, such as `https://ccip.example`."""
    get, post = f"{gateway}/{{sender}}/{{data}}.json", gateway
    ens.register("eth")
    for known in NAMES.values():
        parent = known.name.partition(".")[2]
        if known.rounds:
            ccip.set_text(known.name, KEY, known.text or "")
            if known.address:
                ccip.set_address(known.name, known.address)
        elif parent == "eth" and (known.text or known.absent == "an empty text"):
            ens.register(known.name, PUBLIC_RESOLVER, known.ttl)
            if known.text:
                ens.set_text(known.name, KEY, known.text)
            if known.address:
                ens.set_address(known.name, known.address)
    ens.set_text("gone.eth", KEY, "data:,gone")
    ens.set_text("gone.eth", KEY, "")
    ens.register("team.eth", ens.deploy_offchain_resolver([get], signer.address))
    ens.register("posted.eth", ens.deploy_offchain_resolver([post], signer.address))
    ens.register("twice.eth", ens.deploy_offchain_resolver([get], signer.address, rounds=2))
    ens.register("account.eth", ALICE.address)
    ens.register("token.eth", ens.deploy_token(1))
    ens.register("bare.eth")
    ens.commit()
