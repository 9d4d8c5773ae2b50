"""What an account must have by a receiver's filter rules: what a chain is asked, and whether its answers reach that."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from postroom.names.ens.abi import AbiError
from postroom.names.ens.calls import (
    BalanceOf,
    NonceOf,
    Outcome,
    Outcomes,
    Question,
    Returned,
    balance_call,
    read_number,
)


@dataclass(frozen=True, slots=True)
class AccountDemands:
    """The least that an account must have; 0: nothing is demanded.

    `nonce`: transactions that it has made; `balance`: wei; `token_balance`: of the ERC-20 contract `token` (20 bytes),
    in its smallest unit.
    """

    nonce: int = 0
    balance: int = 0
    token: bytes = b""
    token_balance: int = 0

    @property
    def parts(self) -> "tuple[AccountDemands, ...]":
        """Each demand by itself."""
        each = (
            AccountDemands(nonce=self.nonce),
            AccountDemands(balance=self.balance),
            AccountDemands(token=self.token, token_balance=self.token_balance) if self.token_balance else NOTHING,
        )
        return tuple(part for part in each if part != NOTHING)

    def questions(self, account: bytes) -> tuple[Question, ...]:
        """What a chain is asked of an account (20 bytes)."""
        return tuple(question for question, _ in self._each(account))

    def are_reached(self, account: bytes, outcomes: Outcomes) -> bool:
        """Whether an account has all of it. `outcomes`: of `questions`, in their order.

        A contract that is not there, that reverts, or that returns no number holds nothing for it, as in the reference.
        """
        pairs = zip(outcomes, self._each(account), strict=True)
        return all(_number(outcome) >= least for outcome, (_, least) in pairs)

    def _each(self, account: bytes) -> Iterator[tuple[Question, int]]:
        """Each question with the number that its answer must reach."""
        if self.nonce:
            yield NonceOf(account), self.nonce
        if self.balance:
            yield BalanceOf(account), self.balance
        if self.token_balance:
            yield balance_call(self.token, account), self.token_balance


NOTHING: Final = AccountDemands()


def _number(outcome: Outcome) -> int:
    try:
        return read_number(outcome.data) if isinstance(outcome, Returned) else 0
    except AbiError:
        return 0
