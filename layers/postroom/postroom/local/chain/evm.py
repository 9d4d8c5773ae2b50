"""A chain of Ethereum in this process, by py-evm: a block for what is sent, and one every 12 s if somebody looks.

To import py-evm takes 0.6 s: nothing may import this module but what starts a chain.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import RLock
from typing import Final, NamedTuple, cast

from eth.abc import BlockAPI, BlockHeaderAPI, ReceiptAPI, SignedTransactionAPI, StateAPI
from eth.chains.base import MiningChain
from eth.consensus.noproof import NoProofConsensus
from eth.constants import ZERO_ADDRESS, ZERO_HASH32
from eth.db.atomic import AtomicDB
from eth.estimators.gas import binary_gas_search
from eth.exceptions import HeaderNotFound, TransactionNotFound, UnrecognizedTransactionType
from eth.vm.forks.byzantium.constants import EIP658_TRANSACTION_STATUS_CODE_SUCCESS
from eth.vm.forks.cancun import CancunVM
from eth.vm.spoof import SpoofTransaction
from eth_keys.exceptions import BadSignature
from eth_typing import Address, BlockNumber, Hash32
from eth_utils.exceptions import ValidationError
from rlp.exceptions import RLPException

from postroom.local.chain.transaction_file import TransactionFile
from postroom.names.ens.calls import Outcome, Returned, Reverted

CHAIN_ID: Final = 1
BLOCK_SECONDS: Final = 12
BLOCK_GAS: Final = 30_000_000
# All chains begin alike, so that transactions that were kept can be played again.
_GENESIS_SECONDS: Final = 1_700_000_000
# It remains 0, or some wei after blocks that are more than half full (EIP-1559). One that fell with each empty block
# would be another where the chain is played again without them.
_BASE_FEE: Final = 0
_VM: Final = CancunVM.configure(consensus_class=NoProofConsensus)
_UNREADABLE: Final = (
    BadSignature, IndexError, RLPException, TypeError, UnrecognizedTransactionType, ValidationError, ValueError,
)  # fmt: skip


class TransactionRefusedError(Exception):
    """The chain does not take a transaction; the sentence says why."""


@dataclass(frozen=True, slots=True)
class GenesisAccount:
    """An account in the first block. `balance`: wei; `storage`: of a contract, by slot."""

    balance: int = 0
    code: bytes = b""
    storage: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChainCall:
    """A transaction that is tried and not kept. `to` b"": it deploys a contract; `value`: wei."""

    to: bytes
    data: bytes
    sender: bytes = ZERO_ADDRESS
    value: int = 0


class MinedTransaction(NamedTuple):
    """A transaction in a block. `place`: in the block, from 0; `gas_used`: by it alone."""

    block: BlockAPI
    place: int
    transaction: SignedTransactionAPI
    receipt: ReceiptAPI
    gas_used: int

    @property
    def succeeded(self) -> bool:
        """Whether it has changed what it was to change; otherwise it reverted."""
        return self.receipt.state_root == EIP658_TRANSACTION_STATUS_CODE_SUCCESS


class LocalChain:
    """A chain in memory; safe to share among threads.

    `clock`: seconds since the epoch; `kept`: transactions that are played again at first, and to which all new ones are
    added.
    """

    def __init__(
        self,
        accounts: Mapping[bytes, GenesisAccount],
        clock: Callable[[], float],
        kept: TransactionFile | None = None,
    ) -> None:
        self._clock = clock
        self._kept = kept
        self._lock = RLock()
        configured = MiningChain.configure(vm_configuration=((BlockNumber(0), _VM),), chain_id=CHAIN_ID)
        made = configured.from_genesis(
            AtomicDB(),
            {
                "base_fee_per_gas": _BASE_FEE,
                "coinbase": ZERO_ADDRESS,
                "difficulty": 0,
                "extra_data": b"",
                "gas_limit": BLOCK_GAS,
                "mix_hash": ZERO_HASH32,
                "nonce": bytes(8),
                "timestamp": _GENESIS_SECONDS,
            },
            {
                Address(address): {
                    "balance": account.balance,
                    "nonce": 0,
                    "code": account.code,
                    "storage": dict(account.storage),
                }
                for address, account in accounts.items()
            },
        )
        self._chain = cast("MiningChain", made)
        for seconds, transactions in kept.read() if kept else ():
            self._mine(map(_read_transaction, transactions), seconds)

    def send(self, *transactions: bytes) -> list[bytes]:
        """Put signed transactions into a new block; their hashes. Raises TransactionRefusedError, and takes none."""
        read = [_read_transaction(each) for each in transactions]
        with self._lock:
            seconds = max(int(self._clock()), self._head().timestamp + 1)
            with _refusing():
                self._mine(read, seconds)
            if self._kept:
                self._kept.add(seconds, transactions)
        return [each.hash for each in read]

    def call(self, call: ChainCall, block: int | None = None) -> Outcome:
        """What a call brings in the state after a block; None: the newest. Raises TransactionRefusedError."""
        with self._lock:
            state = self._state(block)
            with _refusing():
                computation = state.costless_execute_transaction(self._tried(call, state))
        return Reverted(computation.output) if computation.is_error else Returned(computation.output)

    def estimate_gas(self, call: ChainCall) -> int | Reverted:
        """The gas that a call takes. Raises TransactionRefusedError."""
        with self._lock:
            outcome = self.call(call)
            if isinstance(outcome, Reverted):
                return outcome
            state = self._state(None)
            gas: int = binary_gas_search(state, self._tried(call, state), tolerance=1_000)
        return gas

    def nonce(self, account: bytes, block: int | None = None) -> int:
        """How many transactions an account has made."""
        with self._lock:
            return self._state(block).get_nonce(Address(account))

    def balance(self, account: bytes, block: int | None = None) -> int:
        """What an account has, in wei."""
        with self._lock:
            return self._state(block).get_balance(Address(account))

    def code(self, account: bytes, block: int | None = None) -> bytes:
        """The bytecode of a contract; b"": it is none."""
        with self._lock:
            return self._state(block).get_code(Address(account))

    def storage(self, account: bytes, slot: int, block: int | None = None) -> int:
        """What a contract has in a slot of its storage."""
        with self._lock:
            return self._state(block).get_storage(Address(account), slot)

    def block(self, number: int | None = None) -> BlockAPI:
        """A block; None: the newest one. Raises LookupError."""
        with self._lock:
            return self._chain.get_block_by_header(self._header(number))

    def transaction(self, digest: bytes) -> MinedTransaction | None:
        """The transaction of a hash."""
        with self._lock, suppress(TransactionNotFound):
            number, place = self._chain.get_canonical_transaction_index(Hash32(digest))
            block = self.block(number)
            receipts = [self._chain.get_transaction_receipt_by_index(number, each) for each in range(place + 1)]
            # A receipt has the gas of all transactions up to its own.
            before = receipts[-2].gas_used if place else 0
            receipt = receipts[-1]
            return MinedTransaction(block, place, block.transactions[place], receipt, receipt.gas_used - before)
        return None

    def _mine(self, transactions: Iterable[SignedTransactionAPI], seconds: int) -> None:
        # Otherwise the limit becomes smaller with every block that is not full.
        self._chain.header = self._chain.header.copy(timestamp=seconds, gas_limit=BLOCK_GAS)
        self._chain.mine_all(list(transactions))

    def _head(self) -> BlockHeaderAPI:
        return self._chain.get_canonical_head()

    def _header(self, number: int | None) -> BlockHeaderAPI:
        if number is not None:
            try:
                return self._chain.get_canonical_block_header_by_number(BlockNumber(number))
            except HeaderNotFound:
                raise LookupError(f"there is no block {number}") from None
        now = int(self._clock())
        if now >= self._head().timestamp + BLOCK_SECONDS:
            self._mine((), now)
        return self._head()

    def _state(self, block: int | None) -> StateAPI:
        """The state after a block, in which no gas has to be paid for. What is changed in it is lost."""
        header = self._header(block)
        return self._chain.get_vm(header.copy(base_fee_per_gas=0)).state

    def _tried(self, call: ChainCall, state: StateAPI) -> SignedTransactionAPI:
        unsigned = _VM.create_unsigned_transaction(
            nonce=state.get_nonce(Address(call.sender)), gas_price=0, gas=BLOCK_GAS, to=Address(call.to),
            value=call.value, data=call.data,
        )  # fmt: skip
        tried: SignedTransactionAPI = SpoofTransaction(unsigned, from_=Address(call.sender))  # type: ignore[assignment]
        return tried


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except ValidationError as error:
        raise TransactionRefusedError(str(error)) from None
    except RecursionError:
        raise TransactionRefusedError("its contracts call each other too deeply for this chain") from None


def _read_transaction(raw: bytes) -> SignedTransactionAPI:
    try:
        transaction = _VM.get_transaction_builder().decode(raw)
        _ = transaction.sender  # is found by its signature, which may be nobody's
    except _UNREADABLE as error:
        raise TransactionRefusedError(f"it is no signed transaction: {error}") from None
    if transaction.chain_id not in (None, CHAIN_ID):
        raise TransactionRefusedError(f"it is for the chain {transaction.chain_id}, and this one is {CHAIN_ID}")
    return transaction
