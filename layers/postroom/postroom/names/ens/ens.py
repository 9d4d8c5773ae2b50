"""ENS, asked by endpoints of its chain and by gateways, in one time box for each look-up."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import chain, islice
from typing import Final

from postroom.core.errors import NotNowError, TooSlowError
from postroom.names.ens.accounts import AccountDemands
from postroom.names.ens.calls import Outcomes
from postroom.names.ens.ccip import OffchainAnswer, OffchainRequest
from postroom.names.ens.endpoints import Agreed, ChainEndpoints
from postroom.names.ens.lookup import Ask, Brought, Contracts, Found, LookUp, look_up_address, look_up_text
from postroom.net.https import HttpsRequests
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class EnsAnswer:
    """What a look-up found, and what endpoints agreed on for it, the first and each later time."""

    found: Found
    agreed: tuple[Agreed[Outcomes], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Ens:
    """Looks names up. `gateways`: must refuse private networks; `clock`: seconds since the epoch; `seconds`: for all
    rounds of a look-up.
    """

    endpoints: ChainEndpoints
    gateways: HttpsRequests
    contracts: Contracts
    clock: Callable[[], float]
    seconds: float

    def text(self, name: str, key: str) -> EnsAnswer:
        """A text of a normalised name.

        Raises NotNowError(PROFILE_LOOKUP_FAILED): it could not be found out; TooSlowError: within the time.
        """
        return self._run(look_up_text(name, key, self.contracts))

    def address(self, name: str) -> EnsAnswer:
        """The address of a normalised name. Raises as `text` does."""
        return self._run(look_up_address(name, self.contracts))

    def reach(self, account: bytes, demands: Sequence[AccountDemands]) -> tuple[bool, ...]:
        """Of each of some demands, whether an account (20 bytes) reaches them: that must be alike, and no number.

        Raises as `text` does.
        """
        questions = [each.questions(account) for each in demands]

        def judge(outcomes: Outcomes) -> tuple[bool, ...]:
            left = iter(outcomes)
            return tuple(
                each.are_reached(account, tuple(islice(left, len(own))))
                for each, own in zip(demands, questions, strict=True)
            )

        together = tuple(chain.from_iterable(questions))
        return self.endpoints.agree(together, judge, seconds=self.seconds, now=self.clock()).said

    def _run(self, look_up: LookUp) -> EnsAnswer:
        deadline = time.monotonic() + self.seconds
        try:
            return self._run_until(deadline, look_up)
        except NotNowError as error:
            # Whoever did not answer in time has failed, as far as the look-up can see.
            if time.monotonic() < deadline:
                raise
            detail = f"it took more than {self.seconds:g} s: {error.detail}"
            raise TooSlowError(PROFILE_LOOKUP_FAILED, detail) from error

    def _run_until(self, deadline: float, look_up: LookUp) -> EnsAnswer:
        agreed: list[Agreed[Outcomes]] = []
        try:
            step = next(look_up)
            while True:
                seconds = deadline - time.monotonic()
                if seconds <= 0:
                    raise TooSlowError(PROFILE_LOOKUP_FAILED, "there was no time left for the next request")
                brought: Brought
                if isinstance(step, Ask):
                    agreed.append(self.endpoints.agree(step.calls, _all, seconds=seconds, now=self.clock()))
                    brought = agreed[-1].said
                else:
                    brought = self._fetch(step, seconds)
                step = look_up.send(brought)
        except StopIteration as done:
            return EnsAnswer(done.value, tuple(agreed))

    def _fetch(self, request: OffchainRequest, seconds: float) -> OffchainAnswer | None:
        try:
            if request.body is None:
                answer = self.gateways.get(request.url, _JSON, seconds)
            else:
                answer = self.gateways.post(request.url, request.body, _JSON, seconds=seconds)
        except NotNowError:
            return None
        return OffchainAnswer(answer.status, answer.body, _phrase(answer.status))


def _all(outcomes: Outcomes) -> Outcomes:
    return outcomes


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
