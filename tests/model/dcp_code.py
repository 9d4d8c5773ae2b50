"""The real guardian, which takes the steps of the model of a DCP target.

A run is a real message that a real `Guardian` answers. It stops at each call of its store, and where it would perform
an operation. Those calls are the steps: a stopped run goes on when the model says that its call is made. It is then
computed anew from its message, with the results of all its calls so far. So the state of the code is a value: the
store, and of each run its results. A step of the model leads from each state to one other, in both.

After each step, the code must agree with the model: about the call that was made and what it brought, which nonces and
stamps are remembered and until when, how often each payload took effect, and the answer's nonce and error codes. Of the
model's steps, those that change nothing in the store are none of the code: that a validity is refused, for example, is
seen in the answer.

Left out: revocation, which is no call of this store, and settings that change during a run.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, TypeVar

from tests.model.dcp import MARGIN, Nonce, Rules, Run, Scope, State, Step, Target, one_more
from tests.model.explore import BrokenError, Explored, explore
from tests.protocols.dcp.guarded import JACK, OWNER, US, WES

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.core.reason import Reason
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.error_payload import ErrorPayload, error_of
from postroom.protocols.dcp.guardian import FailedOperation, Guardian, PreparedOperation
from postroom.protocols.dcp.memory_store import MemoryStore, RowsOfOneKind
from postroom.protocols.dcp.messages import Allowance
from postroom.protocols.dcp.payload import NewRequest, new_payload, request_body
from postroom.protocols.dcp.reasons import DCP_DUPLICATE, DCP_OPERATION_UNKNOWN
from postroom.protocols.dcp.receiving import Admitted, ReceiveLimits, Receiver
from postroom.protocols.dcp.session_names import CONNECT_SECONDS, RANDOM_BYTES, SessionNames
from postroom.protocols.dcp.session_store import NonceUse, RequestUse, SessionStore
from postroom.protocols.dcp.signed_message import sign_body
from postroom.protocols.dcp.validity import TtlLimits

BASE: Final = 1_700_000_000
UNIT: Final = 20
"""Seconds of one step of the model's clock: more than the least ttl of 15 seconds. After 60, the store in memory
removes what is over: as early as the model does, by a clock that is one step ahead."""
ACCESSORS: Final = {"A": OWNER, "B": WES, "J": JACK}
OWNERS_KEYS: Final = {"one": EthereumKey.from_secret(b"\x09" * 32), "other": EthereumKey.from_secret(b"\x0b" * 32)}
_ADDRESSES: Final = frozenset(key.address for key in OWNERS_KEYS.values())
OPERATIONS: Final = {"none": "keepalive"}
NAMES: Final = SessionNames(US.address, b"\x0a" * 32)
FAILED: Final = ErrorPayload("Error", "for a moment", "EFAILED")

CallResult: TypeAlias = Reason | Literal["failed"] | None
"""What a call brought: a reason, if it refused."""

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a run makes. `argument` of `perform`: the request's id, and whether the owner authorized it."""

    name: str
    argument: Any


@dataclass(frozen=True, slots=True)
class CodeStep:
    """What the code does in a step of a run. `call`: the one that is made, if any; `result`: what it brings.

    `code`: of the request's answer, which is known then, "": success; `is_lost`: the result does not arrive, so the
    call is made again; `takes_effect`: the operation, although it fails.
    """

    call: str | None
    result: CallResult = None
    code: str | None = None
    is_lost: bool = False
    takes_effect: bool = False


_REFUSED: Final = error_of(TheirError(DCP_OPERATION_UNKNOWN), US.address).code
STEPS: Final = {
    "nonce": CodeStep("use_nonce"),
    "nonce, answer lost": CodeStep("use_nonce", is_lost=True),
    "nonce again, known as its own": CodeStep("use_nonce"),
    "EEXPIRED or ETIMETRAVEL": CodeStep(None, code="EEXPIRED or ETIMETRAVEL"),
    "stamp": CodeStep("use_request"),
    "stamp, answer lost": CodeStep("use_request", is_lost=True),
    "stamp again, known as its own": CodeStep("use_request"),
    "EDUP": CodeStep("use_request", DCP_DUPLICATE, code="EDUP"),
    "not authorized": CodeStep(None, code=_REFUSED),
    "nothing to do": CodeStep(None, code=""),
    "operation": CodeStep("perform", code="", takes_effect=True),
    "operation fails": CodeStep("perform", "failed", code=FAILED.code),
    "operation takes effect, and fails": CodeStep("perform", "failed", code=FAILED.code, takes_effect=True),
    "give stamp back": CodeStep("give_back"),
}
"""By the model's name of the step. The others are in `Driver.taken`."""


