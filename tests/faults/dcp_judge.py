"""The judge of DCP in the fault tests: what peers were answered, and how often the mailbox was signed out."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.faults.dcp_wire import Exchange, Json

from postroom.protocols.dcp.operations import CLOSE
from postroom.protocols.dcp.reasons import DCP_DUPLICATE, DCP_ID_REUSED, DCP_NONCE_INVALID

SIGN_OUT = "sign_out"
"""The operation that counts."""


@dataclass(frozen=True)
class Attempt:
    """A request as it was sent once. `place`: that of its message and in its batch. `response` None: none came."""

    place: tuple[int, int]
    operation: str
    stamp: str
    dcpsid: str
    answered: int
    response: Json | None

    @property
    def succeeded(self) -> bool:
        """Whether the peer knows that it took effect."""
        return bool(self.response and self.response["success"])

    def is_refused_as(self, sentence: str) -> bool:
        """Whether this reason was answered."""
        return bool(self.response and not self.succeeded and self.response["payload"]["message"].startswith(sentence))


def attempts(exchanges: Sequence[Exchange]) -> list[Attempt]:
    """All requests within sessions, in order."""
    found = []
    for exchange in exchanges:
        body, answer = exchange.body, exchange.answer
        if "dcpsid" not in body:
            continue
        batched = isinstance(body["payload"], list)
        requests = body["payload"] if batched else [body]
        # A batch that is refused as a whole has one response.
        responses = answer["payload"][1:] if answer and batched and answer["nonce"] else [answer] * len(requests)
        found += [
            Attempt(
                (exchange.sent, index), request["payload"]["operation"], request["payload"]["validity"]["stamp"],
                body["dcpsid"], exchange.answered, response,
            )
            for index, (request, response) in enumerate(zip(requests, responses, strict=True))
        ]  # fmt: skip
    return found


def faults_of(exchanges: Sequence[Exchange], signed_out: int) -> Iterator[str]:
    """The problems, a sentence each. `signed_out`: how often the mailbox was."""
    sent = attempts(exchanges)
    for stamp, times in Counter(each.stamp for each in sent if each.succeeded).items():
        if times > 1:
            yield f"{stamp} was answered with success {times} times"
    outs = [each for each in sent if each.operation == SIGN_OUT and not _is_closed(each, sent)]
    most = len({each.stamp for each in outs})
    told = len({each.stamp for each in outs if each.succeeded})
    if not told <= signed_out <= most:
        yield f"of {most} payloads, {told} were answered with success, and they took effect {signed_out} times"
    yield from (
        f"{each.operation} was performed in a session that was closed"
        for each in sent
        if each.succeeded and _is_closed(each, sent)
    )
    yield from _faults_of_nonces(exchanges)
    for each in sent:
        same = [other for other in sent if other.stamp == each.stamp and _is_earlier(other, each)]
        if not same and any(each.is_refused_as(reason.sentence) for reason in (DCP_DUPLICATE, DCP_ID_REUSED)):
            yield f"{each.stamp} was refused as used, and nobody had used it"


def _faults_of_nonces(exchanges: Sequence[Exchange]) -> Iterator[str]:
    within = [(each, (each.body["dcpsid"], each.body["nonce"])) for each in exchanges if "dcpsid" in each.body]
    # An answer has a nonce if the message's own one counted.
    used = Counter(nonce for each, nonce in within if each.answer and each.answer["nonce"])
    yield from (f"a nonce counted {times} times" for times in used.values() if times > 1)
    for each, nonce in within:
        others = [other for other, its in within if its == nonce and other is not each and other.sent < each.answered]
        refused = each.answer if each.answer and not each.answer["nonce"] else None
        if refused and not others and refused["payload"]["message"].startswith(DCP_NONCE_INVALID.sentence):
            yield "a nonce was refused as used, and nobody had used it"


def _is_closed(attempt: Attempt, sent: Sequence[Attempt]) -> bool:
    """Whether the peer knew that the session was closed when it sent this."""
    return any(
        each.operation == CLOSE and each.succeeded and each.dcpsid == attempt.dcpsid
        and each.answered < attempt.place[0]
        for each in sent
    )  # fmt: skip


def _is_earlier(other: Attempt, attempt: Attempt) -> bool:
    """Whether another attempt may have come before this one: it was sent before, or before this one was answered."""
    if other.place[0] == attempt.place[0]:
        return other.place < attempt.place
    return other.place[0] < attempt.answered
