"""The flow of the outbox: an owner sends three messages, which are accepted, refused, and answered 503 at first."""

import json
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from tests.faults.clock import CLOCK
from tests.faults.fake_internet import BUFFERS, BUSY, SENDER, STRICT
from tests.faults.flows import Flow, Run
from tests.faults.judge import Judge
from tests.faults.queues import Queues, event_of
from tests.faults.stack import FaultStack, Json
from tests.functions.samples import RECEIVER, http, published_key

_HOST = f"https://nlweb.{RECEIVER}"
_ENDS = {SENDER: "delivered", BUFFERS[STRICT]: "refused", BUFFERS[BUSY]: "delivered"}
"""The final state of a message, by its receiver."""
_BETWEEN_POSTS_SECONDS = 3


@dataclass(frozen=True)
class OutboxFlow(Flow):
    """The victim is the mailbox API, which accepts the messages, or the courier, which sends them."""

    def prepare(self, stack: FaultStack) -> Run:
        """Sign the owner in; for the courier, also queue the messages."""
        stack.wipe()
        stack.internet.forget()
        run, queues = Run([], _posts(_token(stack))), Queues(stack)
        if self.function == "CourierFunction":
            for post in run.batch:
                assert stack.call("MailboxFunction", post)["statusCode"] == 200
            run.batch = queues.receive(self.queue)
            queues.release(self.queue, run.batch)
        run.copies = queues.copies
        stack.internet.buffers({STRICT: 403, BUSY: 503})
        return run

    def act(self, stack: FaultStack, run: Run) -> list[Json]:
        """Run the victim; returns its answers."""
        if self.function == "CourierFunction":
            return [stack.call(self.function, event_of(self.queue, run.batch))]
        answers = []
        for post in run.batch:
            CLOCK.sleep(_BETWEEN_POSTS_SECONDS)
            answers.append(stack.call(self.function, post))
        return answers

    def settle(self, stack: FaultStack, run: Run, answers: list[Json]) -> list[str]:
        """Repeat requests that were not answered 200; then process everything."""
        queues, faults = Queues(stack, run.copies), []
        if self.function == "CourierFunction" and answers:
            queues.finish(self.queue, run.batch, answers[0])
        if self.function == "MailboxFunction":
            heard = [answer["body"] if answer["statusCode"] == 200 else "" for answer in answers] or [""] * 3
            for post, body in zip(run.batch, heard, strict=True):
                if not body:
                    assert stack.call("MailboxFunction", post)["statusCode"] == 200
        self._rest(stack, queues)
        faults += _faults(stack)
        if self.function == "MailboxFunction":
            for post, body in zip(run.batch, heard, strict=True):
                again = json.loads(stack.call("MailboxFunction", post)["body"])
                if body and json.loads(body)["correlation"] != again["correlation"]:
                    faults.append(f"one token, two messages: {body} and {again}")
        posted = len(stack.internet.posted())
        queues.hand_out_copies()
        self._rest(stack, queues)
        if len(stack.internet.posted()) != posted:
            faults.append("what had ended was sent again")
        faults += [*_faults(stack), *Judge(stack, queues).faults_of_queues()]
        if faults:
            stack.purge()
        return list(dict.fromkeys(faults))


def _posts(token: str) -> list[Json]:
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    messages = [
        {"token": f"t{number}", "to": to, "subject": "Hello@Host", "body": number} for number, to in enumerate(_ENDS)
    ]
    url = f"{_HOST}/mailboxes/{RECEIVER}/outbox"
    return [http("POST", url, int(CLOCK()), json.dumps(each).encode(), headers) for each in messages]


def _token(stack: FaultStack) -> str:
    """A token of the mailbox's owner."""
    url = f"{_HOST}/auth/{RECEIVER}"
    challenge = json.loads(stack.call("MailboxFunction", http("GET", url, int(CLOCK())))["body"])
    signature = b64encode(published_key().sign(challenge.encode())).decode()
    body = json.dumps({"challenge": challenge, "signature": signature}).encode()
    headers = {"content-type": "application/json"}
    token: str = json.loads(stack.call("MailboxFunction", http("POST", url, int(CLOCK()), body, headers))["body"])
    return token


def _faults(stack: FaultStack) -> Iterator[str]:
    """The problems: each message is listed once with its final state; receivers get the same bytes each time."""
    rows = [row for row in stack.deployed.rows("OutboxTable") if row["sk"]["S"].startswith("out#")]
    ended = sorted((row["to"]["S"], row["st"]["S"]) for row in rows)
    if ended != sorted(_ENDS.items()):
        yield f"the messages came to {ended}"
    texts = defaultdict(set)
    for posted in stack.internet.posted():
        texts[json.loads(posted)["Header"]["To"]].add(posted)
    if {to: len(each) for to, each in texts.items()} != dict.fromkeys(_ENDS, 1):
        yield f"so many texts came to each receiver: { {to: len(each) for to, each in texts.items()} }"
