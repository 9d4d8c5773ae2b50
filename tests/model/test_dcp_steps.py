"""The guardian takes the steps of the model of a DCP target, in every schedule of its cases."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from tests.model.dcp import Message, Payload, Scope
from tests.model.dcp_code import UNIT, Driver
from tests.model.test_dcp import (
    BATCH,
    CHAIN,
    CHEQUE,
    CLOCKS,
    CLOSED,
    CLOSED_FIRST,
    FAILS,
    GIVEN_BACK,
    RACE,
    RAISED,
    READ_FAILS,
    SLOP,
    SLOW,
    THIEF,
    TWO_KEYS,
    TWO_SESSIONS,
)
from tests.tiers import amount, in_turns

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.protocols.dcp.error_payload import Result
from postroom.protocols.dcp.guardian import AnsweredLater, FailedOperation, Guardian, Prepare, PreparedOperation
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.reasons import DCP_DUPLICATE, DCP_NONCE_INVALID
from postroom.protocols.dcp.receiving import Admitted, ReceivedRequests, Receiver
from postroom.protocols.dcp.session_store import NonceUse, RequestUse, SessionStore, row_digest

CLOCKS_TWICE = replace(CLOCKS, arrivals=(1, 1), skews=amount(quick=(-1, 1), all=CLOCKS.skews, proof=CLOCKS.skews))
FAILS_ONCE = replace(FAILS, arrivals=amount(quick=(2, 1), all=(2, 2), proof=(2, 2)))
READ_FAILS_ONCE = replace(READ_FAILS, runs=amount(quick=2, all=3, proof=3))
GIVEN_BACK_ONCE = replace(GIVEN_BACK, arrivals=amount(quick=(1, 1, 0), all=(1, 2, 0), proof=(1, 1, 1)))
UNAUTHORIZED = Scope(
    "a cheque that its carrier presents, in a batch with a keepalive, and then its holder",
    (CHEQUE, Payload("t", operation="none")),
    (Message("x", "J", (0, 1)), Message("y", "B", (0,))),
    (1, 1),
    lost=1,
)
CASES = (
    RACE, CHAIN, TWO_SESSIONS, THIEF, TWO_KEYS, BATCH, CLOCKS_TWICE, SLOP, SLOW, RAISED, CLOSED, CLOSED_FIRST,
    FAILS_ONCE, READ_FAILS_ONCE, GIVEN_BACK_ONCE, UNAUTHORIZED,
)  # fmt: skip


@pytest.mark.parametrize("scope", in_turns(CASES, quick=4, all=2), ids=lambda scope: scope.name)
def test_the_code_takes_the_models_steps_in_every_schedule_of(scope: Scope) -> None:
    explored = Driver(scope).explore()
    assert explored.fault == "", "\n".join((explored.fault, *explored.story))
    assert explored.states > 100


# --- code that does not is noticed; as the model's variants, each lacks one of its rules ----------------------------


class ForgetfulOfNonces(MemoryStore):
    """It does not know its own step again."""

    def use_nonce(self, use: NonceUse) -> None:
        before = self._sessions.rows.get(row_digest("session", use.dcpsid, ""))
        if before is not None and before.nonce == use.following:
            raise TheirError(DCP_NONCE_INVALID)
        super().use_nonce(use)


class ForgetfulOfRequests(MemoryStore):
    def use_request(self, use: RequestUse) -> None:
        if any(used.mark == use.mark for kind in (self._own, self._authorized) for used in kind.rows.values()):
            raise TheirError(DCP_DUPLICATE)
        super().use_request(use)


class Reopening(MemoryStore):
    """It takes a session's first nonce at any time."""

    def use_nonce(self, use: NonceUse) -> None:
        if use.first:
            self._sessions.rows.pop(row_digest("session", use.dcpsid, ""), None)
        super().use_nonce(use)


class WithoutTombstones(MemoryStore):
    def use_nonce(self, use: NonceUse) -> None:
        super().use_nonce(use)
        if use.closes:
            self._sessions.rows.pop(row_digest("session", use.dcpsid, ""), None)