class StoppedError(BaseException):
    """A run came to a call that has no result yet. Nothing that handles exceptions of the store may handle it."""

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        self.call = call


@dataclass
class StoppingStore:
    """A session store whose calls have these results, until a call that has none."""

    results: Iterator[CallResult]

    def use_nonce(self, use: NonceUse) -> None:
        self.made("use_nonce", use)

    def use_request(self, use: RequestUse) -> None:
        self.made("use_request", use)

    def give_back(self, use: RequestUse) -> None:
        self.made("give_back", use)

    def perform(self, admitted: Admitted) -> "JsonValue | FailedOperation":
        result = self.made("perform", (admitted.request.id, not _ADDRESSES.isdisjoint(admitted.resources)))
        return result and FailedOperation(FAILED, without_effect=admitted.operation == "read")

    def prepare(self, admitted: Admitted) -> PreparedOperation:
        is_authorized = not _ADDRESSES.isdisjoint(admitted.resources)
        if admitted.request.payload.allow and not is_authorized:
            raise TheirError(DCP_OPERATION_UNKNOWN)
        return PreparedOperation("owner" if is_authorized else None, lambda: self.perform(admitted))

    def made(self, name: str, argument: Any) -> Literal["failed"] | None:
        for result in self.results:
            if isinstance(result, Reason):
                raise TheirError(result)
            return result
        raise StoppedError(Call(name, argument))


@dataclass(frozen=True, slots=True)
class CodeRun:
    """A run of the code. `results`: of its calls so far; `codes`: that its answer must have, one for each request."""

    message: bytes
    now: int
    limits: ReceiveLimits
    following: str
    results: tuple[CallResult, ...] = ()
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Code:
    """The state of the code."""

    store: SessionStore
    done: tuple[int, ...]
    runs: Mapping[Nonce, CodeRun] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Both:
    """A state of the model, and the code's, which it determines."""

    model: State
    code: Code = field(compare=False)


def nonce_text(mark: Nonce) -> str:
    return "nonce {}.{}".format(*mark)


def expect(is_true: bool, what: str) -> None:
    if not is_true:
        raise BrokenError(what)


