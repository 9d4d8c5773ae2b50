"""What owners sent and the courier could not work off comes to its end before SQS drops it."""

from botocore.stub import Stubber
from tests.aws import new_clients
from tests.outbound.test_outbox_sender import message_of, queue
from tests.pipeline.stack import GIVE_UP, PipelineStack

from postroom.api.states import State
from postroom.core.reasons import UNDELIVERABLE
from postroom.outbound.delivery import Delivery
from postroom.outbound.outbox_messages import Outgoing
from postroom.pipeline.dead_letters import DeadLetter
from postroom.pipeline.outbox_dead_letters import OutboxDeadLetterHandler
from postroom.storage.mail.outbox import DeliveryEnd, Outbox


def dead_letter_handler(stack: PipelineStack, outbox: Outbox | None = None) -> OutboxDeadLetterHandler:
    return OutboxDeadLetterHandler(outbox=outbox or stack.outbox, clock=stack.clock, give_up_seconds=GIVE_UP)


def dead_letter(outgoing: Outgoing) -> DeadLetter:
    return DeadLetter(f"handle of {outgoing.draft.correlation}", outgoing.encode())


def test_a_message_that_the_courier_would_still_retry_stays(stack: PipelineStack) -> None:
    sent = queue(stack)
    stack.clock.now += GIVE_UP
    assert dead_letter_handler(stack).keep([dead_letter(sent)]).decided == ()
    assert message_of(stack, sent).state is State.QUEUED


def test_a_message_past_its_retries_is_given_up_with_a_reason(stack: PipelineStack) -> None:
    sent = queue(stack)
    stack.clock.now += GIVE_UP + 1
    kept = dead_letter_handler(stack).keep([dead_letter(sent)])
    assert (kept.decided, kept.given_up) == ((dead_letter(sent).receipt_handle,), (sent,))
    end = message_of(stack, sent).end
    assert end == DeliveryEnd(State.GIVEN_UP, int(stack.clock.now * 1000), str(UNDELIVERABLE), UNDELIVERABLE.sentence)
    assert stack.dispatch().send(sent) is Delivery.SILENT, "redriven, it is not sent any more"
    assert stack.outbound.posts == []


def test_a_delivered_message_stays_delivered(stack: PipelineStack) -> None:
    sent = queue(stack)
    stack.dispatch().send(sent)
    stack.clock.now += GIVE_UP + 1
    kept = dead_letter_handler(stack).keep([dead_letter(sent)])
    assert (len(kept.decided), kept.given_up) == (1, ())
    assert message_of(stack, sent).state is State.DELIVERED


def test_a_copy_in_another_queue_message_gives_nothing_up(stack: PipelineStack) -> None:
    sent = queue(stack)
    stack.clock.now += GIVE_UP + 1
    kept = dead_letter_handler(stack).keep([dead_letter(Outgoing(sent.draft, "another"))])
    assert (len(kept.decided), kept.given_up) == (1, ())
    assert message_of(stack, sent).state is State.QUEUED


def test_a_foreign_dead_letter_stays_and_its_neighbours_are_decided(stack: PipelineStack) -> None:
    sent = queue(stack)
    stack.clock.now += GIVE_UP + 1
    bodies = ["", "{", "[]", "{}", '{"form":9}', sent.encode().replace('"form": 1', '"form": 9')]
    kept = dead_letter_handler(stack).keep([*(DeadLetter(body, body) for body in bodies), dead_letter(sent)])
    assert kept.decided == (dead_letter(sent).receipt_handle,)


def test_an_undecidable_dead_letter_stays_for_the_next_round(stack: PipelineStack) -> None:
    sent = queue(stack)
    stack.clock.now += GIVE_UP + 1
    clients = new_clients()
    with Stubber(clients.dynamodb) as stub:
        stub.add_client_error("get_item", "ThrottlingException")
        away = stack.deployed.parts(clients).storage.outbox
        assert dead_letter_handler(stack, away).keep([dead_letter(sent)]).decided == ()
    assert dead_letter_handler(stack).keep([dead_letter(sent)]).decided == (dead_letter(sent).receipt_handle,)
