"""`postroom dead-letters`: what an operator sees, sends back and discards; an accepted message gets a verdict."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import pytest
from click.testing import Result
from tests.cli.conftest import Postroom, StorageStack

from postroom.cli.exits import Exit
from postroom.core.reasons import UNDELIVERABLE
from postroom.outbound.discard_messages import DiscardNotification
from postroom.outbound.notification_messages import MailWaiting, WatchReplaced
from postroom.outbound.outbox_messages import Outgoing
from postroom.outbound.queue_messages import read_queue_message
from postroom.pipeline.claim_details import NlwebDetails
from postroom.pipeline.claims import Claim, QueuedClaim, pack
from postroom.protocols.nlweb.reasons import SIGNATURE_INVALID
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.sign import Draft
from postroom.storage.layout import row_key
from postroom.storage.mail.segments import Line, lay_out

pytestmark = pytest.mark.xdist_group("cli-storage")

BOX = "receiver.example"
NOW_MS = int(time.time() * 1000)
Operate = Callable[..., Result]


@dataclass
class Queues:
    """The queues of the deployment."""

    stack: StorageStack

    def put(self, queue: str, body: str, group: str = "") -> str:
        """Send a message; returns its id."""
        more = {"MessageGroupId": group} if group else {}
        sent = self.stack.clients("sqs").send_message(QueueUrl=self.url(queue), MessageBody=body, **more)
        return str(sent["MessageId"])

    def bodies(self, queue: str) -> list[str]:
        """Take everything out of a queue."""
        found = []
        while messages := self._receive(queue, seconds=60):
            found += [message["Body"] for message in messages]
        return found

    def fail(self, queue: str, times: int) -> None:
        """Receive what is in a queue as often as a function that cannot process it."""
        for _ in range(times + 1):
            self._receive(queue, seconds=0)

    def url(self, queue: str) -> str:
        return self.stack.outputs[f"{queue}Url"]

    def _receive(self, queue: str, *, seconds: int) -> list[Any]:
        return list(
            self.stack.clients("sqs")
            .receive_message(QueueUrl=self.url(queue), MaxNumberOfMessages=10, VisibilityTimeout=seconds)
            .get("Messages", [])
        )


@pytest.fixture(autouse=True)
def short_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedded AWS has one server, which a short poll asks as well."""
    monkeypatch.setattr("postroom.storage.aws.dead_letter_queue._WAIT_SECONDS", 0)


@pytest.fixture
def queues(storage_stack: StorageStack) -> Iterator[Queues]:
    yield Queues(storage_stack)
    for name in storage_stack.outputs:
        if name.endswith("QueueUrl"):
            storage_stack.clients("sqs").purge_queue(QueueUrl=storage_stack.outputs[name])


@pytest.fixture
def operate(postroom: Postroom, storage_stack: StorageStack) -> Operate:
    def run(command: str, *arguments: str) -> Result:
        return postroom("dead-letters", command, *arguments, *storage_stack.options)

    return run


def listed(operate: Operate, *options: str) -> list[dict[str, str]]:
    return list(json.loads(operate("list", "--json", *options).stdout))


def ids(operate: Operate) -> list[str]:
    return [each["id"] for each in listed(operate)]


@pytest.fixture
def claim(envelope: Callable[..., str]) -> Claim:
    """An accepted message that asks for Feedback."""
    name = uuid4().hex
    return Claim(name, NOW_MS, BOX, row_key(BOX, 1, NOW_MS, name), "192.0.2.1", envelope(), NlwebDetails())


FEEDBACK = DiscardNotification(
    row_key(BOX, 1, NOW_MS, "1" * 32), SIGNATURE_INVALID, BOX, "sender.example", "c0ffee", "", NLWEB, NOW_MS
)
REPLACED = WatchReplaced(BOX, "{}", NOW_MS)
OUTGOING = Outgoing(Draft(BOX, "shop.example", "Order@Shop", str(uuid4()), NOW_MS, {"Pizza": 1}), "mark")