class InOneSpace(MemoryStore):
    """Stamps are everybody's, as the text says."""

    def use_request(self, use: RequestUse) -> None:
        super().use_request(replace(use, owners=()))


class Short(MemoryStore):
    """It forgets a stamp when its ttl is over, as the reference does."""

    def use_request(self, use: RequestUse) -> None:
        super().use_request(replace(use, until=use.until - UNIT * SLOP.slop))


class GivingBackBlindly(MemoryStore):
    def give_back(self, use: RequestUse) -> None:
        own = [row_digest("id", use.peer, use.id)]
        own += [row_digest("stamp", owner, use.stamp) for owner in use.owners or ("",)]
        for kind in (self._own, self._authorized):
            kind.rows = {key: used for key, used in kind.rows.items() if key not in own}


@dataclass(frozen=True, slots=True)
class StampingAfter(Guardian):
    """It performs a request that passes the checks, and takes its id and stamp then."""

    def _result(self, received: ReceivedRequests, index: int, prepare: Prepare) -> Result:
        prepared = prepare(self.receiver.admit(received, index))
        done = prepared.perform()
        return Guardian._result(self, received, index, lambda _: PreparedOperation(prepared.owner, lambda: done))


@dataclass(frozen=True, slots=True)
class GivingBackAny(Guardian):
    """It gives back whatever failed."""

    def _result(self, received: ReceivedRequests, index: int, prepare: Prepare) -> Result:
        def without_effect(admitted: Admitted) -> PreparedOperation:
            prepared = prepare(admitted)

            def perform() -> "JsonValue | FailedOperation | AnsweredLater":
                result = prepared.perform()
                return replace(result, without_effect=True) if isinstance(result, FailedOperation) else result

            return PreparedOperation(prepared.owner, perform)

        return Guardian._result(self, received, index, without_effect)


@dataclass(frozen=True, slots=True)
class Lenient(Receiver):
    """It does not look at validities, as far as they go in the cases."""

    def admit(self, received: ReceivedRequests, index: int) -> Admitted:
        wide = replace(self.limits, slop=UNIT * 100, widest_slop=self.limits.slop)
        return Receiver.admit(replace(self, limits=wide), received, index)


@dataclass(frozen=True, slots=True)
class BySettingsOfNow(Receiver):
    def admit(self, received: ReceivedRequests, index: int) -> Admitted:
        return Receiver.admit(replace(self, limits=replace(self.limits, widest_ttl=None)), received, index)


@pytest.mark.parametrize(
    ("scope", "broken", "fault"),
    [
        (RACE, {"new_store": ForgetfulOfNonces}, "RESULT: use_nonce"),
        (BATCH, {"new_store": ForgetfulOfRequests}, "RESULT: use_request"),
        (RACE, {"new_store": Reopening}, "RESULT: the nonce passed"),
        (CLOSED_FIRST, {"new_store": WithoutTombstones}, "SESSION"),
        (THIEF, {"new_store": InOneSpace}, "STAMP"),
        (SLOP, {"new_store": Short}, "STAMP"),
        (GIVEN_BACK_ONCE, {"new_store": GivingBackBlindly}, "STAMP"),
        (TWO_SESSIONS, {"guardian": StampingAfter}, "CALL: not use_request"),
        (FAILS_ONCE, {"guardian": GivingBackAny}, "ANSWER: none, but Call(name='give_back'"),
        (CLOCKS_TWICE, {"receiver": Lenient}, "ANSWER: none, but Call(name='use_request'"),
        (RAISED, {"receiver": BySettingsOfNow}, "STAMP"),
    ],
    ids=lambda value: "-".join(each.__name__ for each in value.values()) if isinstance(value, dict) else "",
)
def test_code_without_one_of_the_rules_is_noticed(
    scope: Scope, broken: dict[str, Callable[[], SessionStore] | type[Guardian] | type[Receiver]], fault: str
) -> None:
    explored = Driver(scope, **broken).explore()  # type: ignore[arg-type]
    assert explored.fault.startswith(fault), explored.fault
