"""viem, ethers and web3.py find what we find of the same names on two chains, with our contracts and those of others.

What differs is in docs/evidence/peers.md, row by row.
"""

from pathlib import Path

import pytest
from tests.local.chain.names import KEY, NAMES, Known
from tests.patience import PATIENCE
from tests.peers.answering import RefusedError
from tests.peers.ens.anvil import hexed
from tests.peers.ens.conftest import Clients, ReadChain

from postroom.core.errors import NotNowError
from postroom.crypto.ethereum import checksum_address
from postroom.local.chain.accounts import ChainAccount
from postroom.names.ens.calls import BalanceOf, NonceOf

PAGE = Path(__file__).parents[3] / "docs" / "evidence" / "peers.md"
NOBODY = ChainAccount.of_label("nobody").address


CLIENTS = ("viem", "ethers", "web3")
FINDERS = [
    (client, known)
    for client in CLIENTS
    for known in NAMES.values()
    if known.text and (client != "web3" or not known.rounds)
]
"""Which client finds which name: web3.py finds none off chain."""


def ours(chain: ReadChain, known: Known) -> str:
    try:
        found = chain.look_up.text(known.name, KEY).found
    except NotNowError as error:
        return f"{error.reason}, {error.detail.rpartition(' ')[2]}"
    return "the text" if found.value == known.text is not None else f"none, {found.absent}"


def theirs(clients: Clients, client: str, chain: ReadChain, known: Known) -> str:
    try:
        text = clients.call(client, "text", chain.url, known.name, KEY)
    except RefusedError as error:
        said = str(error).removeprefix("execution reverted: ").partition("(")[0].strip()
        return f"throws `{said}`"
    if text is None:
        return "null"
    return "the text" if text == known.text else f'`"{text}"`'


def found_by_all(chain: ReadChain, clients: Clients, known: Known) -> tuple[str, ...]:
    return ours(chain, known), *(theirs(clients, client, chain, known) for client in CLIENTS)


@pytest.mark.parametrize(("kind", "known"), NAMES.items(), ids=NAMES)
def test_the_page_says_what_each_client_finds(chain: ReadChain, clients: Clients, kind: str, known: Known) -> None:
    found = found_by_all(chain, clients, known)
    assert f"| {kind} | {' | '.join(found)} |" in PAGE.read_text(encoding="utf-8").splitlines()
    # Where there is a text, nobody finds another one, or none; web3.py finds those on chain.
    finders = found[:-1] if known.rounds else found
    assert (set(finders) == {"the text"}) is (known.text is not None)


@pytest.mark.parametrize(("client", "known"), FINDERS, ids=[f"{client}-{known.name}" for client, known in FINDERS])
def test_a_client_finds_the_address_that_we_find(chain: ReadChain, clients: Clients, client: str, known: Known) -> None:
    address = chain.look_up.address(known.name).found.value
    assert address == known.address
    shown = checksum_address(hexed(address)) if isinstance(address, bytes) else None
    assert clients.call(client, "address", chain.url, known.name) == shown


@pytest.mark.parametrize("client", ["viem", "ethers"])
def test_a_client_makes_a_transaction_and_we_see_its_nonce_and_what_it_gave(
    chain: ReadChain, clients: Clients, client: str
) -> None:
    sender, receiver = ChainAccount.of_label(f"{client}'s user"), ChainAccount.of_label(f"{client}'s friend")
    chain.ens.give(sender.address, 10**18)
    chain.ens.commit()
    assert clients.call(client, "send", chain.url, hexed(sender.secret), hexed(receiver.address), "5") == "success"
    assert held(chain, sender.address, receiver.address) == [1, 5]


def held(chain: ReadChain, sender: bytes, receiver: bytes) -> list[int]:
    questions = (NonceOf(sender), BalanceOf(receiver))
    agreed = chain.look_up.endpoints.agree(
        questions, lambda outcomes: outcomes, seconds=PATIENCE, now=chain.look_up.clock()
    )
    return [int.from_bytes(outcome.data) for outcome in agreed.said]