def test_dead_letters_of_each_queue_are_listed_with_kind_and_age(
    operate: Operate, queues: Queues, claim: Claim
) -> None:
    body = QueuedClaim(claim).body()
    for queue in ("RetryQueue", "SuspectsQueue", "WaitingQueue", "ClaimsQueue"):
        queues.put(queue, body)
        queues.fail(queue, 200 if queue == "WaitingQueue" else 20)
    queues.put("CourierDeadLetterQueue", FEEDBACK.encode())
    queues.put("CourierDeadLetterQueue", OUTGOING.encode())
    queues.put("CourierDeadLetterQueue", MailWaiting(BOX).encode())
    queues.put("CourierDeadLetterQueue", REPLACED.encode())
    queues.put("DeadLetterQueue", "not ours")
    assert sorted((it["queue"] or "", it["kind"]) for it in listed(operate)) == [
        ("", "unreadable"), ("ClaimsQueue", "claim"), ("CourierQueue", "outgoing"), ("CourierQueue", "replaced"),
        ("CourierQueue", "waiting"),
        ("FeedbackQueue", "discard"), ("RetryQueue", "claim"), ("SuspectsQueue", "claim"), ("WaitingQueue", "claim"),
    ]  # fmt: skip
    assert [it["kind"] for it in listed(operate, "--queue", "feedback")] == ["discard"]
    shown = operate("list").stdout
    assert "RetryQueue: 1, the oldest since 20" in shown
    assert "Order@Shop from receiver.example to shop.example" in shown
    assert f"a session that waits for mail in {BOX} no more" in shown


def test_reading_takes_no_dead_letter_away(operate: Operate, queues: Queues, claim: Claim) -> None:
    queues.put("DeadLetterQueue", QueuedClaim(claim).body())
    [found] = ids(operate)
    assert ids(operate) == [found]
    for _ in range(2):
        shown = operate("show", found).stdout
        assert claim.id in shown
        assert "mailbox       receiver.example" in shown
    assert json.loads(operate("show", found, "--json").stdout)["envelope"] == claim.envelope


def test_the_envelope_of_a_large_claim_is_shown_from_its_object(
    operate: Operate, queues: Queues, claim: Claim, storage_stack: StorageStack
) -> None:
    large = replace(claim, envelope=claim.envelope + " " * 1_000_000)
    objects = storage_stack.storage.objects
    queues.put("DeadLetterQueue", pack(large, objects.put))
    [found] = ids(operate)
    assert json.loads(operate("show", found, "--json").stdout)["envelope"] == large.envelope


def test_none_are_there(operate: Operate, queues: Queues) -> None:
    assert operate("list").stdout == "there are no dead letters\n"
    assert listed(operate) == []
    assert operate("redrive", "--all").stdout == "nothing was redriven\n"
    for command in ("show", "redrive", "discard"):
        result = operate(command, "unknown")
        assert result.exit_code == Exit.NOT_FOUND
        assert "there is no dead letter unknown" in result.stderr


@pytest.mark.parametrize("command", ["redrive", "discard"])
@pytest.mark.parametrize("arguments", [(), ("x", "--all")])
def test_either_some_or_all_are_named(operate: Operate, queues: Queues, command: str, arguments: tuple[str]) -> None:
    assert operate(command, *arguments).exit_code == Exit.USAGE


def test_dead_letters_are_redriven_to_the_queues_that_they_came_from(
    operate: Operate, queues: Queues, claim: Claim
) -> None:
    body = QueuedClaim(claim).body()
    queues.put("SuspectsQueue", body)
    queues.fail("SuspectsQueue", 20)
    queues.put("CourierDeadLetterQueue", FEEDBACK.encode(), FEEDBACK.group)
    queues.put("CourierDeadLetterQueue", OUTGOING.encode(), OUTGOING.group)
    queues.put("DeadLetterQueue", "not ours")
    result = operate("redrive", "--all")
    assert result.exit_code == 0
    assert "back in SuspectsQueue (a message to receiver.example)" in result.stdout
    assert "cannot be read, and SQS does not say where it came from: it stays" in result.stderr
    assert queues.bodies("SuspectsQueue") == [body]
    assert queues.bodies("FeedbackQueue") == [FEEDBACK.encode()]
    assert queues.bodies("CourierQueue") == [OUTGOING.encode()]
    assert [it["kind"] for it in listed(operate)] == ["unreadable"]


