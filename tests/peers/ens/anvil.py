"""Anvil, another EVM and another JSON-RPC, with the contracts of ENS and OpenZeppelin in the place of ours.

The universal resolver is ours: no package that we know of carries another one.
"""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.request import Request, urlopen

from tests.patience import PATIENCE
from tests.peers.ens.packages import read_contract

from postroom.crypto.ethereum import keccak_256
from postroom.local.chain.accounts import ChainAccount
from postroom.local.chain.contracts import read_bytecode
from postroom.local.chain.ens_names import CONTRACTS, PUBLIC_RESOLVER, LocalEns
from postroom.local.ports import free_port
from postroom.names.ens.abi import encode

OWNER = ChainAccount.of_label("owner")
SLOTS = 32


class AnvilError(Exception):
    """Anvil answered with an error."""


class AnvilChain:
    """What LocalEns needs of a chain, over JSON-RPC."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/"

    def rpc(self, method: str, *params: Any) -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        with urlopen(Request(self.url, body, {"Content-Type": "application/json"})) as answer:
            found = json.load(answer)
        if "error" in found:
            raise AnvilError(found["error"])
        return found["result"]

    def nonce(self, account: bytes) -> int:
        return int(self.rpc("eth_getTransactionCount", hexed(account), "latest"), 16)

    def send(self, *transactions: bytes) -> list[bytes]:
        return [bytes.fromhex(self.rpc("eth_sendRawTransaction", hexed(each))[2:]) for each in transactions]

    def transaction(self, digest: bytes) -> SimpleNamespace:
        """What became of a transaction; waits until it is in a block."""
        deadline = time.monotonic() + PATIENCE
        while (receipt := self.rpc("eth_getTransactionReceipt", hexed(digest))) is None:
            assert time.monotonic() < deadline, "anvil puts a transaction into no block"
            time.sleep(0.01)
        return SimpleNamespace(succeeded=receipt["status"] == "0x1", contract=receipt["contractAddress"])

    def place(self, address: bytes, code: str, storage: dict[str, str]) -> None:
        self.rpc("anvil_setCode", hexed(address), code)
        for slot, value in storage.items():
            self.rpc("anvil_setStorageAt", hexed(address), slot, value)


class EnsOfOthers(LocalEns):
    """Names whose contracts are those that their makers published."""

    def __init__(self, chain: AnvilChain, packages: Path) -> None:
        self._packages = packages
        super().__init__(chain, OWNER)  # type: ignore[arg-type]

    def deploy_offchain_resolver(self, urls: list[str], signer: bytes, rounds: int = 1) -> bytes:
        # Theirs has one round: for more, ours is deployed.
        if rounds > 1:
            return super().deploy_offchain_resolver(urls, signer, rounds)
        path = "@ensdomains/offchain-resolver-contracts/artifacts/contracts/OffchainResolver.sol/OffchainResolver.json"
        return self._deploy_of_others(path, "string,address[]", urls[0], [signer])

    def deploy_token(self, supply: int) -> bytes:
        path = "@openzeppelin/contracts/build/contracts/ERC20PresetFixedSupply.json"
        return self._deploy_of_others(path, "string,string,uint256,address", "Token", "T", supply, OWNER.address)

    def _deploy_of_others(self, path: str, types: str, *values: Any) -> bytes:
        code = bytes.fromhex(read_contract(self._packages, path)["bytecode"][2:])
        return self._deploy(code + encode(types, values))


def hexed(data: bytes) -> str:
    return f"0x{data.hex()}"


@contextmanager
def anvil(packages: Path) -> Iterator[AnvilChain]:
    """A running node with ENS's contracts at their addresses. The root is OWNER's."""
    [program] = (packages / "node_modules" / "@foundry-rs").glob("anvil-*/bin/anvil*")
    port = free_port()
    # A block now and then: an endpoint whose newest block is old is not believed.
    options = ("--chain-id", "1", "--port", str(port), "--block-time", "5", "--mixed-mining", "--silent")
    process = subprocess.Popen([program, *options], stdin=subprocess.DEVNULL)
    try:
        chain = AnvilChain(port)
        _wait(process, chain)
        _place_contracts(chain, packages)
        yield chain
    finally:
        process.kill()
        process.wait()


def _wait(process: "subprocess.Popen[bytes]", chain: AnvilChain) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            chain.rpc("eth_chainId")
        except OSError:
            assert process.poll() is None, "anvil ended"
            assert time.monotonic() < deadline, "anvil does not answer"
            time.sleep(0.05)
        else:
            return


def _place_contracts(chain: AnvilChain, packages: Path) -> None:
    chain.rpc("anvil_setBalance", hexed(OWNER.address), hex(10**24))
    registry = read_contract(packages, "@ensdomains/ens/build/contracts/ENSRegistry.json")
    # As its constructor does: the deployer owns the root, the first member in a mapping of records at slot 0.
    root_owner = hexed(keccak_256(bytes(64)))
    chain.place(CONTRACTS.registry, registry["deployedBytecode"], {root_owner: hexed(OWNER.address.rjust(32, b"\0"))})
    chain.place(CONTRACTS.resolver, hexed(read_bytecode("universal_resolver")), {})
    _place_public_resolver(chain, packages)


def _place_public_resolver(chain: AnvilChain, packages: Path) -> None:
    """Put it where ours is; a developer's account of anvil deploys it, so that the owner's nonces are as with us."""
    [deployer, *_] = chain.rpc("eth_accounts")
    contract = read_contract(packages, "@ensdomains/resolver/build/contracts/PublicResolver.json")
    code = contract["bytecode"] + encode("address", (CONTRACTS.registry,)).hex()
    digest = chain.rpc("eth_sendTransaction", {"from": deployer, "data": code, "gas": hex(10_000_000)})
    mined = chain.transaction(bytes.fromhex(digest[2:]))
    assert mined.succeeded
    deployed = mined.contract
    storage = {
        hexed(slot.to_bytes(32)): chain.rpc("eth_getStorageAt", deployed, hex(slot), "latest") for slot in range(SLOTS)
    }
    chain.place(PUBLIC_RESOLVER, chain.rpc("eth_getCode", deployed, "latest"), storage)