class Driver:
    """The code in one case. `new_store`, `guardian`: the code's, or broken ones."""

    def __init__(
        self,
        scope: Scope,
        new_store: Callable[[], SessionStore] = MemoryStore,
        guardian: type[Guardian] = Guardian,
        receiver: type[Receiver] = Receiver,
    ) -> None:
        self.scope, self.target = scope, Target(Rules(), scope)
        self.new_store, self.guardian, self.receiver = new_store, guardian, receiver
        self.dcpsids = {each.session: self._dcpsid(each.session, each.by) for each in scope.messages}
        self.stopped = lru_cache(maxsize=None)(self._stopped)
        self.message = lru_cache(maxsize=None)(self._message)

    def start(self) -> Both:
        model = self.target.start()
        return Both(model, Code(self.new_store(), model.done))

    def explore(self) -> Explored:
        return explore(self.start(), lambda both: self.target.check(both.model), self.following)

    def following(self, both: Both) -> Iterator[tuple[str, Both]]:
        for step in self.target.following(both.model):
            if both.model.runs and step.state.setting != both.model.setting:
                continue
            yield step.label, self.taken(both, step)

    def taken(self, both: Both, step: Step) -> Both:
        """Let the code take a step of the model. Raises BrokenError if it does not agree."""
        code = both.code
        if step.mark is None:
            return Both(step.state, code)
        match step.what.partition(":")[0]:
            case "end":
                code = replace(code, runs=_without(code.runs, step.mark))
            case "arrive":
                run = next(run for run in step.state.runs if run.mark == step.mark)
                code = replace(code, runs={**code.runs, run.mark: self._arrived(run, step.state)})
            case "EINVAL":
                code = self._refused(code, step.mark)
                self._compare(step.state, code)
            case "answer" | "answer, and nobody hears it":
                self._check_answer(code.runs[step.mark], step.mark)
                code = replace(code, runs=_without(code.runs, step.mark))
            case what:
                before = next(run for run in both.model.runs if run.mark == step.mark)
                code = self._went_on(code, before, STEPS[what])
                self._compare(step.state, code)
        return Both(step.state, code)

    # ---- the steps of a run ----------------------------------------------------------------------------------
    def _went_on(self, code: Code, run: Run, step: CodeStep) -> Code:
        on, store, done = code.runs[run.mark], code.store, code.done
        if step.call is not None:
            call = self.stopped(on)
            expect(isinstance(call, Call) and call.name == step.call, f"CALL: not {step.call}, but {call}")
            self._check_call(call, run)
            if step.call != "perform":
                store, brought = _called(store, call)
                expect(brought == step.result, f"RESULT: {step.call} brought {brought}, not {step.result}")
            if not step.is_lost:
                on = replace(on, results=(*on.results, step.result))
        if step.takes_effect:
            done = one_more(done, self.target.number_of(self.scope.messages[run.message].payloads[run.i]))
        if step.code is not None:
            on = replace(on, codes=(*on.codes, step.code))
        return Code(store, done, {**code.runs, run.mark: on})

    def _check_call(self, call: Call, run: Run) -> None:
        message, request = self.scope.messages[run.message], f"{run.message}.{run.i}"
        match call.argument:
            case RequestUse() as use:
                expect(use.id == request, f"CALL: of request {use.id}, not of {request}")
            case (name, is_authorized):
                expect(name == request, f"CALL: of request {name}, not of {request}")
                accessor = self.scope.payloads[message.payloads[run.i]].accessor
                expect(is_authorized == (accessor == message.by), f"AUTHORIZED: {request} is {is_authorized}")

    def _refused(self, code: Code, mark: Nonce) -> Code:
        """The nonce is refused: by the store, or before, because it is too old."""
        run, store = code.runs[mark], code.store
        call = self.stopped(run)
        if isinstance(call, Call):
            expect(call.name == "use_nonce", f"CALL: not use_nonce, but {call.name}")
            store, brought = _called(store, call)
            expect(brought is not None, "RESULT: the nonce passed")
            run = replace(run, results=(brought,))
        answer = self.stopped(run)
        expect(isinstance(answer, bytes) and _codes(answer) == ["EINVAL"], f"ANSWER: not EINVAL, but {answer!r}")
        return Code(store, code.done, _without(code.runs, mark))

    def _check_answer(self, run: CodeRun, mark: Nonce) -> None:
        answer = self.stopped(run)
        expect(isinstance(answer, bytes), f"ANSWER: none, but {answer}")
        said = _codes(answer)
        # The first response of a batch is its acknowledgement.
        expected = list(run.codes) if len(run.codes) == 1 else ["", *run.codes]
        fits = len(said) == len(expected) and all(
            one in other.split(" or ") for one, other in zip(said, expected, strict=True)
        )
        expect(fits, f"ANSWER: {said}, not {expected}")
        nonce = json.loads(answer)["body"]["nonce"]
        expect(nonce == nonce_text(mark), f"ANSWER: the nonce is {nonce}")

    # ---- what is remembered ----------------------------------------------------------------------------------
    def _compare(self, model: State, code: Code) -> None:
        expect(code.done == model.done, f"DONE: {code.done}, not {model.done}")
        store = _copied(code.store)
        self._compare_sessions(model, store)
        self._compare_stamps(model, store)

    def _compare_sessions(self, model: State, store: SessionStore) -> None:
        """Ask by a use of each session's nonce, which passes if it is open, or absent."""
        rows = dict(model.sessions)
        for session, (dcpsid, first_nonce) in self.dcpsids.items():
            now = BASE + UNIT * model.time
            use = NonceUse(JACK.address, dcpsid, first_nonce, "asked", first=True, now=now, until=now)
            row = rows.get(session)
            if row is not None and not row.closed:
                use = replace(use, nonce=nonce_text(row.nonce), first=False)
            refused = _brought(store, Call("use_nonce", use))
            is_free = row is None or not row.closed
            expect((refused is None) == is_free, f"SESSION {session}: {refused}, and the model has {row}")

    def _compare_stamps(self, model: State, store: SessionStore) -> None:
        """Ask by a use of each stamp. Of what is over, nobody's clock is so late as to tell whether it is removed.

        In the order of their ends, because a store may remove what is over for the one that asks.
        """
        rows = {key: row.until for key, row in model.stamps}
        for number, (whose, stamp) in enumerate(sorted(self._stamp_keys(), key=lambda key: rows.get(key, -1))):
            owners = (whose,) if whose else ()
            use = RequestUse(JACK.address, f"asked {number}", stamp, owners, f"asked {number}", 0, BASE)
            until = rows.get((whose, stamp))
            if until is None:
                use = replace(use, now=BASE + UNIT * (model.time + min(self.scope.skews)))
                expect(
                    _brought(store, Call("use_request", use)) is None,
                    f"STAMP {whose} {stamp}: taken, and the model has none",
                )
            elif until + MARGIN["late"] >= model.time:
                last = BASE + UNIT * until
                taken = _brought(store, Call("use_request", replace(use, now=last)))
                expect(taken == DCP_DUPLICATE, f"STAMP {whose} {stamp}: {taken} at {until}")
                over = _brought(store, Call("use_request", replace(use, now=last + 0.5)))
                expect(over is None, f"STAMP {whose} {stamp}: {over} after {until}")

    def _stamp_keys(self) -> set[tuple[str, str]]:
        return {(whose, payload.stamp) for payload in self.scope.payloads for whose in ("", "owner")}

    # ---- the code --------------------------------------------------------------------------------------------
    def _stopped(self, run: CodeRun) -> Call | bytes:
        """The call that a run has no result of, or its answer."""
        results = iter(run.results)
        store = StoppingStore(results)
        receiver = self.receiver(frozenset({US.address}), NAMES, store, lambda: run.following, run.limits)
        guardian = self.guardian(receiver, NAMES, {US.address: US}, bytes)
        try:
            answer = guardian.answer(run.message, run.now, store.prepare).data
        except StoppedError as stopped:
            return stopped.call
        expect(next(results, "none left") == "none left", "CALL: fewer than before")
        return answer

    def _arrived(self, run: Run, model: State) -> CodeRun:
        return CodeRun(
            self.message(run.message, run.nonce),
            BASE + UNIT * run.now,
            ReceiveLimits(
                ttl=self._ttl(self.scope.longest[model.setting]),
                widest_ttl=self._ttl(self.scope.longest[-1]),
                slop=UNIT * self.scope.slop,
                session_seconds=UNIT * 100,
            ),
            nonce_text(run.mark),
        )

    def _ttl(self, longest: int) -> TtlLimits:
        return TtlLimits(min=15, max=UNIT * longest)

    def _message(self, number: int, nonce: Nonce | None) -> bytes:
        message = self.scope.messages[number]
        dcpsid, first_nonce = self.dcpsids[message.session]
        requests = [self._request(f"{number}.{i}", payload) for i, payload in enumerate(message.payloads)]
        batch = {"type": "request-batch", "id": f"{number}", "payload": requests}
        body = requests[0] if len(requests) == 1 else batch
        text = first_nonce if nonce is None else nonce_text(nonce)
        return sign_body({**body, "dcpsid": dcpsid, "nonce": text}, ACCESSORS[message.by])

    def _request(self, name: str, number: int) -> dict[str, JsonValue]:
        payload = self.scope.payloads[number]
        validity = {"time": BASE + UNIT * payload.time, "stamp": payload.stamp, "ttl": UNIT * payload.ttl}
        allow, keys = [], ()
        if payload.accessor is not None:
            accessor = ACCESSORS[payload.accessor].address
            allow = [Allowance(key.address, US.address, accessor) for key in OWNERS_KEYS.values()]
            keys = (OWNERS_KEYS[payload.signer],)
        operation = OPERATIONS.get(payload.operation, payload.operation)
        members = new_payload(operation, allow=allow, validity=validity)
        return request_body(NewRequest(members, keys), members, name, hex_prefix=False)

    def _dcpsid(self, session: str, by: str) -> tuple[str, str]:
        """The id of a session, and its first nonce: opened so that this counts as long as in the model."""
        opened = BASE + UNIT * self.scope.opens - CONNECT_SECONDS
        peer = ACCESSORS[by].address
        dcpsid = NAMES.new(session * 21, peer, now=opened, random=bytes(RANDOM_BYTES))
        return dcpsid, NAMES.first_nonce(dcpsid, peer)


def _called(store: SessionStore, call: Call) -> tuple[SessionStore, Reason | None]:
    """A store after a call, and what that brought. The store itself stays as it is."""
    store = _copied(store)
    return store, _brought(store, call)


def _copied(kept: C) -> C:
    """A copy that goes on by itself. Its rows are values: `copy.deepcopy`, which copies them, too, takes most of the
    time of a search."""
    made = copy(kept)
    for name, each in vars(kept).items():
        if isinstance(each, dict | RowsOfOneKind):
            setattr(made, name, copy(each) if isinstance(each, dict) else _copied(each))
    return made


def _brought(store: SessionStore, call: Call) -> Reason | None:
    try:
        getattr(store, call.name)(call.argument)
    except TheirError as error:
        return error.reason
    return None


def _codes(answer: bytes) -> list[str]:
    body = json.loads(answer)["body"]
    responses = body["payload"] if body["type"] == "response-batch" else [body]
    return ["" if each["success"] else each["payload"]["code"] for each in responses]


def _without(runs: Mapping[Nonce, CodeRun], mark: Nonce) -> dict[Nonce, CodeRun]:
    return {each: run for each, run in runs.items() if each != mark}
