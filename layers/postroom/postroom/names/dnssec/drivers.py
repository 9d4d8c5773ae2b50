"""Drivers of look-ups: by a thread that waits for each answer, or from asyncio."""

from typing import TypeVar

import dns.name
from dns.rdatatype import RdataType

from postroom.core.errors import NotNowError
from postroom.names.dns.answer import Answer
from postroom.names.dns.question import Ask, Question
from postroom.names.dnssec.anchors import TrustAnchors
from postroom.names.dnssec.policy import Policy
from postroom.names.dnssec.proofs import Steps
from postroom.names.dnssec.verdicts import Verdict
from postroom.names.dnssec.walk import look_up
from postroom.names.dnssec.zones import KnownZones

T = TypeVar("T")


def validate(
    name: dns.name.Name,
    rdtype: RdataType,
    anchors: TrustAnchors,
    ask: Ask,
    now: float,
    *,
    policy: Policy | None = None,
    known: KnownZones | None = None,
    fresh: bool = False,
) -> Verdict:
    """The verdict on (name, type), asked through `ask`; `now` in epoch seconds. For the rest see `walk`."""
    return drive(look_up(name, rdtype, anchors, now, policy=policy, known=known, fresh=fresh), ask)


def drive(steps: Steps[T], ask: Ask) -> T:
    """Run steps to their end."""
    done = _go_on(steps)
    while isinstance(done, Question):
        done = _go_on(steps, _answer(ask, done))
    return done


async def drive_async(steps: Steps[T], ask: Ask) -> T:
    """The same for programs of asyncio: asking and checking go to threads, the event loop goes on."""
    # No Lambda function has one, and it would cost each a hundredth of a second at its start.
    import asyncio

    done = await asyncio.to_thread(_go_on, steps)
    while isinstance(done, Question):
        answer = await asyncio.to_thread(_answer, ask, done)
        done = await asyncio.to_thread(_go_on, steps, answer)
    return done


def _answer(ask: Ask, question: Question) -> Answer | NotNowError:
    try:
        return ask(question)
    except NotNowError as failed:
        return failed


def _go_on(steps: Steps[T], answer: Answer | NotNowError | None = None) -> Question | T:
    """The next question, or the end; `answer`: to the one before, None at first."""
    try:
        if isinstance(answer, NotNowError):
            return steps.throw(answer)
        return next(steps) if answer is None else steps.send(answer)
    except StopIteration as ended:
        result: T = ended.value
        return result
