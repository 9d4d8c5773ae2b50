"""What an account must have: what is asked of a chain, and who has it."""

from typing import Any

import pytest
from tests.names.ens.vectors import NAMES, raw

from postroom.names.ens.accounts import AccountDemands
from postroom.names.ens.calls import BalanceOf, Call, NonceOf, Outcome, Question, Returned, Reverted
from postroom.protocols.dm3.extension import read_extension

KNOWN = NAMES["filter"]
ACCOUNT, TOKEN = raw(KNOWN["account"]), raw(KNOWN["token"])
ROWS = [row for row in KNOWN["rows"] if row["in"] is not None]


def demands_of(rules: dict[str, Any]) -> AccountDemands:
    read = read_extension({"spamFilterRules": rules}).rules
    token = read.min_token_balance
    held = (raw(token.address), token.amount) if token else (b"", 0)
    return AccountDemands(read.min_nonce or 0, read.min_balance or 0, *held)


def outcome_of(row: dict[str, Any], question: Question) -> Outcome:
    if isinstance(question, Call):
        return Reverted(b"") if row["call"] == "revert" else Returned(raw(row["call"]))
    number = int(row["nonce" if isinstance(question, NonceOf) else "balance"], 16)
    return Returned(number.to_bytes(32))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["rules"]))
def test_an_account_has_all_that_is_demanded_or_is_not_let_in(row: dict[str, Any]) -> None:
    demands = demands_of(row["rules"])
    outcomes = tuple(outcome_of(row, question) for question in demands.questions(ACCOUNT))
    assert demands.are_reached(ACCOUNT, outcomes) is row["in"]


def test_a_chain_is_asked_for_what_is_demanded_and_no_more() -> None:
    demands = AccountDemands(1, 2, TOKEN, 3)
    assert demands.questions(ACCOUNT) == (NonceOf(ACCOUNT), BalanceOf(ACCOUNT), Call(TOKEN, raw(KNOWN["balanceOf"])))
    assert AccountDemands().questions(ACCOUNT) == ()
    assert AccountDemands().are_reached(ACCOUNT, ())


def test_one_outcome_too_few_is_an_error() -> None:
    with pytest.raises(ValueError, match="longer"):
        AccountDemands(1, 1).are_reached(ACCOUNT, (Returned((1).to_bytes(32)),))
