"""ENS on a local chain: its contracts, and the names of one owner."""

from collections.abc import Sequence
from typing import Final, Protocol

from postroom.crypto.ethereum import keccak_256
from postroom.local.chain.accounts import ChainAccount, contract_address
from postroom.local.chain.contracts import read_bytecode
from postroom.local.chain.evm import GenesisAccount, TransactionRefusedError
from postroom.names.ens.abi import AbiValue, encode
from postroom.names.ens.calls import namehash
from postroom.names.ens.lookup import Contracts

CONTRACTS: Final = Contracts()
PUBLIC_RESOLVER: Final = bytes.fromhex("f29100983e058b709f3d539b0c765937b804ac15")
"""As on mainnet."""
OWNER: Final = "owner"
"""The label of the account that the names of a local chain belong to."""
_BALANCE: Final = 10**24


def ens_accounts(owner: ChainAccount) -> dict[bytes, GenesisAccount]:
    """What stands in the first block: ENS's contracts, whose root is the owner's, and the owner's wealth."""
    # The place of the root's record in the registry's first variable, and in it of its first member.
    root_owner = int.from_bytes(keccak_256(bytes(64)))
    return {
        owner.address: GenesisAccount(balance=_BALANCE),
        CONTRACTS.registry: GenesisAccount(
            code=read_bytecode("registry"), storage={root_owner: int.from_bytes(owner.address)}
        ),
        CONTRACTS.resolver: GenesisAccount(code=read_bytecode("universal_resolver")),
        PUBLIC_RESOLVER: GenesisAccount(code=read_bytecode("public_resolver")),
    }


class CommittedTransaction(Protocol):
    """What became of a transaction."""

    @property
    def succeeded(self) -> bool:
        """Whether it has changed what it was to change."""
        ...


class Transactions(Protocol):
    """Where transactions are sent: a chain, or an endpoint of one."""

    def nonce(self, account: bytes) -> int:
        """How many transactions an account has made."""
        ...

    def send(self, *transactions: bytes) -> Sequence[bytes]:
        """Send signed transactions; their hashes. Raises TransactionRefusedError."""
        ...

    def transaction(self, digest: bytes) -> CommittedTransaction | None:
        """The transaction of a hash."""
        ...


class LocalEns:
    """Names of one owner. What is changed waits for `commit`, which puts it into one block."""

    def __init__(self, chain: Transactions, owner: ChainAccount) -> None:
        self._chain, self._owner = chain, owner
        self._waiting: list[bytes] = []

    @property
    def is_new(self) -> bool:
        """Whether the owner has not changed anything yet."""
        return self._next_nonce == 0

    def register(self, name: str, resolver: bytes | None = None, ttl: int = 0) -> None:
        """Take a name whose parent is the owner's. `resolver` None: it has none; `ttl`: seconds."""
        label, _, parent = name.partition(".")
        node = namehash(name)
        self._change(
            CONTRACTS.registry,
            "setSubnodeOwner(bytes32,bytes32,address)",
            namehash(parent), keccak_256(label.encode()), self._owner.address,
        )  # fmt: skip
        if resolver is not None:
            self._change(CONTRACTS.registry, "setResolver(bytes32,address)", node, resolver)
        if ttl:
            self._change(CONTRACTS.registry, "setTTL(bytes32,uint64)", node, ttl)

    def set_text(self, name: str, key: str, text: str) -> None:
        """Set a text of a name whose resolver is the public one."""
        self._change(PUBLIC_RESOLVER, "setText(bytes32,string,string)", namehash(name), key, text)

    def set_address(self, name: str, address: bytes) -> None:
        """Set the address of a name whose resolver is the public one."""
        self._change(PUBLIC_RESOLVER, "setAddr(bytes32,address)", namehash(name), address)

    def deploy_offchain_resolver(self, urls: list[str], signer: bytes, rounds: int = 1) -> bytes:
        """The address of a new resolver. `urls`: of its gateways; `rounds`: how often it has them asked."""
        values = encode("string[],address,uint256", (urls, signer, rounds))
        return self._deploy(read_bytecode("offchain_resolver") + values)

    def deploy_token(self, supply: int) -> bytes:
        """The address of a new token, all of which is the owner's."""
        return self._deploy(read_bytecode("token") + encode("uint256", (supply,)))

    def give_token(self, token: bytes, to: bytes, amount: int) -> None:
        """Give somebody some of a token."""
        self._change(token, "transfer(address,uint256)", to, amount)

    def give(self, to: bytes, wei: int) -> None:
        """Give somebody some ether."""
        self._add(to, b"", wei)

    def commit(self) -> None:
        """Make all changes. Raises TransactionRefusedError if one of them fails."""
        transactions, self._waiting = self._waiting, []
        for digest in self._chain.send(*transactions):
            mined = self._chain.transaction(digest)
            if mined is None or not mined.succeeded:
                raise TransactionRefusedError("a change of ENS reverts")

    def _deploy(self, code: bytes) -> bytes:
        address = contract_address(self._owner.address, self._next_nonce)
        self._add(b"", code)
        return address

    def _change(self, contract: bytes, function: str, *values: AbiValue) -> None:
        types = function[function.index("(") + 1 : -1]
        self._add(contract, keccak_256(function.encode())[:4] + encode(types, values))

    def _add(self, to: bytes, data: bytes, wei: int = 0) -> None:
        self._waiting.append(self._owner.transaction(self._next_nonce, to, data, wei))

    @property
    def _next_nonce(self) -> int:
        # The account's key is public: others make transactions, too, such as `postroom dm3 publish`.
        return self._chain.nonce(self._owner.address) + len(self._waiting)
