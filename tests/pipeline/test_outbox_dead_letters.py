"""What owners sent and the courier could not work off comes to its end before SQS drops it."""

from botocore.stub import Stubber
from tests.aws import new_clients
from tests.outbound.test_outbox import message_of, queue
from tests.pipeline.house import GIVE_UP, House

from postroom.api.states import State
from postroom.core.reasons import UNDELIVERABLE
from postroom.outbound.courier import Delivery
from postroom.outbound.outgoing import Outgoing
from postroom.pipeline.dead_letters import DeadLetter
from postroom.pipeline.outbox_dead_letters import OutboxDeadLetterHandler
from postroom.storage.outbox import DeliveryEnd, Outbox


def keeper(house: House, outbox: Outbox | None = None) -> OutboxDeadLetterHandler:
    return OutboxDeadLetterHandler(outbox=outbox or house.outbox, clock=house.clock, give_up_seconds=GIVE_UP)


def letter(outgoing: Outgoing) -> DeadLetter:
    return DeadLetter(f"handle of {outgoing.draft.correlation}", outgoing.encode())


def test_what_the_courier_would_still_try_stays(house: House) -> None:
    sent = queue(house)
    house.clock.now += GIVE_UP
    assert keeper(house).keep([letter(sent)]).decided == ()
    assert message_of(house, sent).state is State.QUEUED


def test_what_it_would_not_is_given_up_with_a_reason(house: House) -> None:
    sent = queue(house)
    house.clock.now += GIVE_UP + 1
    kept = keeper(house).keep([letter(sent)])
    assert (kept.decided, kept.given_up) == ((letter(sent).receipt_handle,), (sent,))
    end = message_of(house, sent).end
    assert end == DeliveryEnd(State.GIVEN_UP, int(house.clock.now * 1000), str(UNDELIVERABLE), UNDELIVERABLE.sentence)
    assert house.dispatch().send(sent) is Delivery.SILENT, "redriven, it is not sent any more"
    assert house.outbound.posts == []


def test_what_was_delivered_after_all_stays_delivered(house: House) -> None:
    sent = queue(house)
    house.dispatch().send(sent)
    house.clock.now += GIVE_UP + 1
    kept = keeper(house).keep([letter(sent)])
    assert (len(kept.decided), kept.given_up) == (1, ())
    assert message_of(house, sent).state is State.DELIVERED


def test_a_copy_by_another_carrier_gives_nothing_up(house: House) -> None:
    sent = queue(house)
    house.clock.now += GIVE_UP + 1
    kept = keeper(house).keep([letter(Outgoing(sent.draft, "another"))])
    assert (len(kept.decided), kept.given_up) == (1, ())
    assert message_of(house, sent).state is State.QUEUED


def test_what_is_no_message_of_an_owners_stays_and_its_neighbours_are_decided(house: House) -> None:
    sent = queue(house)
    house.clock.now += GIVE_UP + 1
    bodies = ["", "{", "[]", "{}", '{"form":9}', sent.encode().replace('"form": 1', '"form": 9')]
    kept = keeper(house).keep([*(DeadLetter(body, body) for body in bodies), letter(sent)])
    assert kept.decided == (letter(sent).receipt_handle,)


def test_what_cannot_be_decided_now_stays_for_the_next_round(house: House) -> None:
    sent = queue(house)
    house.clock.now += GIVE_UP + 1
    clients = new_clients()
    with Stubber(clients.dynamodb) as stub:
        stub.add_client_error("get_item", "ThrottlingException")
        away = house.deployed.parts(clients).storage.outbox
        assert keeper(house, away).keep([letter(sent)]).decided == ()
    assert keeper(house).keep([letter(sent)]).decided == (letter(sent).receipt_handle,)
