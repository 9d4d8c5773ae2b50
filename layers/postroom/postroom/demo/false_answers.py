"""The demo's scenes of what must not be believed: endpoints of the chain that lie, and answers of a gateway."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from postroom.demo.chain_names import profile_text
from postroom.demo.changed_answers import LyingEndpoints, RecordedHandler, of_other_name, with_other_text
from postroom.demo.checks import DemoRow, Say, expect
from postroom.demo.names import MALLORY
from postroom.demo.stack import DemoStack
from postroom.demo.submissions import Submissions, answer_of
from postroom.local.chain.ccip_gateway import CcipGateway
from postroom.local.chain.hosts import CCIP_HOST
from postroom.local.edge import Handler
from postroom.names.registry import PROFILE_KEY
from postroom.net.https import HttpsClient
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.reasons import SENDER_SIGNATURE_INVALID

FRANK: Final = "frank.eth"
GRACE: Final = "grace.eth"
HEIDI: Final = "heidi.team.eth"
IVAN: Final = "ivan.team.eth"
JUDY: Final = "judy.team.eth"
MALLORY_OF_TEAM: Final = "mallory.team.eth"
_HOST: Final = "localhost"
_FIRST, _SECOND, _THIRD = _PATHS = ("/first", "/second", "/third")
_DAY_SECONDS: Final = 86_400


def three_endpoints(demo: DemoStack) -> tuple[str, ...]:
    """The URLs of endpoints of the chain, which are paths of one host, because a machine has few hosts."""
    return tuple(f"https://{_HOST}:{demo.stack.edge.port}{path}" for path in _PATHS)


def endpoints_lie(demo: DemoStack, https: HttpsClient, say: Say) -> list[DemoRow]:
    """One of three endpoints lies, then two of them, each its own lie."""
    names, submissions = demo.names, Submissions(demo.receiver, https, demo.names.profiles)
    mallory, another = names.users[MALLORY], UserKeys.random()
    for name in (FRANK, GRACE):
        demo.chain_names.register(name, names.keys_of(name))
    liars = LyingEndpoints(demo.ethereum.answer_json_rpc)
    with _served(demo, _HOST, liars, demo.ethereum.answer_json_rpc):
        liars.texts[_FIRST] = profile_text(mallory)
        submissions.accepted(FRANK, names.keys_of(FRANK))
        expect(_FIRST in liars.lied, "the first endpoint has lied", liars.lied)
        forged = submissions.refused(FRANK, mallory, SENDER_SIGNATURE_INVALID)
        say(f"the first of three endpoints says that {FRANK} has the key of {MALLORY}: it is outvoted by the others")
        say(f"  {FRANK} is verified with the right key; {MALLORY} in that name: {answer_of(forged)}")
        liars.texts[_SECOND] = profile_text(another)
        liars.lied.clear()
        doubted = submissions.not_believed(GRACE, names.keys_of(GRACE), "1 of 3 endpoints of the chain said the same")
        expect({*liars.lied} == {_FIRST, _SECOND}, "two endpoints have lied", liars.lied)
        say(f"two of them lie about {GRACE}, each in another way: {answer_of(doubted)}")
        say(f"  {doubted.detail}")
    submissions.accepted(GRACE, names.keys_of(GRACE))
    say(f"they no longer lie: after 5 s, in which the name is left alone, a message of {GRACE} is filed")
    return [
        DemoRow("15", "one endpoint of three lies", "accepted", "outvoted; verified with the right key"),
        DemoRow("15", "what it would have let in", answer_of(forged), "refused, nothing stored"),
        DemoRow("15", "two of three lie", answer_of(doubted), "nothing is believed"),
        DemoRow("15", "when they no longer lie", "accepted", "filed"),
    ]


def gateway_answers_are_wrong(demo: DemoStack, https: HttpsClient, say: Say) -> list[DemoRow]:
    """A gateway's answers are changed on the way, of yesterday, and of another name; each would let Mallory in."""
    names, ethereum = demo.names, demo.ethereum
    submissions, mallory = Submissions(demo.receiver, https, names.profiles), names.users[MALLORY]
    for name in (HEIDI, IVAN, JUDY):
        demo.chain_names.set_behind_gateway(name, names.keys_of(name))
    demo.chain_names.set_behind_gateway(MALLORY_OF_TEAM, mallory)
    yesterday = CcipGateway(ethereum.gateway_account, lambda: time.time() - _DAY_SECONDS)
    yesterday.set_text(IVAN, PROFILE_KEY, profile_text(mallory))
    before, rows = len(demo.receiver.rows()), []
    for name, what, handler in (
        (HEIDI, "changed on the way", with_other_text(ethereum.ccip, profile_text(mallory))),
        (IVAN, "of yesterday", yesterday),
        (JUDY, "of another name", of_other_name(ethereum.ccip, MALLORY_OF_TEAM)),
    ):
        recorded = RecordedHandler(handler)
        with _served(demo, CCIP_HOST, recorded, ethereum.ccip):
            doubted = submissions.not_believed(name, mallory, "reverted with ResolverError")
        expect(bool(recorded.requests), "the gateway was used", recorded.requests)
        say(f"an answer {what} gives {name} the key of {MALLORY}: {answer_of(doubted)}: {doubted.detail}")
        rows.append(DemoRow("16", f"a gateway's answer {what}", answer_of(doubted), "refused, nothing stored"))
    demo.receiver.settle()
    expect(len(demo.receiver.rows()) == before, "nothing is stored", before)
    return rows


@contextmanager
def _served(demo: DemoStack, host: str, handler: Handler, afterwards: Handler) -> Iterator[None]:
    demo.stack.edge.serve_handler(host, handler)
    try:
        yield
    finally:
        demo.stack.edge.serve_handler(host, afterwards)