def test_one_dead_letter_is_redriven(operate: Operate, queues: Queues, claim: Claim) -> None:
    one = queues.put("DeadLetterQueue", QueuedClaim(claim).body())
    other = queues.put("CourierDeadLetterQueue", FEEDBACK.encode())
    assert operate("redrive", one).exit_code == 0
    assert queues.bodies("ClaimsQueue") == [QueuedClaim(claim).body()]
    assert ids(operate) == [other]


def test_a_redrive_that_is_interrupted_loses_nothing(
    operate: Operate, queues: Queues, claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    queues.put("DeadLetterQueue", QueuedClaim(claim).body())

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("postroom.storage.aws.dead_letter_queue.DeadLetterQueue.delete", interrupt)
        assert operate("redrive", "--all").exit_code != 0
    assert queues.bodies("ClaimsQueue") == [QueuedClaim(claim).body()]
    assert len(ids(operate)) == 1


def test_a_discarded_claim_gets_a_verdict_and_its_sender_is_told(
    operate: Operate, queues: Queues, claim: Claim, storage_stack: StorageStack
) -> None:
    found = queues.put("DeadLetterQueue", QueuedClaim(claim).body())
    result = operate("discard", found)
    assert result.exit_code == 0
    assert "its message is discarded as Undeliverable; its sender gets Feedback if it asked for it" in result.stdout
    row = storage_stack.storage.register.find(claim.row)
    assert row is not None
    assert row.discarded is UNDELIVERABLE
    [told] = [read_queue_message(body) for body in queues.bodies("FeedbackQueue")]
    assert isinstance(told, DiscardNotification)
    assert (told.reason, told.row) == (UNDELIVERABLE, claim.row)
    assert ids(operate) == []


def test_a_discard_does_not_touch_a_message_that_was_stored_before(
    operate: Operate, queues: Queues, claim: Claim, storage_stack: StorageStack
) -> None:
    storage = storage_stack.storage
    name = f"seg/{uuid4().hex}"
    data, [place] = lay_out([Line(claim.row, "sender.example", claim.envelope, {"protocol": "nlweb"})], name)
    storage.objects.put(name, data)
    storage.register.file(claim.row, place, "sender.example")
    found = queues.put("DeadLetterQueue", QueuedClaim(claim).body())
    assert "nothing is lost: its message was decided before" in operate("discard", found).stdout
    row = storage.register.find(claim.row)
    assert row is not None
    assert row.live
    assert queues.bodies("FeedbackQueue") == []


def test_what_is_lost_with_each_other_kind_is_said(operate: Operate, queues: Queues) -> None:
    queues.put("CourierDeadLetterQueue", FEEDBACK.encode())
    queues.put("CourierDeadLetterQueue", OUTGOING.encode())
    queues.put("CourierDeadLetterQueue", MailWaiting(BOX).encode())
    queues.put("DeadLetterQueue", "not ours")
    result = operate("discard", "--all", "--yes")
    assert result.exit_code == 0
    assert "sender.example is not told that its message c0ffee was discarded (SignatureInvalid)" in result.stdout
    assert "nothing is lost: its state in the outbox does not depend on it" in result.stdout
    assert "nobody is notified; the mail itself is not affected" in result.stdout
    assert "its 8 bytes, which this release cannot read, are deleted" in result.stdout
    assert ids(operate) == []


def test_all_are_discarded_only_if_that_is_confirmed(operate: Operate, queues: Queues) -> None:
    queues.put("CourierDeadLetterQueue", FEEDBACK.encode())
    result = operate("discard", "--all")
    assert result.exit_code == Exit.USAGE
    assert "confirm it with --yes" in result.stderr
    assert len(ids(operate)) == 1
