"""Look-ups at ENS's universal resolver: which calls and requests are made, one after the other, and what they find.

A look-up is a generator. It yields calls that endpoints must agree on, and requests to gateways; whoever runs it sends
in what they brought.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from postroom.core.errors import NotNowError
from postroom.names.ens.abi import AbiError
from postroom.names.ens.calls import (
    ABSENT,
    OFFCHAIN_LOOKUP,
    Call,
    Outcome,
    Outcomes,
    Returned,
    Reverted,
    address_call,
    read_address,
    read_number,
    read_text,
    text_call,
    ttl_call,
)
from postroom.names.ens.ccip import GatewayError, Gateways, OffchainAnswer, OffchainLookup, OffchainRequest
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

MAX_ROUNDS: Final = 4
"""Off-chain look-ups of a name, each after the one before it."""
MAX_TEXT_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class Contracts:
    """Where ENS is on its chain, and the chain's id. Addresses of 20 bytes."""

    resolver: bytes = bytes.fromhex("eeeeeeee14d718c2b47d9923deab1335e144eeee")
    registry: bytes = bytes.fromhex("00000000000c2e074ec69a0dfb2997ba6c7d2e1e")
    chain: int = 1


@dataclass(frozen=True, slots=True)
class Ask:
    """Calls whose outcomes endpoints must agree on, in one request to each."""

    calls: tuple[Call, ...]


Brought: TypeAlias = Outcomes | OffchainAnswer | None
"""For `Ask`, the outcomes that were agreed on, one for each call; for a request, its answer; None: there was none."""
LookUp: TypeAlias = Generator[Ask | OffchainRequest, Brought, "Found"]
"""Yields what to ask; what was brought is sent in."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a look-up found. `value`: a text, or the 20 bytes of an address; None: proven that there is none.

    `ttl`: seconds for which the registry lets it be kept; 0: it does not say. `resolver`: the address of the one that
    was asked, if any. `absent`: the error that says that there is none. `rounds`: off-chain look-ups; `gateways`: the
    URLs that were asked for them.
    """

    value: str | bytes | None
    ttl: int
    resolver: bytes | None = None
    absent: str = ""
    rounds: int = 0
    gateways: tuple[str, ...] = ()


def look_up_text(name: str, key: str, contracts: Contracts) -> LookUp:
    """Find a text of a normalised name (ENSIP-5).

    Raises NotNowError(PROFILE_LOOKUP_FAILED): what was brought proves nothing.
    """
    return _look_up(text_call(contracts.resolver, name, key), name, contracts, _read_text, "an empty text")


def look_up_address(name: str, contracts: Contracts) -> LookUp:
    """Find the address of a normalised name on Ethereum (ENSIP-1). Raises as `look_up_text`."""
    return _look_up(address_call(contracts.resolver, name), name, contracts, read_address, "no address")


def _look_up(
    call: Call,
    name: str,
    contracts: Contracts,
    read: Callable[[bytes], tuple[str | bytes | None, bytes]],
    nothing: str,
) -> LookUp:
    """`read`: the value and the resolver in what the universal resolver returned; `nothing`: that there is none."""
    outcome, ttl_outcome = yield from _ask(call, ttl_call(contracts.registry, name))
    ttl, gateways, rounds = _read_ttl(ttl_outcome), Gateways(), 0
    while isinstance(outcome, Reverted) and outcome.data[:4] == OFFCHAIN_LOOKUP:
        if rounds == MAX_ROUNDS:
            raise _failed(f"there are more than {MAX_ROUNDS} off-chain look-ups")
        rounds += 1
        lookup = _read_lookup(outcome, contracts.resolver)
        answer = yield from _fetch(gateways, lookup)
        [outcome] = yield from _ask(lookup.callback_call(answer))
    evidence = Found(None, ttl, rounds=rounds, gateways=tuple(gateways.urls))
    if isinstance(outcome, Returned):
        try:
            value, resolver = read(outcome.data)
        except AbiError as error:
            raise _failed(f"a resolver returned what cannot be read: {error}") from None
        return replace(evidence, value=value, resolver=resolver, absent="" if value else nothing)
    if outcome.data[:4] in ABSENT:
        return replace(evidence, absent=outcome.error)
    raise _failed(f"the universal resolver reverted{f' with {outcome.error}' if outcome.error else ''}")


def _ask(*calls: Call) -> Generator[Ask, Brought, Outcomes]:
    outcomes = yield Ask(calls)
    if not isinstance(outcomes, tuple) or len(outcomes) != len(calls):
        raise TypeError("an Ask is answered with one outcome for each call")
    return outcomes


def _fetch(gateways: Gateways, lookup: OffchainLookup) -> Generator[OffchainRequest, Brought, bytes]:
    fetching, answered = gateways.fetch(lookup), None
    try:
        while True:
            brought = yield fetching.send(answered)
            if isinstance(brought, tuple):
                raise TypeError("a OffchainRequest is answered with a OffchainAnswer or None")
            answered = brought
    except StopIteration as done:
        data: bytes = done.value
        return data
    except GatewayError as error:
        raise _failed(str(error)) from None


def _read_text(result: bytes) -> tuple[str | None, bytes]:
    text, resolver = read_text(result)
    if len(text.encode()) > MAX_TEXT_BYTES:
        raise AbiError(f"a text has more than {MAX_TEXT_BYTES} bytes")
    # A text is taken back by setting it to the empty one.
    return text or None, resolver


def _read_lookup(reverted: Reverted, contract: bytes) -> OffchainLookup:
    try:
        lookup = OffchainLookup.read(reverted.data)
    except AbiError as error:
        raise _failed(f"an OffchainLookup cannot be read: {error}") from None
    # Otherwise a contract that the resolver calls could send us to gateways of its own in its name (EIP-3668).
    if lookup.sender != contract:
        raise _failed("an OffchainLookup is not that of the universal resolver")
    return lookup


def _read_ttl(outcome: Outcome) -> int:
    try:
        return read_number(outcome.data) if isinstance(outcome, Returned) else 0
    except AbiError:
        return 0


def _failed(detail: str) -> NotNowError:
    return NotNowError(PROFILE_LOOKUP_FAILED, detail)
